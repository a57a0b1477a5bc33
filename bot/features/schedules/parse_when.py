"""Parse the time at the start of a text, in English or Chinese, into a schedule or a question.

Nothing is guessed: words that can be meant in several ways lead to a question with the schedules that they
can mean, and a time that cannot be followed exactly is refused with the reason, never rounded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.features.schedules.cron import DAY_NAMES
from bot.features.schedules.day_arithmetic import in_months
from bot.features.schedules.phrase import USUAL_HOURS, ClockTime, DayPart, Phrase, RepeatedDays, SingleDay
from bot.features.schedules.phrase_reader import read_phrase
from bot.features.schedules.repeated_days import (
    align_start,
    first_day,
    possible_months,
    possible_starts,
    repeat_at,
    repeat_every,
)
from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.features.schedules.wall_clock import to_timestamp, to_wall_time

LONGEST_WAIT = 366
"""A single run may be at most this number of days ahead."""
MAX_OPTIONS = 6
"""Maximum number of options of a question."""
MAX_TIMES = 24
"""Maximum number of times of day in a list."""
MAX_UNCLEAR_TIMES = 2
"""Maximum number of unclear times whose readings are combined in every way."""
_END_OF_DAY = 24 * 60
_DAWN = 6 * 60
_EACH = ("every ", "each ", "每")
_LEADING = re.compile(r"(?:[\s,:：，、。–—-]|\.(?!\S))+")
_Minutes = tuple[int, ...]
"""Times of day in minutes; 24:00 is the start of the next day."""


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """A parsed time: its rule, its words without a time zone, and the rest of the text.

    `zone` is an IANA name, "" if none was written.
    """

    rule: Recurrence
    words: str
    rest: str
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is unclear about a time: the key of a text, with its values."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """A time that can be meant in several ways. `options` are all of these, or likely ones if something is
    missing, and empty if there would be too many; `describe_rule` shows them in words that parse to the same.
    """

    doubts: tuple[Doubt, ...]
    options: tuple[Recurrence, ...]
    words: str
    rest: str
    zone: str = ""
    is_certain: bool = True
    """The words say when; False for `Monday`, which can also begin a sentence."""


def parse_when(text: str, now: float, zone: ZoneInfo) -> ParsedTime | TimeQuestion | None:
    """Parse the time at the start of a text; None if there is none. Raises ScheduleRefused."""
    text = text.strip()
    phrase = read_phrase(text)
    return None if phrase is None else resolve_phrase(phrase, text, now, zone)


def resolve_phrase(phrase: Phrase, text: str, now: float, zone: ZoneInfo) -> ParsedTime | TimeQuestion:
    """Resolve a phrase of a text at a time, in a time zone. Raises ScheduleRefused."""
    words = " ".join(text[: phrase.end].replace(phrase.zone_words, "", 1).split())
    rest = text[phrase.end :].strip()
    if leading := _LEADING.match(rest):
        rest = rest[leading.end() :]
    found = _Resolver(phrase, words, now, zone).resolve()
    if isinstance(found, Recurrence):
        return ParsedTime(found, words, rest, phrase.zone)
    doubts, options = found
    return TimeQuestion(doubts, options, words, rest, phrase.zone, is_certain=_is_certain(phrase, words))


def _is_certain(phrase: Phrase, words: str) -> bool:
    return bool(phrase.times or phrase.every or phrase.wait) or words.lower().startswith(_EACH)


_Result = Recurrence | tuple[tuple[Doubt, ...], tuple[Recurrence, ...]]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A schedule that can be meant, and which days, start and times were taken for it."""

    taken: tuple[int, int, int]
    rule: Recurrence


class _Resolver:
    """Finds what a phrase means at `now`."""

    def __init__(self, phrase: Phrase, words: str, now: float, zone: ZoneInfo) -> None:
        self._phrase = phrase
        self._words = words
        self._now = now
        self._zone = zone
        self._wall = to_wall_time(now, zone)
        self._today = self._wall.date()

    def resolve(self) -> _Result:
        phrase = self._phrase
        if phrase.cron:
            return parse_recurrence(phrase.cron)
        if phrase.wait and not phrase.times:
            return self._wait()
        if phrase.every or phrase.span:
            return self._every()
        return self._days_and_times()

    # A distance from now

    def _wait(self) -> _Result:
        wait = self._phrase.wait
        assert wait is not None
        if wait.choices:
            options = tuple(self._run_at(self._now + 60 * minutes) for minutes in wait.choices)
            return (Doubt("unclear_count", {"words": wait.words}),), options
        if wait.minutes or not (wait.days or wait.months):
            return self._run_at(self._now + 60 * wait.minutes)
        on = self._day_after(wait.days, wait.months)
        return self._run_at(to_timestamp(datetime.combine(on, self._wall.time()), self._zone))

    def _day_after(self, days: int, months: int) -> date:
        if max(days, months * 28) > LONGEST_WAIT:
            raise ScheduleRefused("time_far", days=LONGEST_WAIT)
        return in_months(months)(self._today)[0] if months else self._today + timedelta(days=days)

    def _run_at(self, instant: float) -> Recurrence:
        if instant <= self._now:
            raise ScheduleRefused("time_past")
        if instant > self._now + LONGEST_WAIT * 86_400:
            raise ScheduleRefused("time_far", days=LONGEST_WAIT)
        return Recurrence(at=float(int(instant)))

    # Intervals

    def _every(self) -> _Result:
        phrase = self._phrase
        days = [one for one in self._readings if isinstance(one, RepeatedDays)]
        if not days or phrase.start or any(one.every > 1 or one.lacks_day for one in days):
            raise ScheduleRefused("interval_days", words=self._words)
        if phrase.every is None:
            raise ScheduleRefused("interval_missing", words=self._words)
        spans = self._spans()
        options = [repeat_every(one, phrase.every, span) for one in days for span in spans]
        doubts = []
        if phrase.days and (len(self._readings) > 1 or phrase.days.always):
            doubts.append(Doubt(phrase.days.question, {"words": phrase.days.words}))
        if phrase.span and len(spans) > 1:
            doubts.append(Doubt("unclear_half", {"words": phrase.span.words}))
        return (tuple(doubts), tuple(options[:MAX_OPTIONS])) if doubts else options[0]

    def _spans(self) -> list[tuple[time, time] | None]:
        """Return the spans that can be meant; "9 to 5" ends in the afternoon."""
        span = self._phrase.span
        if span is None:
            return [None]
        part = self._phrase.part
        firsts = span.first.readings(part, named_day=True)
        lasts = span.last.readings(part, named_day=True)
        found: list[tuple[time, time] | None] = [
            (first, last) for first in firsts for last in lasts if first < last
        ]
        if not found:
            raise ScheduleRefused("span_order", words=span.words)
        return found

    # Days and times of day

    @property
    def _readings(self) -> Sequence[RepeatedDays | SingleDay]:
        phrase = self._phrase
        if phrase.wait is not None:
            on = self._day_after(phrase.wait.days, phrase.wait.months)
            return (SingleDay(lambda _today: (on,)),)
        if phrase.days is None:
            return (RepeatedDays(),) if phrase.every or phrase.span else ()
        start = phrase.start
        readings = phrase.days.readings
        if start is None or not start.is_day:
            return readings
        # "Every two weeks starting monday" names the day in its start.
        weekday = DAY_NAMES[start.find(self._today)[0].isoweekday() % 7]
        return tuple(
            RepeatedDays(weekday, every=one.every, unit="week")
            if isinstance(one, RepeatedDays) and one.lacks_day and one.unit == "week"
            else one
            for one in readings
        )

    def _days_and_times(self) -> _Result:
        readings = self._readings
        if any(isinstance(one, RepeatedDays) and one.lacks_day for one in readings):
            return self._ask_for_day()
        if self._phrase.start and not readings:
            raise ScheduleRefused("phrase_part", words=self._words, rest=self._phrase.start.words)
        choices = list(self._choices())
        future = [one for one in choices if one.rule.patterns or one.rule.at > self._now]
        if not future:
            raise ScheduleRefused("time_past")
        return self._decide(future)

    def _ask_for_day(self) -> _Result:
        days = self._phrase.days
        assert days is not None
        doubts = [Doubt(days.question, {"words": days.words})] if days.always else []
        doubts.append(Doubt("unclear_which_day", {"words": days.words}))
        options: list[Recurrence] = []
        first = days.readings[0]
        if (
            isinstance(first, RepeatedDays)
            and first.unit == "week"
            and first.every == 1
            and self._phrase.times
        ):
            times = self._times(named_day=True, single=None)[0]
            options = [repeat_at(RepeatedDays(one), times, None) for one in DAY_NAMES[1:6]]
        if not self._phrase.times:
            doubts.append(Doubt("unclear_time", {"words": self._words}))
        return tuple(doubts), tuple(options)

    def _choices(self) -> Iterator[_Choice]:
        """Yield what the phrase can mean: each reading of its days, starts and times."""
        if not self._readings:
            for number, minutes in enumerate(self._times(named_day=False, single=None)):
                yield _Choice((0, 0, number), self._next_at(minutes))
            return
        index = itertools.count()
        for days in self._readings:
            if isinstance(days, SingleDay):
                times = self._times(named_day=not days.is_today, single=days)
                for on in days.find(self._today):
                    taken = next(index)
                    for number, minutes in enumerate(times):
                        yield _Choice((taken, 0, number), self._once(on, minutes))
            else:
                yield from self._repeated(days, next(index))

    def _repeated(self, days: RepeatedDays, taken: int) -> Iterator[_Choice]:
        times = self._times(named_day=True, single=None, daily=days.is_daily)
        for number, minutes in enumerate(times):
            if days.unit == "month" and days.every > 1:
                rules = [repeat_at(one, minutes, None) for one in possible_months(days, self._wall, minutes)]
            else:
                rules = [repeat_at(days, minutes, start) for start in self._first_days(days, minutes)]
            for started, rule in enumerate(rules):
                yield _Choice((taken, started, number), rule)

    def _first_days(self, days: RepeatedDays, minutes: _Minutes) -> list[date | None]:
        """Return the first days that can be meant; None for days without an interval and a start."""
        start = self._phrase.start
        if start is not None:
            found = self._named_starts(days, minutes, start.find(self._today))
            is_plain = days.every == 1 and found[0] <= first_day(days, self._wall, minutes)
            return [None] if is_plain else list(found)
        return [None] if days.every == 1 else list(possible_starts(days, self._wall, minutes))

    def _named_starts(self, days: RepeatedDays, minutes: _Minutes, starts: Sequence[date]) -> list[date]:
        """Return the first days from the named ones on. Raises ScheduleRefused if today's time has passed."""
        latest = timedelta(minutes=max(minutes))
        found = [align_start(days, one) for one in starts]
        ahead = [
            one for one in found if one != self._today or datetime.combine(one, time()) + latest > self._wall
        ]
        if not ahead:
            raise ScheduleRefused("time_past")
        return ahead

    def _times(self, *, named_day: bool, single: SingleDay | None, daily: bool = False) -> list[_Minutes]:
        """Return the lists of times that can be meant, in minutes of the day."""
        phrase = self._phrase
        if not phrase.times:
            return [(hour * 60,) for hour in USUAL_HOURS[phrase.part]]
        found = [self._minutes(one, named_day=named_day, single=single, daily=daily) for one in phrase.times]
        distinct = list(dict.fromkeys(found))
        if len(distinct) > MAX_TIMES:
            raise ScheduleRefused("times_many", limit=MAX_TIMES)
        combined: Iterable[tuple[int, ...]] = itertools.product(*distinct)
        if sum(len(one) > 1 for one in distinct) > MAX_UNCLEAR_TIMES:
            # All of them in the morning, or all in the afternoon.
            combined = zip(*((one[0], one[-1]) for one in distinct), strict=True)
        return [tuple(sorted(set(one))) for one in combined]

    def _minutes(
        self, one: ClockTime, *, named_day: bool, single: SingleDay | None, daily: bool
    ) -> tuple[int, ...]:
        if one.is_midnight(self._phrase.part):
            if self._phrase.days is None or daily:
                return (0,)
            if single is None:
                return (0, _END_OF_DAY - 1)
            return (_END_OF_DAY, _END_OF_DAY - 1) if single.is_today else (0, _END_OF_DAY)
        found = [at.hour * 60 + at.minute for at in one.readings(self._phrase.part, named_day=named_day)]
        if not self._is_small_hour(one, found[0]) or daily:
            return tuple(found)
        if single is None:
            raise ScheduleRefused("time_of_day", time=one.words)
        return (found[0], found[0] + _END_OF_DAY)

    def _is_small_hour(self, one: ClockTime, minutes: int) -> bool:
        """Return True for "two at night", which may be in the night before or after the day."""
        part = one.part or self._phrase.part
        return part in {DayPart.EVENING, DayPart.NIGHT} and minutes < _DAWN

    def _next_at(self, minutes: _Minutes) -> Recurrence:
        """Return a single run at the next such time."""
        today = self._once(self._today, minutes)
        if today.at > self._now:
            return today
        return self._once(self._today + timedelta(days=1), minutes)

    def _once(self, on: date, minutes: _Minutes) -> Recurrence:
        if len(minutes) > 1:
            raise ScheduleRefused("once_times", words=self._words)
        wall = datetime.combine(on, time()) + timedelta(minutes=minutes[0])
        at = to_timestamp(wall, self._zone)
        return self._run_at(at) if at > self._now else Recurrence(at=float(int(at)))

    # Questions

    def _decide(self, choices: Sequence[_Choice]) -> _Result:
        """Return the one schedule that is meant, or the question which it is."""
        doubts = list(self._doubts(choices))
        options = tuple({one.rule.to_text: one.rule for one in choices}.values())
        if not doubts and len(options) == 1:
            return options[0]
        return tuple(doubts), options[:MAX_OPTIONS]

    def _doubts(self, choices: Sequence[_Choice]) -> Iterator[Doubt]:
        phrase = self._phrase
        vary = [len({one.taken[index] for one in choices}) > 1 for index in range(3)]
        if phrase.days and (vary[0] or phrase.days.always):
            yield Doubt(phrase.days.question, {"words": phrase.days.words})
        if vary[1]:
            start = phrase.start
            yield Doubt("unclear_start", {"words": start.words if start else self._words})
        if not phrase.times:
            yield Doubt("unclear_time", {"words": self._words})
            return
        for one in dict.fromkeys(phrase.times):
            yield from self._time_doubts(one, vary=vary[2])

    def _time_doubts(self, one: ClockTime, *, vary: bool) -> Iterator[Doubt]:
        if one.unsure:
            yield Doubt("unclear_number", {"words": one.words})
        elif one.about:
            yield Doubt("unclear_about", {"words": one.words})
        if not vary:
            return
        names_night = self._is_small_hour(one, one.hour * 60) and not one.half
        if one.is_midnight(self._phrase.part) or names_night:
            yield Doubt("unclear_midnight", {"words": one.words})
        elif len(one.readings(self._phrase.part, named_day=self._names_day)) > 1:
            yield Doubt("unclear_half", {"words": one.words})

    @property
    def _names_day(self) -> bool:
        readings = self._readings
        return bool(readings) and not any(isinstance(one, SingleDay) and one.is_today for one in readings)
