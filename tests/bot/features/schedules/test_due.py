"""What is done about a schedule that is due, also after the service was away or the clock was set."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.features.schedules.upcoming import PlannedRun, next_runs, plan_due

UTC = ZoneInfo("UTC")
HOUR, DAY = 3600.0, 86_400.0
DAILY, HOURLY = parse_recurrence("0 9 * * *"), parse_recurrence("0 * * * *")
NINE = 9 * HOUR


@pytest.mark.parametrize(
    ("rule", "now", "expected"),
    [
        (DAILY, NINE, PlannedRun(NINE, NINE + DAY, 0, late=False)),
        (DAILY, NINE + 6 * HOUR, PlannedRun(NINE, NINE + DAY, 0, late=False)),
        (DAILY, NINE + 7 * HOUR, PlannedRun(NINE, NINE + DAY, 0, late=True)),
        (DAILY, NINE + 30 * HOUR, PlannedRun(NINE + DAY, NINE + 2 * DAY, 1, late=False)),
        (DAILY, NINE + 3 * DAY + 8 * HOUR, PlannedRun(NINE + 3 * DAY, NINE + 4 * DAY, 3, late=True)),
        (HOURLY, NINE + 30 * HOUR, PlannedRun(NINE + 30 * HOUR, NINE + 31 * HOUR, 30, late=False)),
        (Recurrence(at=NINE), NINE + 1, PlannedRun(NINE, 0.0, 0, late=False)),
        (Recurrence(at=NINE), NINE + 30 * HOUR, PlannedRun(NINE, 0.0, 0, late=True)),
    ],
)
def test_what_is_made_up_for(rule: Recurrence, now: float, expected: PlannedRun) -> None:
    assert plan_due(rule, UTC, NINE, now, 6 * HOUR) == expected


def test_years_away_end() -> None:
    found = plan_due(parse_recurrence("* * * * *"), UTC, 60.0, 20_000 * 60.0 + 1, HOUR)
    assert found.missed == 1000
    assert found.following == 20_001 * 60.0


@pytest.mark.parametrize("rule", ["*/5 * * * *", "*/5 * * * * | 0 9 1 1 *"])
def test_the_latest_run_is_due_after_more_than_are_counted(rule: str) -> None:
    away = 4 * DAY + 60.0
    found = plan_due(parse_recurrence(rule), UTC, NINE, NINE + away, 6 * HOUR)
    assert found == PlannedRun(NINE + 4 * DAY, NINE + 4 * DAY + 300.0, 1000, late=False)


def test_the_latest_run_is_due_if_it_is_late_too() -> None:
    found = plan_due(parse_recurrence("* 0-16 1 1 *"), UTC, 0.0, 30 * DAY, HOUR)
    assert found == PlannedRun(17 * HOUR - 60.0, 365 * DAY, 1000, late=True)


def test_what_comes_next() -> None:
    assert next_runs(DAILY, UTC, NINE, 3) == [NINE + DAY, NINE + 2 * DAY, NINE + 3 * DAY]
    assert next_runs(Recurrence(at=NINE), UTC, 0.0, 5) == [NINE]
