"""`/page`: a sign-in link for the web console."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.access.one_time_codes import CODE_LASTS, create_secret, hash_secret
from bot.access.policy import LOCAL_PLATFORMS
from bot.commands.registry import Invocation, Result
from bot.domain import ChatKind
from bot.store.web_sessions import SecretHash, create_sign_in_code

HERE = frozenset({"localhost", "127.0.0.1", "::1"})


async def page(call: Invocation) -> Result:
    """Send a single-use sign-in link in private; a new link invalidates the previous one."""
    texts, core, turn = call.texts, call.core, call.turn
    address = core.console_url
    if turn.platform in LOCAL_PLATFORMS:
        return Result(texts("page_here", address=address) if address else texts("page_unset"))
    if turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(texts("page_private"))
    if not address:
        return Result(texts("page_unset"))
    code, now = create_secret(), core.clock.now()
    await core.db.run(create_sign_in_code, SecretHash(hash_secret(code), now + CODE_LASTS), turn, now)
    kept = texts("page_not_kept")
    lines = [texts("page_link", link=kept, minutes=CODE_LASTS // 60)]
    if urlsplit(address).hostname in HERE:
        lines.append(texts("page_local"))
    return Result("\n\n".join(lines), sealed=(kept, f"{address}/#code={code}"))
