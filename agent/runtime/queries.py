"""Reads of the store, and assistants: plain functions over a `Connection`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, true

from agent.errors import NotFound
from agent.runtime import statements as sql
from agent.runtime.domain import Assistant, Json, Page, Run
from agent.runtime.ids import EventId
from agent.runtime.rows import assistant_from, run_from, thread_from
from agent.runtime.schema import assistants, runs, threads
from agent.runtime.transactions import require_thread


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """What a thread search asks for."""

    metadata: Json | None = None
    values: Json | None = None
    status: str | None = None
    ids: list[str] | None = None
    limit: int = 10
    offset: int = 0
    sort_by: str = "created_at"
    descending: bool = True


def search_threads(connection: Connection, query: ThreadQuery) -> Page:
    """One page of threads and the total."""
    where = _thread_condition(query)
    column = threads.c[query.sort_by]
    order = [column.desc() if query.descending else column.asc(), threads.c.thread_id]
    rows = connection.execute(sql.page_of(threads, where, order, limit=query.limit, offset=query.offset))
    found = tuple(thread_from(row) for row in rows)
    return Page(found, connection.execute(sql.count_of(threads, where)).scalar_one())


def count_threads(connection: Connection, query: ThreadQuery) -> int:
    """How many threads fit."""
    return int(connection.execute(sql.count_of(threads, _thread_condition(query))).scalar_one())


def _thread_condition(query: ThreadQuery) -> Any:
    return sql.find_threads(metadata=query.metadata, status=query.status, ids=query.ids, values=query.values)


def get_run(connection: Connection, thread_id: str, run_id: str) -> Run:
    """One run of a thread. Raises `NotFound`."""
    row = connection.execute(sql.RUN, {"run_id": run_id}).one_or_none()
    if row is None or row.thread_id != thread_id:
        raise NotFound(f"Run {run_id} not found")
    return run_from(row)


def list_runs(connection: Connection, thread_id: str, *, status: str | None, limit: int, offset: int) -> Page:
    """One page of a thread's runs, newest first. Raises `NotFound` for the thread."""
    require_thread(connection, thread_id)
    where = (runs.c.thread_id == thread_id) & (runs.c.status == status if status else true())
    rows = connection.execute(sql.page_of(runs, where, [runs.c.order.desc()], limit=limit, offset=offset))
    found = tuple(run_from(row) for row in rows)
    return Page(found, connection.execute(sql.count_of(runs, where)).scalar_one())


def inflight_runs(connection: Connection) -> Sequence[Run]:
    """Pending and running ones, in creation order."""
    return [run_from(row) for row in connection.execute(sql.INFLIGHT_OF_ALL)]


def has_event(connection: Connection, run_id: str, event_id: EventId) -> bool:
    """Whether the log still holds this event."""
    values = (run_id, event_id.attempt, event_id.seq, event_id.seq)
    return connection.exec_driver_sql(sql.HAS_EVENT, values).first() is not None


def get_assistant(connection: Connection, assistant_id: str) -> Assistant | None:
    """One stored assistant."""
    row = connection.execute(sql.ASSISTANT, {"assistant_id": assistant_id}).one_or_none()
    return None if row is None else assistant_from(row)


def put_assistant(connection: Connection, assistant: Assistant) -> None:
    """Store or replace an assistant."""
    values = {name: getattr(assistant, name) for name in Assistant.__slots__}
    statement = sql.PUT_ASSISTANT.values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=["assistant_id"], set_=values))


def delete_assistant(connection: Connection, assistant_id: str) -> None:
    """Drop an assistant. Raises `NotFound`."""
    if connection.execute(sql.DELETE_ASSISTANT, {"assistant_id": assistant_id}).rowcount == 0:
        raise NotFound(f"Assistant {assistant_id} not found")


def list_assistants(connection: Connection) -> Sequence[Assistant]:
    """All stored assistants, newest first."""
    rows = connection.execute(select(assistants).order_by(assistants.c.created_at.desc()))
    return [assistant_from(row) for row in rows]
