"""What one transaction of the store does: plain functions over a `Connection`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from agent.core.usage import merge_usage
from agent.errors import Conflict, NotFound
from agent.runtime import statements as sql
from agent.runtime.accounting import usage_in
from agent.runtime.domain import Json, Multitask, NewRun, Outcome, Run, RunStatus, Thread, ThreadStatus
from agent.runtime.encode import dumps, loads
from agent.runtime.rows import run_from, run_row, thread_from, thread_row
from agent.runtime.sqlite import driver


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous piece of one attempt's event log: frames `first` to `last`, joined."""

    attempt: int
    first: int
    last: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Added:
    """The run of a creation request, and which runs stood before it in its thread (none for a known one)."""

    run: Run
    created: bool
    before: tuple[tuple[str, RunStatus], ...] = ()


def thread_of(connection: Connection, thread_id: str) -> Thread | None:
    """The thread, if there is one."""
    row = connection.execute(sql.THREAD, {"thread_id": thread_id}).one_or_none()
    return None if row is None else thread_from(row)


def require_thread(connection: Connection, thread_id: str) -> Thread:
    """The thread. Raises `NotFound`."""
    thread = thread_of(connection, thread_id)
    if thread is None:
        raise NotFound(f"Thread {thread_id} not found")
    return thread


def create_thread(connection: Connection, thread: Thread, *, if_exists: str) -> Thread:
    """Store a thread. Raises `Conflict` when it exists and `if_exists` is `raise`."""
    present = thread_of(connection, thread.thread_id)
    if present is None:
        sql.ADD_THREAD.run(connection, thread_row(thread))
        return thread
    if if_exists == "do_nothing":
        return present
    raise Conflict(f"Thread {thread.thread_id} already exists")


def patch_thread(connection: Connection, thread_id: str, changes: Json) -> Thread:
    """Set columns of a thread; `metadata` is merged. Raises `NotFound`."""
    thread = require_thread(connection, thread_id)
    if "metadata" in changes:
        changes = {**changes, "metadata": {**thread.metadata, **changes["metadata"]}}
    thread = replace(thread, **changes)
    connection.execute(sql.SET_THREAD.values(**changes), {"b_thread_id": thread_id})
    return thread


def delete_thread(connection: Connection, thread_id: str) -> None:
    """Drop a thread with its runs and their logs. Raises `NotFound`; `Conflict` while a run is on."""
    require_thread(connection, thread_id)
    if inflight(connection, thread_id):
        raise Conflict(f"Thread {thread_id} is busy")
    erase_thread(connection, thread_id)


def erase_thread(connection: Connection, thread_id: str) -> None:
    """Drop a thread with its runs and their logs, whatever its state."""
    for statement in (sql.DELETE_THREAD_EVENTS, sql.DELETE_THREAD_RUNS, sql.DELETE_THREAD):
        driver(connection).execute(statement, (thread_id,))


def add_run(connection: Connection, new: NewRun, *, now: float, start: bool, chunk: Chunk | None) -> Added:
    """Store a run and mark its thread busy; with `start` it is stored as running, with its first events.

    A known idempotency key gives the run that has it. Raises `NotFound` (no such thread, and none is to be
    made) and `Conflict` (the thread is busy and the strategy is reject).
    """
    if new.idempotency_key is not None:
        keys = (new.idempotency_scope, new.idempotency_key)
        known = driver(connection).execute(sql.RUN_ID_BY_KEY, keys).fetchone()
        if known is not None:
            row = connection.execute(sql.RUN, {"run_id": known[0]}).one()
            return Added(run_from(row), created=False)
    before = _prepare_thread(connection, new, now)
    if before and new.multitask_strategy is Multitask.REJECT:
        raise Conflict(f"Thread {new.thread_id} is already running a task; it was not interrupted")
    start = start and not before
    status, attempt = (RunStatus.RUNNING, 1) if start else (RunStatus.PENDING, 0)
    order = sql.ADD_RUN.insert(connection, run_row(new, status=status, attempt=attempt, now=now))
    if start and chunk is not None:
        append_events(connection, new.run_id, chunk)
    run = Run(
        run_id=new.run_id,
        thread_id=new.thread_id,
        assistant_id=new.spec.assistant_id,
        status=status,
        spec=new.spec,
        multitask_strategy=new.multitask_strategy,
        created_at=now,
        updated_at=now,
        attempt=attempt,
        order=order,
        start_at=new.start_at,
    )
    return Added(run, created=True, before=before)


def _prepare_thread(connection: Connection, new: NewRun, now: float) -> tuple[tuple[str, RunStatus], ...]:
    metadata = None
    if not new.spec.temporary_thread:
        metadata = driver(connection).execute(sql.THREAD_METADATA, (new.thread_id,)).fetchone()
    facts = {"graph_id": new.spec.graph_id, "assistant_id": new.spec.assistant_id}
    if metadata is None:
        if new.if_not_exists != "create":
            raise NotFound(f"Thread {new.thread_id} not found")
        made = Thread(new.thread_id, ThreadStatus.BUSY, facts, now, now, now)
        sql.ADD_THREAD.run(connection, thread_row(made))
        return ()
    before = inflight(connection, new.thread_id)
    if not (before and new.multitask_strategy is Multitask.REJECT):
        values = {"b_thread_id": new.thread_id, "b_now": now, "b_metadata": {**loads(metadata[0]), **facts}}
        sql.SET_THREAD_BUSY.run(connection, values)
    return before


def inflight(connection: Connection, thread_id: str) -> tuple[tuple[str, RunStatus], ...]:
    """The thread's pending and running runs, in creation order."""
    rows = driver(connection).execute(sql.INFLIGHT_OF_THREAD, (thread_id,)).fetchall()
    return tuple((run_id, RunStatus(status)) for run_id, status in rows)


def start_run(connection: Connection, run: Run, *, now: float, chunk: Chunk | None) -> bool:
    """Mark a run as running the attempt that `run` says. False when it is gone or has ended."""
    values = {"b_run_id": run.run_id, "b_attempt": run.attempt, "b_lost": run.lost, "b_now": now}
    if sql.START_RUN.run(connection, values) == 0:
        return False
    if chunk is not None:
        append_events(connection, run.run_id, chunk)
    return True


def pause_run(connection: Connection, run_id: str) -> None:
    """A stop, not a crash, cuts this attempt off: it will not count as lost."""
    connection.execute(sql.PAUSE_RUN, {"b_run_id": run_id})


def finish_run(
    connection: Connection, run: Run, outcome: Outcome, *, now: float, chunk: Chunk | None
) -> None:
    """End a run: its last events, its status, its thread's status and values."""
    logged = 0
    if chunk is not None:
        append_events(connection, run.run_id, chunk)
    if run.spec.stream_resumable:
        logged = connection.exec_driver_sql(sql.COUNT_EVENTS, (run.run_id,)).scalar_one()
    sql.FINISH_RUN.run(
        connection,
        {
            "b_run_id": run.run_id,
            "b_status": str(outcome.status),
            "b_error": outcome.error,
            "b_now": now,
            "b_log_events": logged,
        },
    )
    if outcome.usage:
        _account(connection, run, outcome.usage)
    _settle_thread(connection, run.thread_id, outcome, now)


def _account(connection: Connection, run: Run, usage: Json) -> None:
    """Write what the run cost into its metadata, and add it to what its thread did."""
    connected = driver(connection)
    connected.execute(sql.SET_RUN_USAGE, (dumps(usage), run.run_id))
    found = connected.execute(sql.THREAD_METADATA, (run.thread_id,)).fetchone()
    if found is not None:
        total = merge_usage(usage_in(loads(found[0])), usage)
        connected.execute(sql.SET_THREAD_USAGE, (dumps(total), run.thread_id))


def _settle_thread(connection: Connection, thread_id: str, outcome: Outcome, now: float) -> None:
    status = ThreadStatus.BUSY if inflight(connection, thread_id) else thread_status(outcome)
    keep = outcome.status is RunStatus.INTERRUPTED
    sql.SETTLE_THREAD.run(
        connection,
        {
            "b_thread_id": thread_id,
            "b_status": str(status),
            "b_now": now,
            "b_values": outcome.values,
            "b_state_now": None if outcome.values is None else now,
            "b_interrupts": None if keep else outcome.interrupts,
            "b_keep": keep,
            "b_error": outcome.error,
        },
    )


def thread_status(outcome: Outcome) -> ThreadStatus:
    """What a run's end makes of its thread."""
    if outcome.interrupted_by_graph:
        return ThreadStatus.INTERRUPTED
    if outcome.status is RunStatus.ERROR:
        return ThreadStatus.ERROR
    return ThreadStatus.IDLE


def remove_run(connection: Connection, run: Run, *, now: float) -> None:
    """Drop a run and its log, and settle its thread."""
    connection.execute(sql.DELETE_EVENTS, {"run_id": run.run_id})
    connection.execute(sql.DELETE_RUN, {"run_id": run.run_id})
    thread = thread_of(connection, run.thread_id)
    if thread is not None and thread.status is ThreadStatus.BUSY:
        _settle_thread(connection, run.thread_id, Outcome(RunStatus.INTERRUPTED), now)


def append_events(connection: Connection, run_id: str, chunk: Chunk) -> None:
    """Write a piece of a run's event log."""
    driver(connection).execute(sql.ADD_EVENTS, (run_id, chunk.attempt, chunk.last, chunk.first, chunk.body))


def read_events(connection: Connection, run_id: str, attempt: int, seq: int, limit: int) -> Sequence[Chunk]:
    """Pieces of the log that hold events after `(attempt, seq)`, in order; at most `limit` pieces."""
    rows: Any = connection.exec_driver_sql(sql.READ_EVENTS, (run_id, attempt, seq, limit))
    return [Chunk(*row) for row in rows]


def prune_logs(connection: Connection, *, before: float, keep: int) -> int:
    """Drop finished logs older than `before`, else the oldest until at most `keep` events stand; how many."""
    doomed = [row.run_id for row in connection.execute(sql.OLD_LOGS, {"before": before})]
    excess = connection.execute(sql.LOG_TOTAL).scalar_one() - keep
    if not doomed and excess > 0:
        for row in connection.execute(sql.OLDEST_LOGS):
            if excess <= 0:
                break
            doomed.append(row.run_id)
            excess -= row.log_events
    for run_id in doomed:
        connection.execute(sql.DELETE_EVENTS, {"run_id": run_id})
        connection.execute(sql.FORGET_LOG, {"b_run_id": run_id})
    return len(doomed)
