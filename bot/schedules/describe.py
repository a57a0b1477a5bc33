"""Describe rules and questions in words. A described rule parses to the same rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.schedules.calendar_rule import CalendarRule
from bot.schedules.parse_when import TimeQuestion
from bot.schedules.recurrence import Cron
from bot.schedules.wall_clock import Pattern, Recurrence, to_timestamp
from bot.texts import Texts

MAX_TIMES_LISTED = 6
_DAY = 24 * 60
_WORKDAYS, _WEEKEND = (1, 2, 3, 4, 5), (0, 6)
_QUARTERS = (1, 4, 7, 10)


class ScheduleUnclear(ScheduleRefused):
    """A time can be meant in several ways; `zone` is the time zone that it was read in."""

    def __init__(self, question: TimeQuestion, zone: ZoneInfo) -> None:
        super().__init__("unclear", words=question.words)
        self.question = question
        self.zone = zone


@dataclass(frozen=True, slots=True)
class _Days:
    """The days of a pattern, without its times; None for all days of a field."""

    weekdays: tuple[int, ...] | None
    monthdays: tuple[int, ...] | None = None
    months: tuple[int, ...] | None = None
    last_day: bool = False
    positions: tuple[int, ...] = ()
    together: bool = False
    every: int = 1
    unit: str = "DAILY"
    start: date | None = None


def describe_refusal(texts: Texts, refused: ScheduleRefused) -> str:
    """Return why a schedule was refused, or the question that its time leads to."""
    if isinstance(refused, ScheduleUnclear):
        return describe_question(texts, refused.question, refused.zone)
    return texts(refused.key, **refused.values)


def describe_question(texts: Texts, question: TimeQuestion, zone: ZoneInfo) -> str:
    """Return a question in Markdown, with its options as a list."""
    asked = [texts(doubt.key, **doubt.values) for doubt in question.doubts]
    space = "" if texts.locale == "zh" else " "
    options = [f"- `{describe_rule(texts, one, zone)}`" for one in question.options]
    if options:
        asked.append(texts("unclear_options" if len(options) > 1 else "unclear_option"))
    return "\n".join([space.join(asked), *([""] if options else []), *options])


def describe_rule(texts: Texts, rule: Recurrence, zone: ZoneInfo) -> str:
    """Return a rule in words; the stored form of one that has no words."""
    if not rule.patterns:
        return _describe_once(texts, rule, zone)
    split = [_split_pattern(one) for one in rule.patterns]
    days = {one for one, _ in split}
    only = days.pop()
    if days or only is None:
        return rule.to_text
    times = sorted({minute for _, minutes in split for minute in minutes})
    step = _step(times)
    of_days = _describe_days(texts, only)
    of_times = _describe_steps(texts, times, step) if step else _describe_times(texts, times)
    if of_days is None or of_times is None:
        return rule.to_text
    if step and only == _Days(None):
        return of_times
    found = texts("when_joined", days=of_days, times=of_times)
    return texts("when_from", rule=found, date=f"{only.start:%Y-%m-%d}") if only.start else found


def _describe_once(texts: Texts, rule: Recurrence, zone: ZoneInfo) -> str:
    at = datetime.fromtimestamp(rule.at, zone)
    day = texts("weekdays").split()[at.weekday()]
    clock = f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
    if at.second or to_timestamp(at.replace(tzinfo=None), zone) != rule.at:
        # A second, or an hour that clocks show twice, has no words.
        return f"{datetime.fromtimestamp(rule.at, UTC):%Y-%m-%d %H:%M} UTC"
    return texts("when_once", date=f"{at:%Y-%m-%d}", day=day, time=clock)


def _split_pattern(pattern: Pattern) -> tuple[_Days | None, list[int]]:
    """Return the days and times (minutes of the day) of a pattern; no days if they have no words."""
    minutes = [hour * 60 + minute for hour in pattern.hours for minute in pattern.minutes]
    if isinstance(pattern, CalendarRule):
        weekdays = pattern.weekdays or None
        return _Days(
            weekdays,
            positions=pattern.positions,
            together=pattern.together,
            every=pattern.interval,
            unit=pattern.frequency,
            start=pattern.start,
        ), minutes
    return _split_cron(pattern), minutes


def _split_cron(cron: Cron) -> _Days | None:
    months = None if len(cron.months) == 12 else cron.months
    has_monthdays = cron.days is not None or cron.last_day
    weekdays = None if cron.weekdays is not None and len(cron.weekdays) == 7 else cron.weekdays
    if (has_monthdays and cron.weekdays is not None) or (months and not has_monthdays):
        return None
    return _Days(weekdays, cron.days, months, cron.last_day)


def _describe_days(texts: Texts, days: _Days) -> str | None:
    if days.monthdays is not None or days.last_day:
        return _describe_month_days(texts, days)
    if days.unit == "MONTHLY":
        return None if days.start else _describe_positions(texts, days)
    if days.every > 1:
        key = "when_every_days" if days.weekdays is None else "when_every_weeks"
        return texts(key, n=days.every, days=_weekdays(texts, days.weekdays or ()))
    if days.weekdays is None:
        return texts("when_daily")
    if days.weekdays in {_WORKDAYS, _WEEKEND}:
        return texts("when_workdays" if days.weekdays == _WORKDAYS else "when_weekends")
    return texts("when_weekly", days=_weekdays(texts, days.weekdays))


def _describe_month_days(texts: Texts, days: _Days) -> str | None:
    names, months = texts("monthdays").split(), texts("months").split()
    separator = texts("list_separator")
    listed = "" if days.monthdays is None else separator.join(names[one - 1] for one in days.monthdays)
    if days.months is None:
        if days.last_day:
            return texts("when_month_end")
        # Days that not every month has are asked about when they are read.
        return None if max(days.monthdays or (0,)) > 28 else texts("when_monthly", days=listed)
    if days.monthdays == (1,) and days.months == _QUARTERS:
        return texts("when_quarterly")
    if max(days.monthdays or (0,)) > 28 and len(days.months) > 1:
        return None
    listed = texts("when_last_day") if days.last_day else listed
    return texts("when_yearly", days=listed, months=separator.join(months[one - 1] for one in days.months))


def _describe_positions(texts: Texts, days: _Days) -> str | None:
    names = texts("positions").split()
    positions = texts("list_separator").join(names[one - 1 if one > 0 else one] for one in days.positions)
    weekdays = days.weekdays or ()
    if days.together:
        return texts("when_nth", nth=positions, days=texts("workday")) if weekdays == _WORKDAYS else None
    return texts("when_nth", nth=positions, days=_weekdays(texts, weekdays)) if len(weekdays) == 1 else None


def _weekdays(texts: Texts, weekdays: Sequence[int]) -> str:
    names = texts("weekday_names").split()
    # The names begin with Monday, the numbers with Sunday.
    return texts("list_separator").join(names[one - 1] for one in sorted(weekdays, key=lambda one: one or 7))


def _step(times: Sequence[int]) -> int:
    """Return the distance of times that are better described as an interval, 0 for a list of times."""
    steps = {later - sooner for sooner, later in pairwise(times)}
    step = steps.pop() if len(steps) == 1 else 0
    divides = step and (60 % step == 0 if step < 60 else step % 60 == 0 and 24 % (step // 60) == 0)
    long = len(times) > MAX_TIMES_LISTED or _is_whole_day(times, step)
    return step if divides and long and len(times) > 1 else 0


def _is_whole_day(times: Sequence[int], step: int) -> bool:
    return times[0] == 0 and times[-1] + step == _DAY


def _describe_steps(texts: Texts, times: Sequence[int], step: int) -> str:
    unit, count = ("hours", step // 60) if step % 60 == 0 else ("minutes", step)
    interval = texts(f"when_interval_{unit}", count=count)
    if _is_whole_day(times, step):
        return interval
    return texts("when_span", interval=interval, first=_clock(times[0]), last=_clock(times[-1]))


def _describe_times(texts: Texts, times: Sequence[int]) -> str | None:
    if len(times) > MAX_TIMES_LISTED:
        return None
    return texts("when_at", times=texts("list_separator").join(map(_clock, times)))


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
