"""People at the page as methods: one method, one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import Sender, Turn
from bot.store import web_sessions
from bot.store.database import Database
from bot.store.web_sessions import Pass


class PageStore:
    """Codes and sessions of a database; each method is the function of that name in
    `bot.store.web_sessions`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def offer(self, code: Pass, command: Turn, now: float) -> None:
        """Let the author of a command sign in by a code; a former one of theirs is good no more."""
        await self._database.run(web_sessions.offer, code, command, now)

    async def sign_in(self, code: str, session: Pass, key: str, now: float) -> Sender | None:
        """Take a code for a session; who that is, None for a code that is not good (any more)."""
        return await self._database.run(web_sessions.sign_in, code, session, key, now)

    async def signed_in(self, session: str, now: float) -> Sender | None:
        """Who a session is of, None where it is over or never was."""
        return await self._database.run(web_sessions.signed_in, session, now)

    async def sign_out(self, session: str) -> None:
        """End a session."""
        await self._database.run(web_sessions.sign_out, session)

    async def owned(self, thread: str, owners: Sequence[str]) -> list[tuple[str, str]]:
        """Account and platform of the conversations of these people that are on a thread, or were."""
        return await self._database.run(web_sessions.owned, thread, owners)
