"""Sign in by a link from the chat: a single-use code, exchanged for a personal session cookie."""

from __future__ import annotations

from bot.access import Role
from bot.access.sign_in_links import SESSION_LASTS, create_secret, hash_secret
from bot.server.api.auth import AuthMethod, Principal
from bot.server.api.dependencies import ApiServices
from bot.store.web_sessions import SecretHash, end_session, load_session, redeem_sign_in_code

COOKIE = "roebot_person"


class LinkSessions:
    """Personal sessions of sign-in links. The role is looked up for each request, so a revoked role takes
    effect at once.
    """

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    async def redeem(self, code: str) -> tuple[str, Principal] | None:
        """Exchange a code for a new session: its key and the caller; None if the code is expired or used."""
        services, key = self._services, create_secret()
        now, hashed = services.clock.now(), hash_secret(key)
        session = SecretHash(hashed, now + SESSION_LASTS)
        sender = await services.db.run(
            redeem_sign_in_code, hash_secret(code), session, f"sign in:{services.core.new_id()}", now
        )
        if sender is None:
            return None
        caller = Principal(services.core.role_on_home_account(sender), AuthMethod.LINK, sender, hashed)
        if caller.role < Role.MEMBER:
            await services.db.run(end_session, hashed)
        return key, caller

    async def load_caller(self, key: str) -> Principal | None:
        """Return the caller of a session key; None if the session has ended or the person lost access."""
        return await self._load_caller(hash_secret(key))

    async def refresh_caller(self, caller: Principal) -> Principal | None:
        """Return the caller with their current role, None if they lost access."""
        return await self._load_caller(caller.session) if caller.session else caller

    async def end_session(self, key: str) -> None:
        """End a session."""
        await self._services.db.run(end_session, hash_secret(key))

    async def _load_caller(self, hashed: str) -> Principal | None:
        services = self._services
        sender = await services.db.run(load_session, hashed, services.clock.now())
        if sender is None:
            return None
        role = services.core.role_on_home_account(sender)
        return Principal(role, AuthMethod.LINK, sender, hashed) if role >= Role.MEMBER else None
