"""Descriptions of rules and questions in words. A described rule parses to the same rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.features.schedules.dates import SHORT_MONTH
from bot.features.schedules.parse_when import TimeQuestion
from bot.features.schedules.rule import LAST_DAY, WORKDAYS, Pattern, Recurrence
from bot.features.schedules.wall_clock import to_timestamp
from bot.texts import Texts

MAX_TIMES_LISTED = 6
_DAY = 24 * 60
_WEEKEND, _QUARTERS = (0, 6), (1, 4, 7, 10)
_EVERY_DAY = Pattern("", (), ())


class ScheduleUnclear(ScheduleRefused):
    """A time has several meanings; `zone` is the time zone used."""

    def __init__(self, question: TimeQuestion, zone: ZoneInfo) -> None:
        super().__init__("unclear", words=question.words)
        self.question = question
        self.zone = zone


def describe_refusal(texts: Texts, refused: ScheduleRefused) -> str:
    """Return why a schedule was refused, or the question about its time."""
    if isinstance(refused, ScheduleUnclear):
        return describe_question(texts, refused.question, refused.zone)
    return texts(refused.key, **refused.values)


def describe_question(texts: Texts, question: TimeQuestion, zone: ZoneInfo) -> str:
    """Return a question as Markdown, with its options as a list."""
    asked = [texts(doubt.key, **doubt.values) for doubt in question.doubts]
    space = "" if texts.locale == "zh" else " "
    options = [f"- `{describe_rule(texts, one, zone)}`" for one in question.options]
    if options:
        asked.append(texts("unclear_options" if len(options) > 1 else "unclear_option"))
    return "\n".join([space.join(asked), *([""] if options else []), *options])


def describe_rule(texts: Texts, rule: Recurrence, zone: ZoneInfo) -> str:
    """Return a rule in words, or in stored form if it can't be expressed."""
    if not rule.patterns:
        return _describe_once(texts, rule, zone)
    # The days of a pattern are the remainder without its times.
    days = {replace(one, text="", minutes=(), hours=()) for one in rule.patterns}
    only = days.pop()
    if days:
        return rule.to_text
    times = sorted(
        {hour * 60 + minute for one in rule.patterns for hour in one.hours for minute in one.minutes}
    )
    step = _step(times)
    of_days = _describe_days(texts, only)
    of_times = _describe_steps(texts, times, step) if step else _describe_times(texts, times)
    if of_days is None or of_times is None:
        return rule.to_text
    if step and only == _EVERY_DAY:
        return of_times
    words = texts("when_joined", days=of_days, times=of_times)
    if only.start:
        words = texts("when_from", rule=words, date=f"{only.start:%Y-%m-%d}")
    return texts("when_until", rule=words, date=f"{only.until:%Y-%m-%d}") if only.until else words


def _describe_once(texts: Texts, rule: Recurrence, zone: ZoneInfo) -> str:
    at = datetime.fromtimestamp(rule.at, zone)
    day = texts("weekdays").split()[at.weekday()]
    clock = f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
    if at.second or to_timestamp(at.replace(tzinfo=None), zone) != rule.at:
        # A second, or an hour that clocks show twice, has no words.
        return f"{datetime.fromtimestamp(rule.at, UTC):%Y-%m-%d %H:%M} UTC"
    return texts("when_once", date=f"{at:%Y-%m-%d}", day=day, time=clock)


def _describe_days(texts: Texts, days: Pattern) -> str | None:
    """Return a pattern's days in words, or None if they can't be expressed."""
    if days.monthdays and not days.weekdays:
        return _describe_month_days(texts, days)
    if days.positions and not days.months:
        return _describe_positions(texts, days)
    if days.monthdays or days.months:
        return None
    if days.interval > 1:
        key = "when_every_weeks" if days.weekdays else "when_every_days"
        return texts(key, n=days.interval, days=_weekdays(texts, days.weekdays))
    if len(days.weekdays) in {0, 7}:
        return texts("when_daily")
    key = {WORKDAYS: "when_workdays", _WEEKEND: "when_weekends"}.get(days.weekdays, "when_weekly")
    return texts(key, days=_weekdays(texts, days.weekdays))


def _describe_month_days(texts: Texts, days: Pattern) -> str | None:
    names, months = texts("monthdays").split(), texts("months").split()
    separator = texts("list_separator")
    latest = max(days.monthdays)
    if latest == LAST_DAY:
        listed = texts("when_last_day")
    elif LAST_DAY in days.monthdays or (latest > SHORT_MONTH and len(days.months) != 1):
        # Days that not every month has are asked about when they are read.
        return None
    else:
        listed = separator.join(names[one - 1] for one in days.monthdays)
    if not days.months:
        return texts("when_month_end") if latest == LAST_DAY else texts("when_monthly", days=listed)
    if days.monthdays == (1,) and days.months == _QUARTERS:
        return texts("when_quarterly")
    return texts("when_yearly", days=listed, months=separator.join(months[one - 1] for one in days.months))


def _describe_positions(texts: Texts, days: Pattern) -> str | None:
    names = texts("positions").split()
    positions = texts("list_separator").join(names[one - 1 if one > 0 else one] for one in days.positions)
    if days.together:
        return texts("when_nth", nth=positions, days=texts("workday")) if days.weekdays == WORKDAYS else None
    if len(days.weekdays) > 1:
        return None
    return texts("when_nth", nth=positions, days=_weekdays(texts, days.weekdays))


def _weekdays(texts: Texts, weekdays: Sequence[int]) -> str:
    names = texts("weekday_names").split()
    # Names start with Monday, numbers with Sunday.
    return texts("list_separator").join(names[one - 1] for one in sorted(weekdays, key=lambda one: one or 7))


def _step(times: Sequence[int]) -> int:
    """Return the step of times that are better described as an interval, or 0 for a list of times."""
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
