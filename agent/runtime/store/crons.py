"""Transactions and queries for crons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select, update

from agent.errors import NotFound
from agent.runtime.access import Filter
from agent.runtime.domain import Cron, RowPage
from agent.runtime.store.database import RowQuery, count_rows, select_page
from agent.runtime.store.json_conditions import access_conditions, json_contains
from agent.runtime.store.schema import crons, threads
from agent.runtime.store.statements import insert_into
from agent.runtime.store.threads import get_thread

# Crons that still start runs.
_ACTIVE: Final = crons.c.enabled & (crons.c.end_time.is_(None) | (crons.c.next_run_at <= crons.c.end_time))


@dataclass(frozen=True, slots=True)
class CronQuery(RowQuery):
    """Filters, sort order and page for a cron search."""

    assistant_id: str | None = None
    thread_id: str | None = None
    enabled: bool | None = None
    threads_wanted: Filter | None = None
    """Filter for the threads of crons."""


def put_cron(connection: Connection, cron: Cron) -> None:
    """Store or replace a cron. Raises `NotFound` for its thread."""
    if cron.thread_id is not None:
        get_thread(connection, cron.thread_id)
    values = {name: getattr(cron, name) for name in Cron.__slots__}
    statement = insert_into(connection, crons).values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=["cron_id"], set_=values))


def get_cron(connection: Connection, cron_id: str) -> Cron:
    """Return a cron. Raises `NotFound`."""
    row = connection.execute(select(crons).where(crons.c.cron_id == cron_id)).one_or_none()
    if row is None:
        raise NotFound(f"Cron {cron_id} not found")
    return _to_cron(row)


def delete_cron(connection: Connection, cron_id: str) -> None:
    """Delete a cron. Raises `NotFound`."""
    if connection.execute(delete(crons).where(crons.c.cron_id == cron_id)).rowcount == 0:
        raise NotFound(f"Cron {cron_id} not found")


def search_crons(connection: Connection, query: CronQuery) -> RowPage:
    """Return one page of the matching crons and their total number."""
    return select_page(connection, crons, _search_condition(connection, query), query, _to_cron)


def count_crons(connection: Connection, query: CronQuery) -> int:
    return count_rows(connection, crons, _search_condition(connection, query))


def list_due(connection: Connection, *, now: float, limit: int) -> Sequence[Cron]:
    """Return crons whose next run is due, the earliest first."""
    statement = select(crons).where(_ACTIVE, crons.c.next_run_at <= now)
    rows = connection.execute(statement.order_by(crons.c.next_run_at).limit(limit))
    return [_to_cron(row) for row in rows]


def find_next_time(connection: Connection) -> float | None:
    """Return when the next run of any cron is due."""
    found: float | None = connection.execute(
        select(func.min(crons.c.next_run_at)).where(_ACTIVE)
    ).scalar_one()
    return found


def set_next_time(connection: Connection, cron: Cron, next_run_at: float) -> None:
    """Set when a cron's next run is due, unless the cron was changed meanwhile."""
    connection.execute(update(crons).where(_is_unchanged(cron)).values(next_run_at=next_run_at))


def disable_cron(connection: Connection, cron: Cron) -> None:
    """Disable a cron whose schedule has no further time, unless the cron was changed meanwhile."""
    connection.execute(update(crons).where(_is_unchanged(cron)).values(enabled=False))


def _is_unchanged(cron: Cron) -> ColumnElement[bool]:
    return and_(crons.c.cron_id == cron.cron_id, crons.c.next_run_at == cron.next_run_at)


def _search_condition(connection: Connection, query: CronQuery) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [crons.c.cron_id != ""]
    for name in ("assistant_id", "thread_id", "enabled"):
        if (value := getattr(query, name)) is not None:
            conditions.append(crons.c[name] == value)
    if query.metadata:
        conditions += json_contains(connection, crons.c.metadata, query.metadata)
    conditions += access_conditions(connection, crons.c.metadata, query.wanted)
    if query.threads_wanted:
        allowed = select(threads.c.thread_id).where(
            *access_conditions(connection, threads.c.metadata, query.threads_wanted)
        )
        conditions.append(crons.c.thread_id.is_(None) | crons.c.thread_id.in_(allowed))
    return and_(*conditions)


def _to_cron(row: Any) -> Cron:
    return Cron(**{name: row._mapping[name] for name in Cron.__slots__})
