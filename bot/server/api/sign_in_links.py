"""Signing in by a link out of the chat: a code that is good once, then a cookie that names its owner."""

from __future__ import annotations

from bot.access import Role
from bot.access.sign_in_links import SESSION_LASTS, hash_of, new_secret
from bot.server.api.auth import AuthMethod, Principal
from bot.server.api.dependencies import ApiServices
from bot.store.web_sessions import SecretHash, end_session, load_session, redeem_sign_in_code

COOKIE = "roebot_person"


class Links:
    """Who came by a link. What they may do is asked anew each time, so a role that is taken back is gone."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    async def redeem(self, code: str) -> tuple[str, Principal] | None:
        """The key of a fresh session for a code, and whose it is; None for a code that is not good."""
        services, key = self._services, new_secret()
        now, hashed = services.clock.now(), hash_of(key)
        session = SecretHash(hashed, now + SESSION_LASTS)
        sender = await services.db.run(
            redeem_sign_in_code, hash_of(code), session, f"sign in:{services.new_id()}", now
        )
        if sender is None:
            return None
        caller = Principal(services.role(sender), AuthMethod.LINK, sender, hashed)
        if caller.role < Role.MEMBER:
            await services.db.run(end_session, hashed)
        return key, caller

    async def caller(self, key: str) -> Principal | None:
        """Who has this key, None where the session is over or the person may not use the bot any more."""
        return await self._caller(hash_of(key))

    async def still(self, caller: Principal) -> Principal | None:
        """The same caller with the role that they have now, None where they have none."""
        return await self._caller(caller.session) if caller.session else caller

    async def end(self, key: str) -> None:
        """Sign out."""
        await self._services.db.run(end_session, hash_of(key))

    async def _caller(self, hashed: str) -> Principal | None:
        services = self._services
        sender = await services.db.run(load_session, hashed, services.clock.now())
        if sender is None:
            return None
        role = services.role(sender)
        return Principal(role, AuthMethod.LINK, sender, hashed) if role >= Role.MEMBER else None
