"""Event logs of resumable runs, with one row per flushed chunk of frames.

This is the hot path of streaming, so it uses the driver's own SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy import bindparam as bind

from agent.runtime.domain import EventId, RunStatus
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.leases import Lease, check_lease
from agent.runtime.store.schema import events, runs
from agent.runtime.store.statements import execute_sql

# Append a chunk.
_INSERT: Final = (
    'INSERT INTO events (run_id, attempt, "last", "first", body) VALUES (?, ?, ?, ?, ?) '
    'ON CONFLICT (run_id, attempt, "last") DO UPDATE SET "first" = excluded."first", body = excluded.body'
)
# Read the chunks that hold events after a position.
_SELECT_AFTER: Final = (
    'SELECT attempt, "first", "last", body FROM events WHERE run_id = ? AND (attempt, "last") > (?, ?) '
    'ORDER BY attempt, "last" LIMIT ?'
)
# Find the chunk that contains an event.
_SELECT_ONE: Final = (
    'SELECT 1 FROM events WHERE run_id = ? AND attempt = ? AND "first" <= ? AND "last" >= ? LIMIT 1'
)
# Count the events of a run.
_COUNT: Final = 'SELECT COALESCE(SUM("last" - "first" + 1), 0) FROM events WHERE run_id = ?'
# Delete the log of a run.
_DELETE: Final = delete(events).where(events.c.run_id == bind("run_id"))

_ENDED: Final = runs.c.status.not_in([str(RunStatus.PENDING), str(RunStatus.RUNNING)])
# Find ended runs with a log that is older than a time.
_SELECT_OLD: Final = (
    select(runs.c.run_id).where(runs.c.log_events > 0, runs.c.updated_at < bind("before"), _ENDED).limit(200)
)
# Count the events of all ended runs.
_COUNT_ENDED: Final = select(func.coalesce(func.sum(runs.c.log_events), 0)).where(
    runs.c.log_events > 0, _ENDED
)
# List ended runs with a log, oldest first.
_SELECT_OLDEST: Final = (
    select(runs.c.run_id, runs.c.log_events)
    .where(runs.c.log_events > 0, _ENDED)
    .order_by(runs.c.updated_at)
    .limit(200)
)
# Record that a run has no log.
_SET_LOG_EMPTY: Final = update(runs).where(runs.c.run_id == bind("b_run_id")).values(log_events=0)


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Consecutive frames `first` to `last` of one attempt's event log, joined."""

    attempt: int
    first: int
    last: int
    body: bytes


class EventLog:
    """The event logs in the runtime's database, for streams."""

    def __init__(self, database: RuntimeDatabase) -> None:
        self._database = database

    def append_chunk(
        self, lease: Lease, chunk: LogChunk, on_commit: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Queue a chunk; `on_commit` is called on the event loop once it is committed."""
        self._database.submit_write(lambda connection: append_events(connection, lease, chunk), on_commit)

    async def read_events(self, run_id: str, after: EventId, limit: int) -> Sequence[LogChunk]:
        return await self._database.read(read_events, run_id, after, limit)

    async def has_event(self, run_id: str, event_id: EventId) -> bool:
        return await self._database.read(has_event, run_id, event_id)


def append_events(connection: Connection, lease: Lease, chunk: LogChunk) -> None:
    """Append events to the log of a run that this process executes. Raises `LeaseLost`."""
    check_lease(connection, lease)
    insert_chunk(connection, lease.run_id, chunk)


def insert_chunk(connection: Connection, run_id: str, chunk: LogChunk) -> None:
    """Append events in the transaction that starts or ends the run, which checks the lease."""
    values = (run_id, chunk.attempt, chunk.last, chunk.first, chunk.body)
    execute_sql(connection, _INSERT, values)


def read_events(connection: Connection, run_id: str, after: EventId, limit: int) -> Sequence[LogChunk]:
    """Return up to `limit` chunks of a run's log with events after `after`, in order."""
    values = (run_id, after.attempt, after.seq, limit)
    return [LogChunk(*row) for row in execute_sql(connection, _SELECT_AFTER, values).fetchall()]


def has_event(connection: Connection, run_id: str, event_id: EventId) -> bool:
    values = (run_id, event_id.attempt, event_id.seq, event_id.seq)
    return execute_sql(connection, _SELECT_ONE, values).fetchone() is not None


def count_events(connection: Connection, run_id: str) -> int:
    """Return the number of events in a run's log."""
    return int(execute_sql(connection, _COUNT, (run_id,)).fetchone()[0])


def delete_events(connection: Connection, run_id: str) -> None:
    connection.execute(_DELETE, {"run_id": run_id})


def prune_logs(connection: Connection, *, before: float, keep: int) -> int:
    """Delete logs of finished runs and return their number.

    These are the logs older than `before`; if there are none, the oldest until at most `keep` events remain.
    """
    run_ids = [row.run_id for row in connection.execute(_SELECT_OLD, {"before": before})]
    excess = connection.execute(_COUNT_ENDED).scalar_one() - keep
    if not run_ids and excess > 0:
        for row in connection.execute(_SELECT_OLDEST):
            if excess <= 0:
                break
            run_ids.append(row.run_id)
            excess -= row.log_events
    for run_id in run_ids:
        delete_events(connection, run_id)
        connection.execute(_SET_LOG_EMPTY, {"b_run_id": run_id})
    return len(run_ids)
