"""Every SQL statement of the runtime's store, named. Rows become domain objects in `rows.py`."""

from __future__ import annotations

from typing import Any, Final

import orjson
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Float,
    LargeBinary,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from agent.runtime.domain import INFLIGHT, Json
from agent.runtime.schema import JsonText, assistants, events, runs, threads
from agent.runtime.sqlite import Prepared, inserting

_inflight = runs.c.status.in_([str(status) for status in INFLIGHT])

THREAD: Final = select(threads).where(threads.c.thread_id == bindparam("thread_id"))
THREAD_METADATA: Final = "SELECT metadata FROM threads WHERE thread_id = ?"
ADD_THREAD: Final = inserting(threads)
DELETE_THREAD: Final = "DELETE FROM threads WHERE thread_id = ?"
DELETE_THREAD_EVENTS: Final = (
    "DELETE FROM events WHERE run_id IN (SELECT run_id FROM runs WHERE thread_id = ?)"
)
DELETE_THREAD_RUNS: Final = "DELETE FROM runs WHERE thread_id = ?"
SET_THREAD_BUSY: Final = Prepared(
    update(threads)
    .where(threads.c.thread_id == bindparam("b_thread_id"))
    .values(status="busy", updated_at=bindparam("b_now"), metadata=bindparam("b_metadata"))
)
SETTLE_THREAD: Final = Prepared(
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
SET_THREAD: Final = update(threads).where(threads.c.thread_id == bindparam("b_thread_id"))

RUN: Final = select(runs).where(runs.c.run_id == bindparam("run_id"))
RUN_ID_BY_KEY: Final = "SELECT run_id FROM runs WHERE idempotency_scope = ? AND idempotency_key = ?"
ADD_RUN: Final = inserting(runs, without="order")
DELETE_RUN: Final = delete(runs).where(runs.c.run_id == bindparam("run_id"))
INFLIGHT_OF_THREAD: Final = (
    "SELECT run_id, status FROM runs "
    "WHERE thread_id = ? AND status IN ('pending', 'running') ORDER BY runs.\"order\""
)
INFLIGHT_OF_ALL: Final = select(runs).where(_inflight).order_by(runs.c.order)
START_RUN: Final = Prepared(
    update(runs)
    .where(
        runs.c.run_id == bindparam("b_run_id"), (runs.c.status == "pending") | (runs.c.status == "running")
    )
    .values(
        status="running",
        attempt=bindparam("b_attempt"),
        lost=bindparam("b_lost"),
        updated_at=bindparam("b_now"),
    )
)
PAUSE_RUN: Final = update(runs).where(runs.c.run_id == bindparam("b_run_id")).values(lost=runs.c.lost - 1)
SET_RUN_USAGE: Final = "UPDATE runs SET metadata = json_set(metadata, '$.usage', json(?)) WHERE run_id = ?"
SET_THREAD_USAGE: Final = (
    "UPDATE threads SET metadata = json_set(metadata, '$.usage', json(?)) WHERE thread_id = ?"
)
FINISH_RUN: Final = Prepared(
    update(runs)
    .where(runs.c.run_id == bindparam("b_run_id"))
    .values(
        status=bindparam("b_status"),
        error=bindparam("b_error"),
        updated_at=bindparam("b_now"),
        log_events=bindparam("b_log_events"),
    )
)

# The hot path of streaming: plain driver SQL, one row for each flushed chunk of frames.
ADD_EVENTS: Final = 'INSERT INTO events (run_id, attempt, "last", "first", body) VALUES (?, ?, ?, ?, ?)'
READ_EVENTS: Final = (
    'SELECT attempt, "first", "last", body FROM events WHERE run_id = ? AND (attempt, "last") > (?, ?) '
    'ORDER BY attempt, "last" LIMIT ?'
)
HAS_EVENT: Final = (
    'SELECT 1 FROM events WHERE run_id = ? AND attempt = ? AND "first" <= ? AND "last" >= ? LIMIT 1'
)
COUNT_EVENTS: Final = 'SELECT COALESCE(SUM("last" - "first" + 1), 0) FROM events WHERE run_id = ?'
DELETE_EVENTS: Final = delete(events).where(events.c.run_id == bindparam("run_id"))
OLD_LOGS: Final = (
    select(runs.c.run_id)
    .where(runs.c.log_events > 0, runs.c.updated_at < bindparam("before"), ~_inflight)
    .limit(200)
)
LOG_TOTAL: Final = select(func.coalesce(func.sum(runs.c.log_events), 0)).where(
    runs.c.log_events > 0, ~_inflight
)
OLDEST_LOGS: Final = (
    select(runs.c.run_id, runs.c.log_events)
    .where(runs.c.log_events > 0, ~_inflight)
    .order_by(runs.c.updated_at)
    .limit(200)
)
FORGET_LOG: Final = update(runs).where(runs.c.run_id == bindparam("b_run_id")).values(log_events=0)

ASSISTANT: Final = select(assistants).where(assistants.c.assistant_id == bindparam("assistant_id"))
PUT_ASSISTANT: Final = upsert(assistants)
DELETE_ASSISTANT: Final = delete(assistants).where(assistants.c.assistant_id == bindparam("assistant_id"))


def contains(column: Any, wanted: Json, path: str = "$") -> list[ColumnElement[bool]]:
    """Conditions for: the JSON object in `column` contains `wanted` (a list only as a whole)."""
    found: list[ColumnElement[bool]] = []
    for key, value in wanted.items():
        if '"' in key or "\\" in key:
            found.append(text("0"))  # type: ignore[arg-type]
            continue
        at = f'{path}."{key}"'
        if isinstance(value, dict):
            found.extend(contains(column, value, at))
        elif isinstance(value, list):
            found.append(func.json_extract(column, at) == func.json(orjson.dumps(value).decode()))
        elif value is None:
            found.append(func.json_type(column, at) == "null")
        elif isinstance(value, bool):
            found.append(func.json_type(column, at) == ("true" if value else "false"))
        else:
            found.append(func.json_extract(column, at) == value)
    return found


def find_threads(
    *, metadata: Json | None, status: str | None, ids: list[str] | None, values: Json | None
) -> ColumnElement[bool]:
    """The condition of a thread search."""
    conditions: list[ColumnElement[bool]] = [threads.c.thread_id != ""]
    if metadata:
        conditions += contains(threads.c.metadata, metadata)
    if status:
        conditions.append(threads.c.status == status)
    if ids is not None:
        conditions.append(threads.c.thread_id.in_(ids))
    if values:
        conditions += contains(cast(threads.c["values"], Text), values)
    return and_(*conditions)


def page_of(
    table: Any, condition: ColumnElement[bool], order: Any, *, limit: int, offset: int
) -> Select[Any]:
    """One page of a list."""
    return select(table).where(condition).order_by(*order).limit(limit).offset(offset)


def count_of(table: Any, condition: ColumnElement[bool]) -> Select[Any]:
    """How many rows fit."""
    return select(func.count()).select_from(table).where(condition)
