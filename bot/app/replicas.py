"""Replicas: several services that share a PostgreSQL database and a data directory.

`bot.store.ownership` says which of them owns an account. This module lets a replica join the others, gives it
the database's time, and tells it what the others have stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from agent.shared.replica_folder import replica_folder
from bot.app.home import is_locked
from bot.bus.message_bus import MessageBus
from bot.clock import SystemClock
from bot.dispatch.dispatcher import Dispatcher
from bot.errors import StartError, StoreUnavailable
from bot.store import Database
from bot.store.audit import find_last_event
from bot.store.connection import Accounts, Connection
from bot.store.replica_leases import Replica, list_leases, read_time
from bot.store.stopped_answers import list_stopped_conversations
from bot.store.turns import list_open_turns
from bot.turn import OpenedTurn
from bot.wiring import Core, FindsWork

log = structlog.get_logger(__name__)

FOLLOW_EVERY = 10.0
"""Seconds between two readings of the database's clock."""
LOOK_EVERY = 0.25
"""Seconds between two looks at what other replicas have stored."""
WAKE_EVERY = 4
"""Looks until the jobs look for work."""
ALL_EVERY = 8
"""Looks until all open turns are listed: a turn may be committed after one with a higher id."""


class DatabaseClock(SystemClock):
    """The database's clock, as of the last `follow`, so that the replicas agree on the time.

    Like the machine's, it never decreases.
    """

    def __init__(self, db: Database) -> None:
        super().__init__()
        self._db = db
        self._ahead = 0.0
        self._last = 0.0

    def now(self) -> float:
        self._last = max(self._last, super().now() + self._ahead)
        return self._last

    async def follow(self) -> None:
        """Adopt the database's time. Raises StoreUnavailable."""
        began = super().now()
        read = await self._db.transact(read_time)
        self._ahead = read - (began + super().now()) / 2

    async def keep(self) -> None:
        """Follow the database's time until cancelled."""
        while True:
            with suppress(StoreUnavailable):
                await self.follow()
            await self.sleep(FOLLOW_EVERY)


async def start_clock(db: Database) -> DatabaseClock:
    """Return the database's clock. Raises StoreUnavailable."""
    clock = DatabaseClock(db)
    await clock.follow()
    return clock


def check_folder(connection: Connection, replica: Replica, home: Path) -> None:
    """Raise StartError unless the data directory is that of the other replicas, and locks in it work."""
    others = [one for one in list_leases(connection).replicas.values() if one.name != replica.name]
    for other in others:
        if other.place != replica.place:
            raise StartError(
                f"replica {other.name} uses another data directory. Replicas share one, on a file system "
                "that all of them mount: start this one with the same folder as --home."
            )
        if not is_locked(replica_folder(home, other.name)):
            raise StartError(
                f"replica {other.name} is running, but its lock in {home} has no effect here. Use a file "
                "system whose locks work across machines, such as NFS 4, and mount it without `nolock`."
            )


@dataclass(frozen=True, slots=True)
class News:
    """What other replicas have stored: open turns of owned accounts, new turns of all, conversations of owned
    accounts whose turn was stopped, and the last audit event.
    """

    owned: Sequence[OpenedTurn]
    new: Sequence[OpenedTurn]
    stopped: Sequence[int]
    last_event: int


def read_news(connection: Connection, owned: Accounts, after: int, last: int) -> News:
    """Return the news for the owner of some accounts: their turns after an id, and all turns after `last`."""
    return News(
        list_open_turns(connection, owned, after),
        list_open_turns(connection, None, last),
        list_stopped_conversations(connection, owned),
        find_last_event(connection),
    )


class ReplicaNews:
    """Follows what other replicas store. `run` works until cancelled."""

    def __init__(self, core: Core, bus: MessageBus, dispatcher: Dispatcher) -> None:
        self._core = core
        self._bus = bus
        self._dispatcher = dispatcher
        self._looks = 0
        self._last_turn = 0
        self._last_event = 0

    async def run(self) -> None:
        """Follow the other replicas until cancelled."""
        while True:
            if self._core.ownership.has_company:
                await self._look()
            await self._core.clock.sleep(LOOK_EVERY)

    async def _look(self) -> None:
        self._looks += 1
        owned = frozenset(self._core.ownership.list_accounts())
        after = 0 if self._looks % ALL_EVERY == 1 else self._last_turn
        news = await self._core.db.transact(read_news, owned, after, self._last_turn)
        self._last_turn = max([self._last_turn, *(turn.turn for turn in news.new)])
        self._bus.follow_others(turn.conversation for turn in news.new)
        await self._dispatcher.look_again(news.owned, news.stopped)
        if news.last_event != self._last_event:
            # Every change of a role or setting is audited.
            self._last_event = news.last_event
            await self._core.load_settings()
        for part in self._core.parts if self._looks % WAKE_EVERY == 0 else ():
            if isinstance(part, FindsWork):
                part.wake()
