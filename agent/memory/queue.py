"""The update queue on disk, with an entry per thread and scope that becomes due after a quiet period.

Each message enters a memory once: the ids of processed messages are stored by thread, so neither a later turn
nor a restart processes them again. Blocking; threads and processes may share the database.

Pending messages are stored before the answer is sent. The memory file names the update that it contains
(`lastUpdateId`) and is replaced before the entry is removed, so an update is recognized after a crash.
Erasing increments the scope's generation, and updates of an earlier one are discarded. A failed update is
retried after half a minute, then 2, 8 and 32 minutes; after the fifth failure it is dropped.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from uuid import uuid4

from agent.core.interfaces import MemoryScope
from agent.core.paths import make_private_folder
from agent.memory.exchange import MAX_MESSAGES, PendingUpdate, QueuedMessage
from agent.memory.scopes import format_scope, parse_scope
from agent.shared.sqlite_compaction import compact_database

MAX_WAIT_FACTOR = 10
"""Maximum number of quiet periods that an entry waits while messages keep arriving."""
MAX_SEEN_IDS = 200
MAX_SEEN_THREADS = 50_000
BUSY_SECONDS = 10.0

# `scope` is a scope as text; times are seconds since the epoch.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS pending (
    scope TEXT NOT NULL, thread TEXT NOT NULL, id TEXT NOT NULL, said TEXT NOT NULL,
    since REAL NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, thread)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pending_due ON pending (due);
CREATE TABLE IF NOT EXISTS seen (
    scope TEXT NOT NULL, thread TEXT NOT NULL, ids TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (scope, thread)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_at ON seen (at);
CREATE TABLE IF NOT EXISTS forgotten (scope TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
"""
_SELECT_SEEN = "SELECT ids FROM seen WHERE scope = ? AND thread = ?"
_UPSERT_SEEN = """
INSERT INTO seen (scope, thread, ids, at) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, thread) DO UPDATE SET ids = excluded.ids, at = excluded.at
"""
# Keeps the newest threads. A thread resumed after it was pruned is at worst processed again.
_PRUNE_SEEN = """
DELETE FROM seen WHERE at < (SELECT at FROM seen ORDER BY at DESC LIMIT 1 OFFSET ?)
"""
_SELECT_PENDING = "SELECT id, said, since FROM pending WHERE scope = ? AND thread = ?"
_UPSERT_PENDING = """
INSERT INTO pending (scope, thread, id, said, since, due) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (scope, thread) DO UPDATE SET
    id = excluded.id, said = excluded.said, due = excluded.due, attempts = 0
"""
_SELECT_DUE = """
SELECT p.scope, p.thread, p.id, p.said, p.attempts, coalesce(f.times, 0)
FROM pending p LEFT JOIN forgotten f ON f.scope = p.scope
WHERE p.due <= ? AND p.scope NOT IN (SELECT value FROM json_each(?)) ORDER BY p.due LIMIT 1
"""
_SELECT_NEXT_DUE = "SELECT min(due) FROM pending WHERE scope NOT IN (SELECT value FROM json_each(?))"
_SELECT_BY_SCOPE = "SELECT thread, said FROM pending WHERE scope = ?"
# An update that failed before waits for its retry.
_SELECT_ELSEWHERE = "SELECT thread, said FROM pending WHERE scope = ? AND thread <> ? AND attempts = 0"
_MAKE_FIRST = "UPDATE pending SET due = 0 WHERE scope = ? AND thread = ?"
_COUNT_PENDING = "SELECT count(*) FROM pending WHERE scope = ?"
_DELETE_PENDING = "DELETE FROM pending WHERE scope = ? AND thread = ? AND id = ?"
_POSTPONE_PENDING = (
    "UPDATE pending SET due = ?, attempts = attempts + 1 WHERE scope = ? AND thread = ? AND id = ?"
)
_DELETE_BY_SCOPE = "DELETE FROM pending WHERE scope = ?"
_SELECT_ERASURES = "SELECT times FROM forgotten WHERE scope = ?"
_INCREMENT_ERASURES = """
INSERT INTO forgotten (scope, times) VALUES (?, 1) ON CONFLICT (scope) DO UPDATE SET times = times + 1
"""


class MemoryUpdateQueue:
    """The update queue in one SQLite file. `clock` returns seconds since the epoch."""

    def __init__(self, path: Path, *, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._close_connection: Callable[[], object] | None = None

    @property
    def exists(self) -> bool:
        """Return whether anything has ever been queued here."""
        return self._path.exists()

    def add_messages(
        self, scope: MemoryScope, thread_id: str, messages: Sequence[QueuedMessage], *, quiet: float
    ) -> bool:
        """Queue the new messages of a thread, due after `quiet` seconds.

        Returns True if a person wrote any of them.

        Queued messages that are no longer in the thread (a summary replaced them) stay queued.
        """
        key = (format_scope(scope), thread_id)
        now = self._clock()
        with self._transaction() as tx:
            seen = _load_seen_ids(tx, key)
            new = unseen_messages(messages, seen)
            waiting = tx.execute(_SELECT_PENDING, key).fetchone()
            earlier = unseen_messages(_decode_messages(waiting[1]), seen) if waiting else []
            whole = _merge(earlier, new)[-MAX_MESSAGES:]
            if not any(one.role == "person" for one in whole) or (waiting and whole == earlier):
                return False
            since = waiting[2] if waiting else now
            due = min(now + quiet, since + quiet * MAX_WAIT_FACTOR)
            tx.execute(_UPSERT_PENDING, (*key, uuid4().hex, _encode_messages(whole), since, due))
        return True

    def next_update(self, busy: Iterable[str] = ()) -> PendingUpdate | None:
        """Return the entry that has been due the longest, or None if none is due.

        `busy` are scopes, as text, whose entries have to wait.
        """
        with self._transaction() as tx:
            row = tx.execute(_SELECT_DUE, (self._clock(), json.dumps([*busy]))).fetchone()
            if row is None:
                return None
            scope, thread, identity, said, attempts, forgotten = row
            new = unseen_messages(_decode_messages(said), _load_seen_ids(tx, (scope, thread)))
        return PendingUpdate(identity, parse_scope(scope), thread, tuple(new), attempts, forgotten)

    def next_due_time(self, busy: Iterable[str] = ()) -> float | None:
        """Return the time when the next entry is due, or None without one. `busy` as in `next_update`."""
        with self._transaction() as tx:
            found: float | None = tx.execute(_SELECT_NEXT_DUE, (json.dumps([*busy]),)).fetchone()[0]
        return found

    def hasten(self, scope: MemoryScope, thread_id: str, author: str | None) -> bool:
        """Make updates from other threads with messages by the person due immediately, before all others.

        Returns False if none is queued or running. Everything in a person's own memory is theirs.
        """
        text, found = format_scope(scope), False
        with self._transaction() as tx:
            for thread, said in tx.execute(_SELECT_ELSEWHERE, (text, thread_id)).fetchall():
                if scope.kind == "person" or any(one.author == author for one in _decode_messages(said)):
                    tx.execute(_MAKE_FIRST, (text, thread))
                    found = True
        return found

    def complete(self, pending: PendingUpdate) -> None:
        """Mark the messages as seen and remove the entry, unless it has grown since it was read."""
        key = (format_scope(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            self._mark_seen(tx, key, pending.messages)
            tx.execute(_DELETE_PENDING, (*key, pending.id))

    def postpone(self, pending: PendingUpdate, seconds: float) -> None:
        """Retry a failed entry after `seconds`. An entry that has grown since keeps its own due time."""
        key = (format_scope(pending.scope), pending.thread_id)
        with self._transaction() as tx:
            tx.execute(_POSTPONE_PENDING, (self._clock() + seconds, *key, pending.id))

    def erase(self, scope: MemoryScope) -> None:
        """Delete all entries of the scope, mark their messages as seen, and invalidate a running update."""
        text = format_scope(scope)
        with self._transaction() as tx:
            for thread, said in tx.execute(_SELECT_BY_SCOPE, (text,)).fetchall():
                self._mark_seen(tx, (text, thread), _decode_messages(said))
            tx.execute(_DELETE_BY_SCOPE, (text,))
            tx.execute(_INCREMENT_ERASURES, (text,))

    def record_erasure(self, scope: MemoryScope) -> None:
        """Count an erasure, which invalidates a running update that has read the erased content."""
        with self._transaction() as tx:
            tx.execute(_INCREMENT_ERASURES, (format_scope(scope),))

    def compact(self) -> None:
        """Purge deleted content from the database file, if any."""
        if self.exists:
            compact_database(self._path)

    def count_erasures(self, scope: MemoryScope) -> int:
        """Return how often the scope, or a person's part of it, was erased, without waiting for a writer."""
        if self._connection is None:
            with self._guard:
                if self._connection is None:
                    self._open()
        # Another connection, since a writer of this process keeps its own while it waits for a lock.
        with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
            row = reader.execute(_SELECT_ERASURES, (format_scope(scope),)).fetchone()
        return row[0] if row else 0

    def count_pending(self, scope: MemoryScope) -> int:
        """Return the number of threads of the scope that have a pending update."""
        with self._transaction() as tx:
            count: int = tx.execute(_COUNT_PENDING, (format_scope(scope),)).fetchone()[0]
        return count

    def close(self) -> None:
        """Close the database. The next use reopens it."""
        with self._guard:
            if self._close_connection is not None:
                self._close_connection()
                self._connection = self._close_connection = None

    def _mark_seen(self, tx: sqlite3.Connection, key: tuple[str, str], said: Sequence[QueuedMessage]) -> None:
        ids = list(dict.fromkeys([*_load_seen_ids(tx, key), *(one.id for one in said)]))[-MAX_SEEN_IDS:]
        tx.execute(_UPSERT_SEEN, (*key, json.dumps(ids), self._clock()))

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
        connection.execute("PRAGMA secure_delete = ON")
        connection.executescript(_SCHEMA)
        connection.execute(_PRUNE_SEEN, (MAX_SEEN_THREADS,))
        self._connection = connection
        # An agent on a caller's event loop stops with that loop, and its queue is never closed.
        self._close_connection = weakref.finalize(self, connection.close)
        return connection


def _merge(earlier: Sequence[QueuedMessage], new: Sequence[QueuedMessage]) -> list[QueuedMessage]:
    """Return the queued messages in order, with their current content, followed by other new ones."""
    now = {one.id: one for one in new}
    known = {one.id for one in earlier}
    return [*(now.get(one.id, one) for one in earlier), *(one for one in new if one.id not in known)]


def unseen_messages(messages: Sequence[QueuedMessage], seen: Sequence[str]) -> list[QueuedMessage]:
    """Return the messages after the last one already seen."""
    known = set(seen)
    last = max((place for place, one in enumerate(messages) if one.id in known), default=-1)
    return list(messages[last + 1 :])


def _load_seen_ids(tx: sqlite3.Connection, key: tuple[str, str]) -> list[str]:
    row = tx.execute(_SELECT_SEEN, key).fetchone()
    return list(json.loads(row[0])) if row else []


def _decode_messages(text: str) -> list[QueuedMessage]:
    found = (QueuedMessage(*one) for one in json.loads(text))
    return [replace(one, files=tuple(one.files)) for one in found]


def _encode_messages(messages: Sequence[QueuedMessage]) -> str:
    return json.dumps([astuple(one) for one in messages], ensure_ascii=False)
