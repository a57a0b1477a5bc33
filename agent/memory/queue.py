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
from agent.memory.conversation import MAX_MESSAGES
from agent.memory.queued_exchange import PendingUpdate, QueuedMessage
from agent.memory.scopes import format_scope, parse_scope

MAX_WAIT_FACTOR = 10
"""Times the quiet seconds that an entry waits at most, however much is said meanwhile."""
MAX_SEEN_IDS = 200
MAX_SEEN_THREADS = 50_000
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

    def add_messages(
        self, scope: MemoryScope, thread_id: str, messages: Sequence[QueuedMessage], *, quiet: float
    ) -> bool:
        """Queue what is new in a thread, due after `quiet` seconds; whether a person said anything new.

        What waited already and is in the thread no more (a summary took its place) goes on waiting.
        """
        key = (format_scope(scope), thread_id)
        now = self._clock()
        with self._transaction() as tx:
            seen = _load_seen_ids(tx, key)
            new = unseen_messages(messages, seen)
            waiting = tx.execute(sql.WAITING, key).fetchone()
            earlier = _decode_messages(waiting[1]) if waiting else []
            known = {one.id for one in messages}
            whole = [*(one for one in earlier if one.id not in known), *new][-MAX_MESSAGES:]
            if not any(one.role == "person" for one in whole) or (waiting and whole == earlier):
                return False
            since = waiting[2] if waiting else now
            due = min(now + quiet, since + quiet * MAX_WAIT_FACTOR)
            tx.execute(sql.PUT, (*key, uuid4().hex, _encode_messages(whole), since, due))
        return True

    def next_update(self) -> PendingUpdate | None:
        """The entry that has waited longest past its time."""
        with self._transaction() as tx:
            row = tx.execute(sql.DUE, (self._clock(),)).fetchone()
            if row is None:
                return None
            scope, thread, identity, said, attempts, forgotten = row
            new = unseen_messages(_decode_messages(said), _load_seen_ids(tx, (scope, thread)))
        return PendingUpdate(identity, parse_scope(scope), thread, tuple(new), attempts, forgotten)

    def next_due_time(self) -> float | None:
        """When the next entry is due; None where none waits."""
        with self._transaction() as tx:
            found: float | None = tx.execute(sql.NEXT_DUE).fetchone()[0]
        return found

    def complete(self, pending: PendingUpdate) -> None:
        """It is in the memory, or never will be: its messages count as seen. What grew meanwhile stays."""
        key = (format_scope(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            self._mark_seen(tx, key, pending.messages)
            tx.execute(sql.TAKE_OUT, (*key, pending.id))

    def postpone(self, pending: PendingUpdate, seconds: float) -> None:
        """It failed; it is due again after so many seconds. One that grew meanwhile keeps its own time."""
        key = (format_scope(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            tx.execute(sql.LATER, (self._clock() + seconds, *key, pending.id))

    def erase(self, scope: MemoryScope) -> None:
        """Drop what waits; what was said so far is not brought again, and an update under way is void."""
        text = format_scope(scope)
        with self._transaction() as tx:
            for thread, said in tx.execute(sql.OF_SCOPE, (text,)).fetchall():
                self._mark_seen(tx, (text, thread), _decode_messages(said))
            tx.execute(sql.DROP_SCOPE, (text,))
            tx.execute(sql.FORGET, (text,))

    def count_erasures(self, scope: MemoryScope) -> int:
        """How often the scope was forgotten."""
        with self._transaction() as tx:
            row = tx.execute(sql.TIMES_FORGOTTEN, (format_scope(scope),)).fetchone()
        return row[0] if row else 0

    def count_pending(self, scope: MemoryScope) -> int:
        """How many of the scope's threads wait."""
        with self._transaction() as tx:
            count: int = tx.execute(sql.COUNT, (format_scope(scope),)).fetchone()[0]
        return count

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _mark_seen(self, tx: sqlite3.Connection, key: tuple[str, str], said: Sequence[QueuedMessage]) -> None:
        ids = list(dict.fromkeys([*_load_seen_ids(tx, key), *(one.id for one in said)]))[-MAX_SEEN_IDS:]
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
        connection.execute(sql.PRUNE_SEEN, (MAX_SEEN_THREADS,))
        self._connection = connection
        return connection


def unseen_messages(messages: Sequence[QueuedMessage], seen: Sequence[str]) -> list[QueuedMessage]:
    """The messages after the last one that was seen."""
    known = set(seen)
    last = max((place for place, one in enumerate(messages) if one.id in known), default=-1)
    return list(messages[last + 1 :])


def _load_seen_ids(tx: sqlite3.Connection, key: tuple[str, str]) -> list[str]:
    row = tx.execute(sql.SEEN, key).fetchone()
    return list(json.loads(row[0])) if row else []


def _decode_messages(text: str) -> list[QueuedMessage]:
    return [QueuedMessage(*one) for one in json.loads(text)]


def _encode_messages(messages: Sequence[QueuedMessage]) -> str:
    return json.dumps([(one.id, one.role, one.text) for one in messages], ensure_ascii=False)
