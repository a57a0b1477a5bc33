"""Who takes turns: exactly one person at any time, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.config.oncall import Rota
from bot.features.oncall.plan import AHEAD, Plan, to_instant
from bot.features.oncall.rota import find_shift, plan_rota

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour
    "Africa/Casablanca",  # back for a month of each year
    "Pacific/Apia",  # without 30 December 2011
    "America/Santiago",  # at midnight
)
NAMES = ("Ada", "Bo", "Cy", "Di")
MOMENTS = some.datetimes(datetime(2008, 1, 1), datetime(2030, 12, 31))
CHANGES = some.builds(
    lambda day, minutes: day + timedelta(minutes=minutes),
    some.sampled_from(
        [
            datetime(2011, 12, 30),
            datetime(2026, 3, 29),
            datetime(2026, 10, 25),
            datetime(2026, 3, 8),
            datetime(2026, 11, 1),
            datetime(2026, 4, 5),
            datetime(2026, 9, 6),
            datetime(2026, 2, 15),
        ]
    ),
    some.integers(-3_000, 3_000),
)


def rota(**values: Any) -> Rota:
    return Rota.model_validate({"people": ["Ada", "Bo", "Cy"], "start": "2026-01-05 09:00", **values})


def holder(plan: Plan, at: float) -> str:
    found = plan.find_periods(at)
    assert found is not None
    (one,) = found[1].holders
    return one.name


def moment(text: str, zone: str = "Europe/Berlin") -> float:
    return to_instant(datetime.fromisoformat(text), ZoneInfo(zone))


def slow_holder(config: Rota, zone: ZoneInfo, at: float) -> str:
    """The person of the last handover that has been, of all in the two years around; exceptions before."""
    for one in reversed(config.overrides):
        begin, end = (to_instant(datetime.fromisoformat(text), zone) for text in (one.start, one.end))
        if begin <= at < end:
            return one.person
    length = timedelta(hours=config.hours) if config.hours else timedelta(days=config.days)
    start = datetime.fromisoformat(config.start)
    near = int((datetime.fromtimestamp(at, UTC).replace(tzinfo=None) - start) / length)
    reach = int(timedelta(days=380) / length) + 2
    begun = [
        number
        for number in range(near - reach, near + reach)
        if (start + number * length).replace(tzinfo=zone).timestamp() <= at
    ]
    return config.people[max(begun) % len(config.people)]


@given(
    zone=some.sampled_from(ZONES),
    people=some.integers(1, 4),
    start=MOMENTS | CHANGES,
    length=some.sampled_from([("hours", n) for n in (5, 8, 12, 24)] + [("days", n) for n in (1, 7, 14, 100)]),
    exceptions=some.lists(some.tuples(CHANGES, some.integers(1, 200)), max_size=3),
    now=MOMENTS | CHANGES,
    seconds=some.integers(0, int(AHEAD) - 1),
)
def test_exactly_one_person_as_a_slow_reference_finds(
    zone: str,
    people: int,
    start: datetime,
    length: tuple[str, int],
    exceptions: list[tuple[datetime, int]],
    now: datetime,
    seconds: int,
) -> None:
    overrides = [
        {"person": NAMES[hours % 4], "start": str(begin), "end": str(begin + timedelta(hours=hours))}
        for begin, hours in exceptions
    ]
    config = rota(
        people=NAMES[:people], start=start.isoformat(), overrides=overrides, **{length[0]: length[1]}
    )
    place, at = ZoneInfo(zone), now.replace(tzinfo=UTC).timestamp()
    plan = plan_rota(config, place, at)
    for time in (at, at + seconds):
        assert holder(plan, time) == slow_holder(config, place, time)
    assert all(len(one.holders) == 1 for one in plan.periods)
    edges = [(one.end, other.start) for one, other in zip(plan.periods, plan.periods[1:], strict=False)]
    assert all(end == begin for end, begin in edges)


def test_a_week_is_a_week_of_the_clock_on_the_wall() -> None:
    plan = plan_rota(rota(), ZoneInfo("Europe/Berlin"), moment("2026-03-25 12:00"))
    handover = moment("2026-03-30 09:00")
    assert handover - moment("2026-03-23 09:00") == (7 * 24 - 1) * 3600
    assert [holder(plan, handover + seconds) for seconds in (-1, 0)] == ["Cy", "Ada"]


@pytest.mark.parametrize(("at", "name"), [("2026-01-05 08:59", "Cy"), ("2026-01-05 09:00", "Ada")])
def test_the_order_goes_back_before_the_start(at: str, name: str) -> None:
    plan = plan_rota(rota(), ZoneInfo("Europe/Berlin"), moment("2026-01-05 08:00"))
    assert holder(plan, moment(at)) == name


def test_of_overlapping_exceptions_the_last_takes_effect() -> None:
    config = rota(
        overrides=[
            {"person": "Bo", "start": "2026-01-06 00:00", "end": "2026-01-09 00:00"},
            {"person": "Cy", "start": "2026-01-07 00:00", "end": "2026-01-08 00:00"},
        ]
    )
    plan = plan_rota(config, ZoneInfo("Europe/Berlin"), moment("2026-01-05 10:00"))
    days = [holder(plan, moment(f"2026-01-{day:02} 12:00")) for day in range(5, 11)]
    assert days == ["Ada", "Bo", "Cy", "Bo", "Ada", "Ada"]


def test_a_shift_in_the_lost_hour_has_no_length() -> None:
    config = rota(start="2026-03-29 00:30", hours=1)
    zone = ZoneInfo("Europe/Berlin")
    numbers = [find_shift(config, zone, moment(f"2026-03-29 {time}")) for time in ("01:45", "03:00", "03:30")]
    assert numbers == [1, 1, 3], "at 02:30, which did not exist, nobody begins"


def test_long_shifts_show_the_next_handover() -> None:
    plan = plan_rota(rota(days=366), ZoneInfo("UTC"), moment("2026-02-01 00:00"))
    found = plan.find_periods(moment("2026-02-01 00:00"))
    assert found is not None
    assert [one.holders[0].name for one in found[1:]] == ["Ada", "Bo"]
    assert found[1].end == moment("2027-01-06 09:00", "UTC")


def test_one_person_has_no_end() -> None:
    plan = plan_rota(rota(people="Ada"), ZoneInfo("UTC"), 0.0)
    assert len(plan.periods) == 1
