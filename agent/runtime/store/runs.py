"""Transactions and queries for runs. Each public function is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, delete, func, select, true, update

from agent.core.state import merge_usage
from agent.errors import Conflict, NotFound
from agent.runtime.access import allows
from agent.runtime.domain import (
    INFLIGHT,
    AttemptOutcome,
    Json,
    MultitaskStrategy,
    NewRun,
    RowPage,
    Run,
    RunSpec,
    RunStatus,
    Thread,
    ThreadStatus,
    usage_in,
)
from agent.runtime.encode import dumps, loads
from agent.runtime.store import threads as thread_rows
from agent.runtime.store.database import RowQuery, select_page
from agent.runtime.store.events import LogChunk, count_events, delete_events, insert_chunk
from agent.runtime.store.expiries import set_expiry
from agent.runtime.store.leases import FIRST_FENCE, Lease, check_lease, find_owner, lease_of
from agent.runtime.store.schema import runs
from agent.runtime.store.statements import PreparedStatement, execute_sql, prepare_insert

# Read a run.
_SELECT: Final = select(runs).where(runs.c.run_id == bindparam("run_id"))
# Find the run of an idempotency key.
_SELECT_BY_KEY: Final = "SELECT run_id FROM runs WHERE idempotency_scope = ? AND idempotency_key = ?"
# List the pending and running runs of a process in creation order.
_SELECT_INFLIGHT: Final = (
    select(runs)
    .where(runs.c.owner == bindparam("owner"), runs.c.status.in_([str(status) for status in INFLIGHT]))
    .order_by(runs.c.order)
)
# Store a run.
_INSERT: Final = prepare_insert(runs, without="order")
# The run has not ended, and this process executes it.
_IS_HELD: Final = and_(
    runs.c.run_id == bindparam("b_run_id"),
    runs.c.owner == bindparam("b_owner"),
    runs.c.fence == bindparam("b_fence"),
    (runs.c.status == "pending") | (runs.c.status == "running"),
)
# Mark a run that has not ended as running.
_START: Final = PreparedStatement(
    update(runs)
    .where(_IS_HELD)
    .values(
        status="running",
        attempt=bindparam("b_attempt"),
        lost=bindparam("b_lost"),
        updated_at=bindparam("b_now"),
    )
)
# Decrement the number of lost attempts.
_PAUSE: Final = PreparedStatement(update(runs).where(_IS_HELD).values(lost=runs.c.lost - 1))
# Write the status of a run that has not ended.
_FINISH: Final = PreparedStatement(
    update(runs)
    .where(_IS_HELD)
    .values(
        status=bindparam("b_status"),
        error=bindparam("b_error"),
        updated_at=bindparam("b_now"),
        log_events=bindparam("b_log_events"),
    )
)
# Replace a run's metadata.
_SET_METADATA: Final = "UPDATE runs SET metadata = ? WHERE run_id = ?"
# Ask the run's process to cancel it.
_SET_STOP: Final = update(runs).where(runs.c.run_id == bindparam("b_run_id")).values(stop=bindparam("b_stop"))
# Delete a run.
_DELETE: Final = delete(runs).where(runs.c.run_id == bindparam("run_id"))


@dataclass(frozen=True, slots=True)
class AddedRun:
    """The run of a creation request.

    `before` has id and status of the unfinished runs created earlier in its thread; it is empty if `created`
    is false, because the idempotency key was known.
    """

    run: Run
    created: bool
    before: tuple[tuple[str, RunStatus], ...] = ()


def add_run(
    connection: Connection, new: NewRun, *, owner: str, now: float, start: bool, chunk: LogChunk | None
) -> AddedRun:
    """Store a run and mark its thread as busy; with `start` the run is stored as running, with its first
    events.

    The run belongs to the process `owner`, unless another one has the unfinished runs of its thread.

    A known idempotency key returns the run that has it. Raises `NotFound` if the thread does not exist and
    must not be created. Raises `Conflict` if it is busy and the strategy is `reject`, or if it is interrupted
    and the run is `unless_interrupted`.
    """
    thread_rows.lock_thread(connection, new.thread_id)
    if new.wanted:
        metadata = thread_rows.find_metadata(connection, new.thread_id)
        if metadata is not None and not allows(new.wanted, metadata):
            raise NotFound(f"Thread {new.thread_id} not found")
    if (known := _find_by_key(connection, new)) is not None:
        return AddedRun(known, created=False)
    if new.unless_interrupted and thread_rows.is_interrupted(connection, new.thread_id):
        raise Conflict(f"Thread {new.thread_id} has an open interrupt")
    inherited = _prepare_thread(connection, new, now)
    before = () if inherited is None else thread_rows.list_inflight(connection, new.thread_id)
    if before and new.multitask_strategy is MultitaskStrategy.REJECT:
        raise Conflict(f"Thread {new.thread_id} is already running a task; it was not interrupted")
    if inherited is not None:
        if not before:
            _occupy_thread(connection, new.thread_id, new.spec, inherited, now=now)
        inherited.pop("usage", None)
        metadata = {**inherited, **_ids_of(new.spec), **new.spec.metadata}
        new = replace(new, spec=replace(new.spec, metadata=metadata))
    holder = (find_owner(connection, new.thread_id) if before else None) or owner
    if holder != owner:
        new = _with_log(new)
    start = start and not before
    status, attempt = (RunStatus.RUNNING, 1) if start else (RunStatus.PENDING, 0)
    values = _to_row(new, owner=holder, status=status, attempt=attempt, now=now)
    order = _INSERT.insert(connection, values)
    if start and chunk is not None:
        insert_chunk(connection, new.run_id, chunk)
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
        owner=holder,
        fence=FIRST_FENCE,
    )
    return AddedRun(run, created=True, before=before)


def _find_by_key(connection: Connection, new: NewRun) -> Run | None:
    if new.idempotency_key is None:
        return None
    keys = (new.idempotency_scope, new.idempotency_key)
    found = execute_sql(connection, _SELECT_BY_KEY, keys).fetchone()
    return None if found is None else _to_run(connection.execute(_SELECT, {"run_id": found[0]}).one())


def _with_log(new: NewRun) -> NewRun:
    """Return a run of another process, whose events are followed by the log."""
    return replace(new, spec=replace(new.spec, stream_resumable=True))


def _prepare_thread(connection: Connection, new: NewRun, now: float) -> Json | None:
    """Return the metadata of a run's thread; None if the thread is created for the run."""
    metadata = None if new.spec.temporary_thread else thread_rows.find_metadata(connection, new.thread_id)
    if metadata is None:
        if new.if_not_exists != "create":
            raise NotFound(f"Thread {new.thread_id} not found")
        status, config = ThreadStatus.BUSY, _config_of(new.spec)
        described = {**new.thread_metadata, **_ids_of(new.spec)}
        thread = Thread(new.thread_id, status, described, now, now, now, config)
        thread_rows.insert_thread(connection, thread)
        if new.ttl is not None and not new.spec.temporary_thread:
            set_expiry(connection, new.thread_id, strategy=new.ttl[0], minutes=new.ttl[1], now=now)
    return metadata


def _occupy_thread(
    connection: Connection, thread_id: str, spec: RunSpec, metadata: Json, *, now: float
) -> None:
    """Mark a thread as busy with this run, whose graph reads its state from then on."""
    thread_rows.mark_busy(connection, thread_id, {**metadata, **_ids_of(spec)}, _config_of(spec), now=now)


def _ids_of(spec: RunSpec) -> Json:
    return {"graph_id": spec.graph_id, "assistant_id": spec.assistant_id}


def _config_of(spec: RunSpec) -> Json:
    """Return a run's config without its settings, which may name a person."""
    return {**spec.config, "configurable": {}}


def start_run(connection: Connection, run: Run, *, now: float, chunk: LogChunk | None) -> bool:
    """Mark a run as running its `attempt`. Return False if it was deleted or has ended.

    Raises `LeaseLost`.
    """
    values = {**_held_by(lease_of(run)), "b_attempt": run.attempt, "b_lost": run.lost, "b_now": now}
    if _START.execute(connection, values) == 0:
        check_lease(connection, lease_of(run))
        return False
    if chunk is not None:
        insert_chunk(connection, run.run_id, chunk)
    metadata = thread_rows.find_metadata(connection, run.thread_id) if run.attempt == 1 else None
    if metadata is not None:
        _occupy_thread(connection, run.thread_id, run.spec, metadata, now=now)
    return True


def pause_run(connection: Connection, lease: Lease) -> None:
    """Record that the process stopped during this attempt rather than crashed, so that it does not count as
    lost.
    """
    _PAUSE.execute(connection, _held_by(lease))


def _held_by(lease: Lease) -> Json:
    return {"b_run_id": lease.run_id, "b_owner": lease.owner, "b_fence": lease.fence}


def finish_run(
    connection: Connection, run: Run, outcome: AttemptOutcome, *, now: float, chunk: LogChunk | None
) -> None:
    """Store a run's result: its last events, its status and usage, and its thread's status and values.

    Nothing changes if the run has already ended, so that a write can be repeated if its outcome is unknown.
    Raises `LeaseLost`.
    """
    last_events = 0 if chunk is None else chunk.last - chunk.first + 1
    values = {
        **_held_by(lease_of(run)),
        "b_status": str(outcome.status),
        "b_error": outcome.error,
        "b_now": now,
        "b_log_events": count_events(connection, run.run_id) + last_events
        if run.spec.stream_resumable
        else 0,
    }
    if _FINISH.execute(connection, values) == 0:
        check_lease(connection, lease_of(run))
        return
    if chunk is not None:
        insert_chunk(connection, run.run_id, chunk)
    if outcome.usage:
        _record_usage(connection, run, outcome.usage)
    thread_rows.settle_thread(connection, run.thread_id, outcome, now=now)


def _record_usage(connection: Connection, run: Run, usage: Json) -> None:
    described = dumps({**run.spec.metadata, "usage": usage}).decode()
    execute_sql(connection, _SET_METADATA, (described, run.run_id))
    metadata = thread_rows.find_metadata(connection, run.thread_id)
    if metadata is not None:
        merged = dict(merge_usage(usage_in(metadata), usage))
        thread_rows.set_metadata(connection, run.thread_id, {**metadata, "usage": merged})


def remove_run(
    connection: Connection,
    run: Run,
    *,
    now: float,
    outcome: AttemptOutcome = AttemptOutcome(RunStatus.INTERRUPTED),  # noqa: B008 - immutable
) -> None:
    """Delete a run and its log, and settle its thread by this outcome."""
    delete_events(connection, run.run_id)
    connection.execute(_DELETE, {"run_id": run.run_id})
    thread = thread_rows.find_thread(connection, run.thread_id)
    if thread is not None and thread.status is ThreadStatus.BUSY:
        thread_rows.settle_thread(connection, run.thread_id, outcome, now=now)


def discard_run(connection: Connection, run: Run, *, now: float, outcome: AttemptOutcome) -> None:
    """Delete a run that this process executes, as `remove_run` does. Raises `LeaseLost`."""
    check_lease(connection, lease_of(run))
    remove_run(connection, run, now=now, outcome=outcome)


def erase_run_thread(connection: Connection, run: Run) -> None:
    """Delete the temporary thread of a run that this process executes. Raises `LeaseLost`."""
    check_lease(connection, lease_of(run))
    thread_rows.erase_thread(connection, run.thread_id)


def request_stop(connection: Connection, run_id: str, action: str) -> None:
    """Ask the process that executes a run to cancel it."""
    connection.execute(_SET_STOP, {"b_run_id": run_id, "b_stop": action})


def get_run(connection: Connection, thread_id: str, run_id: str) -> Run:
    """Return a run of a thread. Raises `NotFound`."""
    row = connection.execute(_SELECT, {"run_id": run_id}).one_or_none()
    if row is None or row.thread_id != thread_id:
        raise NotFound(f"Run {run_id} not found")
    return _to_run(row)


def list_runs(
    connection: Connection, thread_id: str, *, status: str | None, limit: int, offset: int
) -> RowPage:
    """Return one page of a thread's runs, newest first. Raises `NotFound` for the thread."""
    thread_rows.get_thread(connection, thread_id)
    condition = (runs.c.thread_id == thread_id) & (runs.c.status == status if status else true())
    query = RowQuery(limit=limit, offset=offset, sort_by="order")
    return select_page(connection, runs, condition, query, _to_run)


def find_next_run(connection: Connection, thread_id: str, after: int, *, logged: bool) -> Run | None:
    """Return the first run after `after`, in creation order, that has started or ended and has events.

    With `logged`, only a run with a log.
    """
    active = runs.c.status.in_([str(status) for status in INFLIGHT])
    has_events = (runs.c.keeps_log & active) if logged else active
    row = connection.execute(
        select(runs)
        .where(
            runs.c.thread_id == thread_id,
            runs.c.order > after,
            (runs.c.attempt > 0) | ~active,
            has_events | (runs.c.log_events > 0),
        )
        .order_by(runs.c.order)
        .limit(1)
    ).one_or_none()
    return None if row is None else _to_run(row)


def find_last_order(connection: Connection, thread_id: str) -> int:
    """Return the order of a thread's latest run; 0 if it has none."""
    latest = select(func.coalesce(func.max(runs.c.order), 0)).where(runs.c.thread_id == thread_id)
    return int(connection.execute(latest).scalar_one())


def list_inflight_runs(connection: Connection, owner: str) -> Sequence[Run]:
    """Return the pending and running runs of a process, in creation order."""
    return [_to_run(row) for row in connection.execute(_SELECT_INFLIGHT, {"owner": owner})]


def list_unfinished(connection: Connection, thread_id: str | None) -> Sequence[Run]:
    """Return the pending and running runs of a thread or of all, whichever process executes them."""
    is_unfinished = runs.c.status.in_([str(status) for status in INFLIGHT])
    condition = is_unfinished if thread_id is None else is_unfinished & (runs.c.thread_id == thread_id)
    return [_to_run(row) for row in connection.execute(select(runs).where(condition).order_by(runs.c.order))]


_SPEC_DEFAULTS: Final = {item.name: item.default for item in fields(RunSpec) if item.name != "input"}


def spec_to_bytes(spec: RunSpec) -> bytes:
    """Serialize a spec for storage, omitting fields with default values."""
    stored = {"input": spec.input}
    for name, default in _SPEC_DEFAULTS.items():
        value = getattr(spec, name)
        if value not in (default, {}):
            stored[name] = value
    return dumps(stored)


def spec_from_bytes(data: bytes) -> RunSpec:
    raw = loads(data)
    for key in ("stream_mode", "interrupt_before", "interrupt_after", "feedback_keys"):
        if isinstance(raw.get(key), list):
            raw[key] = tuple(raw[key])
    return RunSpec(**raw)


def _to_run(row: Any) -> Run:
    return Run(
        run_id=row.run_id,
        thread_id=row.thread_id,
        assistant_id=row.assistant_id,
        status=RunStatus(row.status),
        # The column also contains the usage, which was added when the run finished.
        spec=replace(spec_from_bytes(row.spec), metadata=row.metadata),
        multitask_strategy=MultitaskStrategy(row.multitask_strategy),
        created_at=row.created_at,
        updated_at=row.updated_at,
        attempt=row.attempt,
        lost=row.lost,
        order=row.order,
        start_at=row.start_at,
        error=row.error,
        owner=row.owner or "",
        fence=row.fence,
    )


def _to_row(new: NewRun, *, owner: str, status: RunStatus, attempt: int, now: float) -> Json:
    return {
        "run_id": new.run_id,
        "thread_id": new.thread_id,
        "assistant_id": new.spec.assistant_id,
        "status": str(status),
        "metadata": new.spec.metadata,
        "spec": spec_to_bytes(new.spec),
        "multitask_strategy": str(new.multitask_strategy),
        "attempt": attempt,
        "lost": 0,
        "start_at": new.start_at,
        "idempotency_scope": new.idempotency_scope,
        "idempotency_key": new.idempotency_key,
        "error": None,
        "log_events": 0,
        "keeps_log": new.spec.stream_resumable,
        "created_at": now,
        "updated_at": now,
        "owner": owner,
        "fence": FIRST_FENCE,
        "stop": None,
    }
