"""A store whose transactions run on the event loop's own thread."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bot.store.connection import Connection
from bot.store.database import SqliteDatabase
from tests.harness.store_templates import copy_store

T = TypeVar("T")


class InlineDatabase(SqliteDatabase):
    """SQLite without a thread of its own: a transaction runs in a later iteration of the event loop.

    For tests with a manual clock, in which handing over to a thread and back would take most of the time.
    """

    async def open(self) -> None:
        """Create the newest schema, unless there is a file."""
        await asyncio.to_thread(copy_store, self.path.parent)

    async def close(self) -> None:
        """Run the queued transactions and close the database."""
        self._closed = True
        while not self._jobs.empty():
            self._run_next()
        self._disconnect()

    async def _queue(self, work: Callable[[Connection], T]) -> T:
        asyncio.get_running_loop().call_soon(self._run_next)
        return await super()._queue(work)

    def _run_next(self) -> None:
        loop = asyncio.get_running_loop()
        # Like on a thread: the guard against blocking calls looks for a running loop.
        asyncio._set_running_loop(None)
        try:
            with suppress(queue.Empty):  # the database was closed
                _, _, job = self._jobs.get_nowait()
                assert job is not None
                self._run_job(job)
        finally:
            asyncio._set_running_loop(loop)


async def open_inline_store(home: Path) -> InlineDatabase:
    """Open `bot.db` of a data directory, which is created if it is not there."""
    database = InlineDatabase(home / "bot.db")
    await database.open()
    return database
