"""Transactions and queries for threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Float,
    LargeBinary,
    and_,
    bindparam,
    case,
    func,
    select,
    update,
)

from agent.errors import Conflict, NotFound
from agent.runtime.domain import NO_INTERRUPTS, AttemptOutcome, Json, RowPage, RunStatus, Thread, ThreadStatus
from agent.runtime.encode import dumps, loads
from agent.runtime.store.database import RowQuery, count_rows, select_page
from agent.runtime.store.json_conditions import access_conditions, json_contains
from agent.runtime.store.schema import JsonText, threads
from agent.runtime.store.statements import PreparedStatement, execute_sql, is_sqlite, prepare_insert

# Read a thread.
_SELECT: Final = select(threads).where(threads.c.thread_id == bindparam("thread_id"))
# Read a thread's metadata only.
_SELECT_METADATA: Final = "SELECT metadata FROM threads WHERE thread_id = ?"
_SELECT_INTERRUPTS: Final = "SELECT status, interrupts FROM threads WHERE thread_id = ?"
# Store a thread.
_INSERT: Final = prepare_insert(threads)
# Change columns of a thread.
_UPDATE: Final = update(threads).where(threads.c.thread_id == bindparam("b_thread_id"))
# Mark a thread as busy with a new run.
_SET_BUSY: Final = PreparedStatement(
    update(threads)
    .where(threads.c.thread_id == bindparam("b_thread_id"))
    .values(
        status="busy",
        updated_at=bindparam("b_now"),
        metadata=bindparam("b_metadata"),
        config=bindparam("b_config"),
    )
)
# Write a run's result to its thread; NULL leaves values and interrupts unchanged.
_SETTLE: Final = PreparedStatement(
    update(threads)
    .where(threads.c.thread_id == bindparam("b_thread_id"))
    .values(
        status=bindparam("b_status"),
        updated_at=bindparam("b_now"),
        values=func.coalesce(bindparam("b_values", type_=LargeBinary), threads.c["values"]),
        state_updated_at=func.coalesce(bindparam("b_state_now", type_=Float), threads.c.state_updated_at),
        interrupts=func.coalesce(bindparam("b_interrupts", type_=LargeBinary), threads.c.interrupts),
        error=case(
            (bindparam("b_keep", type_=Boolean), threads.c.error), else_=bindparam("b_error", type_=JsonText)
        ),
    )
)
# Replace a thread's metadata.
_SET_METADATA: Final = "UPDATE threads SET metadata = ? WHERE thread_id = ?"
# Delete a thread with its runs, their logs and webhooks.
_DELETE_ALL: Final = (
    "DELETE FROM events WHERE run_id IN (SELECT run_id FROM runs WHERE thread_id = ?)",
    "DELETE FROM runs WHERE thread_id = ?",
    "DELETE FROM thread_expiries WHERE thread_id = ?",
    "DELETE FROM crons WHERE thread_id = ?",
    "DELETE FROM webhook_deliveries WHERE thread_id = ?",
    "DELETE FROM threads WHERE thread_id = ?",
)
# List a thread's pending and running runs in creation order.
_SELECT_INFLIGHT: Final = (
    "SELECT run_id, status FROM runs "
    "WHERE thread_id = ? AND status IN ('pending', 'running') ORDER BY runs.\"order\""
)


@dataclass(frozen=True, slots=True)
class ThreadQuery(RowQuery):
    """Filters, sort order and page for a thread search."""

    values: Json | None = None
    status: str | None = None
    ids: list[str] | None = None


def find_thread(connection: Connection, thread_id: str) -> Thread | None:
    row = connection.execute(_SELECT, {"thread_id": thread_id}).one_or_none()
    return None if row is None else _to_thread(row)


def get_thread(connection: Connection, thread_id: str) -> Thread:
    """Return a thread. Raises `NotFound`."""
    thread = find_thread(connection, thread_id)
    if thread is None:
        raise NotFound(f"Thread {thread_id} not found")
    return thread


def create_thread(connection: Connection, thread: Thread, *, if_exists: str) -> Thread:
    """Store a thread. Raises `Conflict` if it exists and `if_exists` is `raise`."""
    present = find_thread(connection, thread.thread_id)
    if present is None:
        insert_thread(connection, thread)
        return thread
    if if_exists == "do_nothing":
        return present
    raise Conflict(f"Thread {thread.thread_id} already exists")


def insert_thread(connection: Connection, thread: Thread) -> None:
    _INSERT.execute(connection, _to_row(thread))


def patch_thread(connection: Connection, thread_id: str, changes: Json, *, now: float) -> Thread:
    """Set columns of a thread; `metadata` is merged. Raises `NotFound`."""
    thread = get_thread(connection, thread_id)
    changes = {"updated_at": now, **changes}
    if "metadata" in changes:
        changes["metadata"] = {**thread.metadata, **changes["metadata"]}
    thread = replace(thread, **changes)
    connection.execute(_UPDATE.values(**changes), {"b_thread_id": thread_id})
    return thread


def delete_thread(connection: Connection, thread_id: str) -> None:
    """Delete a thread with its runs and their logs. Raises `NotFound`, or `Conflict` while it is busy."""
    get_thread(connection, thread_id)
    if list_inflight(connection, thread_id):
        raise Conflict(f"Thread {thread_id} is busy")
    erase_thread(connection, thread_id)


def erase_thread(connection: Connection, thread_id: str) -> None:
    """Delete a thread with its runs and their logs, whatever its state."""
    for statement in _DELETE_ALL:
        execute_sql(connection, statement, (thread_id,))


def search_threads(connection: Connection, query: ThreadQuery) -> RowPage:
    """Return one page of the matching threads and their total number."""
    return select_page(connection, threads, _search_condition(connection, query), query, _to_thread)


def count_threads(connection: Connection, query: ThreadQuery) -> int:
    return count_rows(connection, threads, _search_condition(connection, query))


def find_metadata(connection: Connection, thread_id: str) -> Json | None:
    """Return a thread's metadata, or None if the thread does not exist."""
    row = execute_sql(connection, _SELECT_METADATA, (thread_id,)).fetchone()
    return None if row is None else loads(row[0])


def is_interrupted(connection: Connection, thread_id: str) -> bool:
    """Return whether a thread has an open interrupt and no run."""
    row = execute_sql(connection, _SELECT_INTERRUPTS, (thread_id,)).fetchone()
    return row is not None and row[0] == str(ThreadStatus.INTERRUPTED) and bytes(row[1]) != NO_INTERRUPTS


def lock_thread(connection: Connection, thread_id: str) -> None:
    """Let other processes that add or end a run of the thread wait for the commit."""
    if not is_sqlite(connection):
        execute_sql(connection, "SELECT 1 FROM threads WHERE thread_id = ? FOR UPDATE", (thread_id,))


def mark_busy(connection: Connection, thread_id: str, metadata: Json, config: Json, *, now: float) -> None:
    values = {"b_thread_id": thread_id, "b_now": now, "b_metadata": metadata, "b_config": config}
    _SET_BUSY.execute(connection, values)


def set_metadata(connection: Connection, thread_id: str, metadata: Json) -> None:
    execute_sql(connection, _SET_METADATA, (dumps(metadata).decode(), thread_id))


def settle_thread(connection: Connection, thread_id: str, outcome: AttemptOutcome, *, now: float) -> None:
    """Store a finished run's outcome in its thread, which stays busy if other runs wait.

    A cancelled run keeps the thread's error, and a run without a state its interrupts.
    """
    lock_thread(connection, thread_id)
    busy = bool(list_inflight(connection, thread_id))
    is_cancelled = outcome.status is RunStatus.INTERRUPTED
    _SETTLE.execute(
        connection,
        {
            "b_thread_id": thread_id,
            "b_status": str(ThreadStatus.BUSY if busy else _status_after(outcome)),
            "b_now": now,
            "b_values": outcome.values,
            "b_state_now": None if outcome.values is None else now,
            "b_interrupts": None if outcome.values is None else outcome.interrupts,
            "b_keep": is_cancelled,
            "b_error": outcome.error,
        },
    )


def list_inflight(connection: Connection, thread_id: str) -> tuple[tuple[str, RunStatus], ...]:
    """Return id and status of the thread's pending and running runs, in creation order."""
    rows = execute_sql(connection, _SELECT_INFLIGHT, (thread_id,)).fetchall()
    return tuple((run_id, RunStatus(status)) for run_id, status in rows)


def _status_after(outcome: AttemptOutcome) -> ThreadStatus:
    if outcome.is_waiting:
        return ThreadStatus.INTERRUPTED
    if outcome.status is RunStatus.ERROR:
        return ThreadStatus.ERROR
    return ThreadStatus.IDLE


def _search_condition(connection: Connection, query: ThreadQuery) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [threads.c.thread_id != ""]
    if query.metadata:
        conditions += json_contains(connection, threads.c.metadata, query.metadata)
    if query.status:
        conditions.append(threads.c.status == query.status)
    if query.ids is not None:
        conditions.append(threads.c.thread_id.in_(query.ids))
    if query.values:
        conditions += json_contains(connection, threads.c["values"], query.values)
    return and_(*conditions, *access_conditions(connection, threads.c.metadata, query.wanted))


_COLUMNS: Final = tuple(column.name for column in threads.c)


def _to_thread(row: Any) -> Thread:
    mapping = row._mapping
    columns = {name: mapping[name] for name in _COLUMNS}
    return Thread(**{**columns, "status": ThreadStatus(columns["status"])})


def _to_row(thread: Thread) -> Json:
    return {**{name: getattr(thread, name) for name in _COLUMNS}, "status": str(thread.status)}
