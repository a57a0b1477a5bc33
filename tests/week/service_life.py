"""One life of the bot in the simulated week: the whole service in this loop, until it ends or dies."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from bot.app.service import BotService, StartOptions
from bot.clock import Clock
from bot.config import RuntimeConfig
from bot.faults import Step, act_at
from bot.store import Database
from bot.store.connection import Connection, SqliteConnection
from bot.store.database import SqliteDatabase, _connect, _failed, _transaction
from roebot_testing.clock import ManualClock
from tests.week.agent import Agent, Line
from tests.week.platforms import Platform
from tests.week.recorder import Recorder

P = ParamSpec("P")
T = TypeVar("T")
STOPS_WITHIN, PATIENCE = 6.0, 30.0
"""Seconds that a shutdown may take, and seconds of this machine for what is left after a death."""


class AtOnce(ThreadPoolExecutor):
    """Does what loops give to threads in their own, so that a week is the same each time."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See Executor."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - carried to who waits for it
            done.set_exception(error)
        return done


class WeekDatabase(SqliteDatabase):
    """SQLite in the loop's own thread. Nothing is written once `over` is set.

    `dies_in` transactions the bot dies (0: never), before that one or, where `commits`, after it.
    """

    def __init__(self, path: Path, over: asyncio.Event) -> None:
        super().__init__(path)
        self.dies_in = 0
        self.commits = False
        self._over = over
        self._connection = SqliteConnection(_connect(path))

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """See Database."""
        self.asked += 1
        last = self.dies_in == 1
        self.dies_in -= bool(self.dies_in)
        if last and not self.commits:
            self._over.set()
        if self._over.is_set():
            raise asyncio.CancelledError
        try:
            result = _transaction(self._connection, lambda connection: work(connection, *args, **kwargs))
        except sqlite3.Error as error:
            raise _failed(error) from error
        if last:
            self._over.set()
        await asyncio.sleep(0)
        if self._over.is_set():
            raise asyncio.CancelledError
        return result

    async def close(self) -> None:
        """See Database."""
        self._connection.raw.close()


class _Staged(BotService):
    """The service with the scripted agent in place of the one that it would start."""

    def __init__(self, settings: StartOptions, db: Database, clock: Clock, line: Line) -> None:
        self._line = line
        super().__init__(settings, db, clock)

    def _make_runtime(self, config: RuntimeConfig) -> Any:
        return self._line


class Life:
    """The service at work from its making on."""

    def __init__(
        self, settings: StartOptions, clock: ManualClock, agent: Agent, platforms: Mapping[str, Platform]
    ) -> None:
        self.over = asyncio.Event()
        self.clock = clock
        self.database = WeekDatabase(settings.home / "bot.db", self.over)
        self.service = _Staged(settings, self.database, clock, Line(agent, self.over))
        # The file never changes; looking at it each second of a week takes time.
        self.service.watcher.stop()
        self.recorders: dict[str, Recorder] = {}
        for name, platform in platforms.items():
            channel = self.service.accounts.get(name)
            assert channel is not None, self.service.accounts.states()
            channel.adapter = self.recorders[name] = Recorder(platform, self.over)
        self._faults = ExitStack()
        self._task = asyncio.create_task(self.service.run(), name="service")

    @property
    def dead(self) -> bool:
        """Whether it has died. Raises what ended the service if nobody killed it."""
        if self._task.done() and not self.over.is_set():
            self._task.result()
            raise AssertionError("the service ended by itself")
        return self.over.is_set()

    def dies_at(self, step: Step) -> None:
        """It dies when a turn is at this step for the next time."""
        self._faults.enter_context(act_at(step, self.over.set))

    def spared(self) -> None:
        """It does not die of what was prepared."""
        self._faults.close()
        self.database.dies_in = 0

    async def buried(self) -> None:
        """What is left of it goes; nothing of that reaches anybody."""
        self.over.set()
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=PATIENCE)
        assert self._task.done(), "what is left of the bot does not end"
        if not self._task.cancelled():
            self._task.exception()
        self._faults.close()
        await self.database.close()

    async def stops(self) -> None:
        """A shutdown: what is on its way comes to an end."""
        self._task.cancel()
        waited = 0.0
        while not self._task.done() and waited < STOPS_WITHIN:
            await self.clock.advance(0.05)
            waited += 0.05
        await self.buried()
