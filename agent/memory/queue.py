"""The queue of updates, on disk: one entry for each thread of a scope, due some quiet seconds after the last.

A message is taken into a memory once: the ids of those that were are kept by thread, so that neither a later
turn of the thread nor a restart brings them again. Blocking; threads and processes may share it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from agent.core.home import make_private_folder
from agent.core.interfaces import MemoryScope
from agent.memory import statements as sql
from agent.memory.conversation import MOST
from agent.memory.queued_exchange import Pending, Said
from agent.memory.scopes import parse_scope, scope_text

LONGEST_WAIT = 10
"""Times the quiet seconds that an entry waits at most, however much is said meanwhile."""
IDS_KEPT = 200
THREADS_KEPT = 50_000
BUSY_SECONDS = 10.0


class UpdateQueue:
    """The entries below a folder; `clock` gives seconds since the epoch."""

    def __init__(self, path: Path, *, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever queued here."""
        return self._path.exists()

    def put(self, scope: MemoryScope, thread_id: str, said: Sequence[Said], *, quiet: float) -> bool:
        """Queue what is new in a thread, due after `quiet` seconds; whether a person said anything new.

        What waited already and is in the thread no more (a summary took its place) goes on waiting.
        """
        key = (scope_text(scope), thread_id)
        now = self._clock()
        with self._transaction() as tx:
            seen = _ids(tx, key)
            new = after(said, seen)
            waiting = tx.execute(sql.WAITING, key).fetchone()
            earlier = _read(waiting[1]) if waiting else []
            known = {one.id for one in said}
            whole = [*(one for one in earlier if one.id not in known), *new][-MOST:]
            if not any(one.who == "person" for one in whole) or (waiting and whole == earlier):
                return False
            since = waiting[2] if waiting else now
            due = min(now + quiet, since + quiet * LONGEST_WAIT)
            tx.execute(sql.PUT, (*key, uuid4().hex, _written(whole), since, due))
        return True

    def due(self) -> Pending | None:
        """The entry that has waited longest past its time."""
        with self._transaction() as tx:
            row = tx.execute(sql.DUE, (self._clock(),)).fetchone()
            if row is None:
                return None
            scope, thread, identity, said, attempts, forgotten = row
            new = after(_read(said), _ids(tx, (scope, thread)))
        return Pending(identity, parse_scope(scope), thread, tuple(new), attempts, forgotten)

    def next_due(self) -> float | None:
        """When the next entry is due; None where none waits."""
        with self._transaction() as tx:
            found: float | None = tx.execute(sql.NEXT_DUE).fetchone()[0]
        return found

    def done(self, pending: Pending) -> None:
        """It is in the memory, or never will be: its messages count as seen. What grew meanwhile stays."""
        key = (scope_text(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            self._mark(tx, key, pending.said)
            tx.execute(sql.TAKE_OUT, (*key, pending.id))

    def later(self, pending: Pending, seconds: float) -> None:
        """It failed; it is due again after so many seconds. One that grew meanwhile keeps its own time."""
        key = (scope_text(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            tx.execute(sql.LATER, (self._clock() + seconds, *key, pending.id))

    def forget(self, scope: MemoryScope) -> None:
        """Drop what waits; what was said so far is not brought again, and an update under way is void."""
        text = scope_text(scope)
        with self._transaction() as tx:
            for thread, said in tx.execute(sql.OF_SCOPE, (text,)).fetchall():
                self._mark(tx, (text, thread), _read(said))
            tx.execute(sql.DROP_SCOPE, (text,))
            tx.execute(sql.FORGET, (text,))

    def forgotten(self, scope: MemoryScope) -> int:
        """How often the scope was forgotten."""
        with self._transaction() as tx:
            row = tx.execute(sql.TIMES_FORGOTTEN, (scope_text(scope),)).fetchone()
        return row[0] if row else 0

    def waiting(self, scope: MemoryScope) -> int:
        """How many of the scope's threads wait."""
        with self._transaction() as tx:
            count: int = tx.execute(sql.COUNT, (scope_text(scope),)).fetchone()[0]
        return count

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _mark(self, tx: sqlite3.Connection, key: tuple[str, str], said: Sequence[Said]) -> None:
        ids = list(dict.fromkeys([*_ids(tx, key), *(one.id for one in said)]))[-IDS_KEPT:]
        tx.execute(sql.MARK_SEEN, (*key, json.dumps(ids), self._clock()))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        make_private_folder(self._path.parent)
        self._path.touch(mode=0o600)
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(sql.SCHEMA)
        connection.execute(sql.PRUNE_SEEN, (THREADS_KEPT,))
        self._connection = connection
        return connection


def after(said: Sequence[Said], seen: Sequence[str]) -> list[Said]:
    """The messages after the last one that was seen."""
    known = set(seen)
    last = max((place for place, one in enumerate(said) if one.id in known), default=-1)
    return list(said[last + 1 :])


def _ids(tx: sqlite3.Connection, key: tuple[str, str]) -> list[str]:
    row = tx.execute(sql.SEEN, key).fetchone()
    return list(json.loads(row[0])) if row else []


def _read(text: str) -> list[Said]:
    return [Said(*one) for one in json.loads(text)]


def _written(said: Sequence[Said]) -> str:
    return json.dumps([(one.id, one.who, one.text) for one in said], ensure_ascii=False)
