"""Interpreting functions for parts of a phrase, shared by all languages' grammars.

The functions rely on the kinds of tokens alone, whose values are numbers (-1: the last), cron fields of
weekdays, and names of units.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise

from bot.errors import ScheduleRefused
from bot.features.schedules import dates
from bot.features.schedules.cron import WEEKDAYS
from bot.features.schedules.grammar import Interpret, Words
from bot.features.schedules.phrase import (
    ClockTime,
    DayPart,
    DayReading,
    Days,
    Interval,
    RepeatedDays,
    SingleDay,
    Start,
)

ORDINALS = ("ORDINAL", "POSITION")
COUNTS = ("NUMBER", "BIG", "SPOKEN")
_WEEKDAY = ("WEEKDAY", "WEEKDAYS")
_RANGE = ("TO", "DASH", "THROUGH")


def days(
    *readings: Days, question: str = "unclear_day", always: bool = False, part: DayPart | None = None
) -> DayReading:
    """Combine the possible meanings of days into one reading."""
    return DayReading(readings, question, always, part)


def repeat(asked: str = "", **fields: object) -> Interpret:
    """Return a function that reads fixed days; `asked` is a question about them."""
    reading = days(RepeatedDays(**fields), question=asked or "unclear_day", always=bool(asked))  # type: ignore[arg-type]
    return lambda words: replace(reading, part=words.first("PART"))


def refuse(key: str) -> Interpret:
    """Return a function that refuses the words, with a text that explains why."""

    def interpret(words: Words) -> object:
        raise ScheduleRefused(key, words=str(words), zone=str(words).strip("()"), time=str(words))

    return interpret


# Days that come again


def weekday_field(words: Words) -> str:
    """Return the cron field for the weekdays in the words."""
    found = ""
    for before, one in pairwise((None, *words.tokens)):
        if one is not None and one.kind in _WEEKDAY:
            joint = "-" if before is not None and before.kind in _RANGE else ","
            found += f"{joint if found else ''}{one.value}"
    return found


def read_weekdays(words: Words) -> DayReading:
    """Read weekdays. "Every", the plural and several weekdays mean every week; a single weekday may mean
    once.
    """
    field = weekday_field(words)
    weekly = RepeatedDays(weekdays=field)
    if words.has("EVERY", "WEEKLY", "WEEKDAYS") or field not in WEEKDAYS:
        return days(weekly)
    once = SingleDay(dates.coming_weekday(words.today, WEEKDAYS[field]))
    return days(once, weekly, question="unclear_repeat")


def read_nth(words: Words) -> DayReading:
    """Read "the first and third monday of the month"."""
    positions = tuple(words.all(*ORDINALS))
    if words.has("WORKDAY"):
        return days(RepeatedDays("1-5", unit="month", positions=positions, together=True))
    if not {*positions} <= {1, 2, 3, 4, -1}:
        raise ScheduleRefused("fifth_missing", words=str(words))
    nth = RepeatedDays(weekday_field(words), unit="month", positions=positions)
    # "The first monday" does not say of which month.
    return days(nth, question="unclear_month", always=not words.has("MONTHS", "MONTHLY", "AND"))


def read_every_nth_weekday(words: Words) -> DayReading:
    """Read "every other monday", or "every third monday", which may refer to the month."""
    count = words.first(*ORDINALS)
    if count in {1, -1}:
        return replace(read_nth(words), always=False)
    weekly = RepeatedDays(weekday_field(words), every=count or 2, unit="week")
    return days(
        weekly, *(read_nth(words).readings if count else ()), question="unclear_nth", always=bool(count)
    )


def read_month_days(words: Words) -> DayReading:
    """Read days of every month or quarter."""
    named = words.all(*ORDINALS, "NUMBER", "MONTHDAY")
    if not words.has("QUARTER"):
        return days(dates.every_month(named))
    if named in ([1], [-1]):
        months = "1,4,7,10" if named == [1] else "3,6,9,12"
        return days(replace(dates.every_month(named), months=months))
    return days(replace(dates.every_month(named), every=3))


def read_year_days(words: Words) -> DayReading:
    """Read days of certain months of every year."""
    return days(dates.every_year(words.all("MONTH"), words.all(*ORDINALS, "NUMBER", "MONTHDAY") or [-1]))


def read_every_few(words: Words) -> DayReading:
    """Read "every two weeks on monday"."""
    [counted, *on] = words.split("DAY", "WEEK", "MONTHS", "YEAR")
    named = counted.first(*ORDINALS, *COUNTS) or 1
    count = 2 if words.has("OTHER") or (words.has("SKIP") and named == 1) else named
    unit = words.first("DAY", "WEEK", "MONTHS", "YEAR")
    weekdays = weekday_field(words)
    monthdays = on[0].all(*ORDINALS, "NUMBER", "MONTHDAY") if on else []
    if unit == "fortnight":
        count, unit = 2 * count, "week"
    if unit == "year":
        raise ScheduleRefused("every_years", words=str(words))
    if (weekdays and unit != "week") or (monthdays and unit != "month"):
        raise ScheduleRefused("every_mixed", words=str(words))
    monthly = dates.every_month(monthdays).monthdays if monthdays else ""
    # 每隔一天 is every other day, 每隔两天 can be counted in two ways.
    counts = (count, count + 1) if words.has("SKIP") and named > 1 else (count,)
    found = [RepeatedDays(weekdays, monthly, every=one, unit=unit) for one in counts]
    return days(*found, question="unclear_skip", always=len(found) > 1)


def read_weeks(words: Words) -> DayReading:
    """Read "fortnightly on monday"; "biweekly" may mean twice a week, 双周 the even weeks of the year."""
    question = "unclear_even_weeks" if words.has("EVENWEEK") else "unclear_biweekly"
    every = RepeatedDays(weekday_field(words), every=2, unit="week")
    return days(every, question=question, always=words.has("BIWEEKLY", "EVENWEEK"))


def read_part(words: Words) -> DayPart:
    """Read a part of the day."""
    part: DayPart = words.first("PART")
    return part


def read_edge(words: Words) -> DayReading:
    """Read "the end of the month", which is not a precise day."""
    last = words.first("EDGE") in {-1, "end"}
    return days(dates.every_month([-1 if last else 1]), question="unclear_edge", always=True)


# Days that come once


def read_day(words: Words) -> DayReading:
    """Read "today", "tonight" or "tomorrow"."""
    ahead: int = words.first("TODAY") or 0
    part = words.first("PART") or (DayPart.EVENING if words.has("TONIGHT") else None)
    return DayReading((SingleDay((dates.days_ahead(words.today, ahead),), is_today=ahead == 0),), part=part)


def read_days_ahead(words: Words) -> DayReading:
    """Read "in three days"; without a time of day, at the current time."""
    if words.has("VAGUE"):
        raise ScheduleRefused("every_vague", words=str(words))
    if words.has("HALF", "DECIMAL", "MINUTE"):
        raise ScheduleRefused("duration_mixed", words=str(words))
    count = words.first(*COUNTS) or 1
    unit = words.first("DAY", "WEEK", "MONTHS", "YEAR")
    number = {"day": 1, "week": 7, "fortnight": 14}.get(unit, 0)
    months = {"month": 1, "year": 12}.get(unit, 0)
    on = dates.days_ahead(words.today, count * number, count * months)
    return days(SingleDay((on,), same_clock=True))


def read_weekend(words: Words) -> DayReading:
    """Read 周末 (weekend): one of its days, or both days every week."""
    weeks = words.first("OFWEEK")
    once = [SingleDay((dates.iso_weekday_of_week(words.today, day, weeks or 0),)) for day in (6, 0)]
    if weeks is not None:
        return days(*once, always=True)
    return days(*once, RepeatedDays("6,0"), question="unclear_repeat", always=True)


def read_named_weekday(words: Words) -> DayReading:
    """Read "next friday", "this friday" or "friday next week"."""
    return days(SingleDay(_find_weekday(words)))


def _find_weekday(words: Words) -> tuple[date, ...]:
    weekday = WEEKDAYS[words.first(*_WEEKDAY)]
    if words.has("WEEK", "OFWEEK"):
        return dates.weekday_of_week(words.today, weekday, words.first("NEXT", "OFWEEK"))
    if words.has("NEXT"):
        return dates.next_weekday(words.today, weekday)
    if words.has("THIS") and not words.has("COMING"):
        return dates.weekday_of_week(words.today, weekday, 0)
    return dates.coming_weekday(words.today, weekday)


def read_date(words: Words) -> DayReading:
    """Read a date, which must match the weekday next to it."""
    weekday = words.first(*_WEEKDAY)
    found = find_dates(words.without(*_WEEKDAY))
    if weekday is not None:
        found = tuple(one for one in found if one.isoweekday() % dates.WEEK == WEEKDAYS[weekday])
    if not found:
        raise ScheduleRefused("date_other_weekday", words=str(words))
    return days(SingleDay(found))


def find_dates(words: Words) -> tuple[date, ...]:
    """Return the dates in the words. Raises ScheduleRefused."""
    today = words.today
    if numbers := words.first("NUMERIC"):
        return (dates.date_of(today, *numbers),)
    if numbers := words.first("SLASHED"):
        return dates.either_order(today, *numbers)
    if words.has("MONTH"):
        year = words.first("BIG", "YEARNUMBER")
        if words.has("OFYEAR"):
            year = today.year + words.first("OFYEAR")
        day = words.first("MONTHDAY", *ORDINALS, "NUMBER")
        return (dates.date_of(today, words.first("MONTH"), day, year),)
    if words.has(*_WEEKDAY):
        return _find_weekday(words)
    if words.first("NEXT", "OFWEEK"):
        return (dates.iso_weekday_of_week(today, 1, 1),)
    return (dates.days_ahead(today, words.first("TODAY") or 0),)


def read_day_of_month(words: Words) -> DayReading:
    """Read "on the 15th", once or every month, or "the 15th of next month"."""
    day = words.first("ORDINAL", "MONTHDAY")
    if words.has("NEXT", "THIS", "OFMONTH"):
        return days(SingleDay((dates.day_of_month(words.today, day, words.first("NEXT", "OFMONTH") or 0),)))
    once = SingleDay(dates.next_day_of_month(words.today, day))
    monthly = [dates.every_month([day])] if 1 <= day <= dates.SHORT_MONTH else []
    return days(once, *monthly, question="unclear_repeat", always=True)


def read_start(words: Words) -> Start:
    """Read the first or last day."""
    return Start(find_dates(words), is_day=not words.has("WEEK", "OFWEEK") or words.has(*_WEEKDAY))


# Times


def read_times(words: Words) -> tuple[ClockTime, ...]:
    """Read a list of times; in Chinese, a part of the day also applies to later times."""
    found: list[ClockTime] = []
    for one in words.split("COMMA", "AND"):
        at = _read_time(one)
        before = found[-1] if found else None
        if before and before.part and not at.part and before.hour < at.hour <= 12:
            at = replace(at, part=before.part)
        found.append(at)
    return tuple(found)


def read_span(words: Words) -> tuple[ClockTime, ...]:
    """Read the first and the last time of a span."""
    return tuple(_read_time(one) for one in words.split("TO", "DASH", "UNTIL", "AND"))


def _read_time(words: Words) -> ClockTime:
    about = words.has("ABOUT", "BEFORE") or (words.has("AFTER") and words.has("CLOCK"))
    if word := next((one for one in words.tokens if one.kind in {"NOON", "MIDNIGHT"}), None):
        is_midnight = word.kind == "MIDNIGHT"
        hour = 0 if is_midnight else 12
        return ClockTime(str(words), hour, padded=True, midnight=is_midnight, about=about)
    hour, minute, bare, padded = words.first("CLOCK") or _spoken_time(words)
    half = words.first("AM") or ""
    return ClockTime(str(words), hour, minute, half, bare, padded, words.first("PART"), about=about)


def _spoken_time(words: Words) -> tuple[int, int, bool, bool]:
    """Return the hour and minute of "9", "nine thirty" or "a quarter to ten"."""
    numbers = words.all("NUMBER", "SPOKEN", "TENS")
    if not words.has("PAST", "AFTER", "TO"):
        minute = numbers[1] if len(numbers) > 1 else 0
        return numbers[0], minute, len(numbers) == 1, False
    minute = 30 if words.has("HALF") else 15 if words.has("QUARTER") else sum(numbers[:-1])
    if not words.has("TO"):
        return numbers[-1], minute, False, False
    return (numbers[-1] - 2) % 12 + 1, 60 - minute, False, False


def read_minutes(words: Words) -> int:
    """Return the minutes of "an hour and a half". Raises ScheduleRefused."""
    if words.has("VAGUE"):
        raise ScheduleRefused("every_vague", words=str(words))
    if words.has("HALF", "DECIMAL") and not words.has("HOUR"):
        raise ScheduleRefused("duration_mixed", words=str(words))
    total, count = 0, None
    for one in words.tokens:
        match one.kind:
            case "NUMBER" | "BIG" | "SPOKEN" | "TENS":
                count = one.value
            case "DECIMAL":
                total, count = total + 30, one.value
            case "HALF" | "QUARTER":
                total, count = total + (30 if one.kind == "HALF" else 15 * one.value), count or 0
            case "HOUR" | "MINUTE":
                each = 60 if one.kind == "HOUR" else 1
                total, count = total + each * (1 if count is None else count), None
    return total


def read_every(words: Words) -> Interval:
    """Read "every two hours"."""
    return Interval(read_minutes(words), in_hours=not words.has("MINUTE"))


def read_hourly(words: Words) -> Interval:
    """Read "hourly at :30" or "every other hour"."""
    past = words.first("MINUTEMARK") or 0
    if past > 59 or (words.first(*ORDINALS) or 2) != 2:
        raise ScheduleRefused("time_of_day", time=str(words))
    return Interval(120 if words.has("OTHER", *ORDINALS) else 60, past, in_hours=True)
