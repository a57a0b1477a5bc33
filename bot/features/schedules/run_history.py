"""Stored runs of schedules, for display and reports."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bot.store.connection import NEWEST, Connection, decode_fields, on_accounts, sql
from bot.turn import TurnState

DELIVERED_PARTS = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND p.state = 'final' AND p.platform_id <> '')"
)
LOST_PARTS = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND p.state = 'undelivered' AND p.category <> '')"
)
FAILURE_CATEGORY = "(SELECT MIN(p.category) FROM parts p WHERE p.turn_id = t.id AND p.category <> '')"
RUN_COLUMNS = (
    "f.id, f.schedule_id, f.due_at, f.at, f.attempt, f.missed, f.skipped, f.retry_at, f.turn_id, t.state,"
    f" t.error, {DELIVERED_PARTS} AS delivered, {LOST_PARTS} AS lost, {FAILURE_CATEGORY} AS category"
)
# List the runs of a schedule, newest first.
LIST_RUNS = sql(
    f"""SELECT {RUN_COLUMNS} FROM firings f LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0
    WHERE f.schedule_id = :schedule AND f.id < :before ORDER BY f.id DESC LIMIT :limit"""
)
# List runs due in a period: of a person's schedules and all schedules on some accounts, or of everyone's.
LIST_RUNS_BETWEEN = sql(
    f"""SELECT {RUN_COLUMNS} FROM firings f LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0
    WHERE f.due_at >= :begin AND f.due_at < :end AND (:all = 1 OR f.schedule_id IN (SELECT id FROM schedules
    WHERE account IN :accounts OR person = :person)) ORDER BY f.due_at, f.id LIMIT :limit""",
    "accounts",
)


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """A stored run. `state` is its turn's (None: no turn), `delivered`: the platform has confirmed all its
    messages, `problem`: the error ("" if none).
    """

    id: int
    schedule: int
    due_at: float
    at: float
    attempt: int
    missed: int
    skipped: str
    retry_at: float
    turn: int
    state: TurnState | None
    delivered: bool
    problem: str


def find_problem(row: Any) -> str:
    """Return a run's error, or "" if there is none."""
    if row.state is None or row.state == TurnState.DONE.value:
        return str(row.category or "")
    return str(row.category or row.error or row.state)


def decode_scheduled_run(row: Any) -> ScheduledRun:
    """Decode a run row."""
    state = TurnState(row.state) if row.state else None
    return decode_fields(
        ScheduledRun,
        row,
        schedule=row.schedule_id,
        turn=row.turn_id,
        state=state,
        delivered=row.delivered > 0 and row.lost == 0 and state is TurnState.DONE,
        problem=find_problem(row),
    )


def list_scheduled_runs(
    connection: Connection, schedule: int, before: int = NEWEST, limit: int = 50
) -> list[ScheduledRun]:
    """Return the runs of a schedule, newest first."""
    given = {"schedule": schedule, "before": before, "limit": limit}
    return [decode_scheduled_run(row) for row in connection.execute(LIST_RUNS, given).all()]


def list_runs_between(
    connection: Connection,
    begin: float,
    end: float,
    limit: int,
    person: str = "",
    accounts: Collection[str] = (),
) -> list[ScheduledRun]:
    """Return runs due from `begin` until before `end`, by time; of all people, or of one person and of
    everyone on `accounts`.
    """
    reach = {"person": person, **on_accounts(frozenset(accounts) if person else None)}
    given = {"begin": begin, "end": end, "limit": limit, **reach}
    return [decode_scheduled_run(row) for row in connection.execute(LIST_RUNS_BETWEEN, given).all()]
