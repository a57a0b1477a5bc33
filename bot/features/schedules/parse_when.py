"""Parser for a time in English or Chinese at the start of a text; it returns a schedule or a question.

Nothing is guessed: words that can be meant in several ways lead to a question with the schedules that they
can mean, and a time that cannot be followed exactly is refused with the reason, never rounded.

Libraries read no recurring times in Chinese and return one guess where all readings are needed. Of the
single runs in the tests' phrases, dateparser 1.5 reads 13 of 48 rightly and 7 wrongly, and it guesses at 13
of 61 unclear ones. recurrent reads recurring times in English only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.features.schedules.chinese import CHINESE, simplify
from bot.features.schedules.cron import DAY_NAMES
from bot.features.schedules.dates import LONGEST_WAIT
from bot.features.schedules.english import ENGLISH
from bot.features.schedules.grammar import Phrase, Words
from bot.features.schedules.phrase import (
    USUAL_HOURS,
    ClockTime,
    DayPart,
    DayReading,
    Days,
    Interval,
    RepeatedDays,
    SingleDay,
)
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

MAX_OPTIONS = 6
"""Maximum number of options of a question."""
MAX_TIMES = 24
"""Maximum number of times of day in a list."""
MAX_UNCLEAR_TIMES = 2
"""Maximum number of unclear times whose readings are combined in every way."""
_EACH = ("every ", "each ", "每")
_LEADING = re.compile(r"(?:[\s,:：，、。–—-]|\.(?!\S))+")
_NUMBERS = r"[*\d][\d*,/-]*"
_CRON_DAY = r"[*\dl?][\d*,/\w?-]*"
_FIELD = r"(?:\*|\d|[a-z]{3}(?![a-z]))[\w*,/#?-]*"
_CRON = rf"(?:@[a-z]+|{_NUMBERS}\s++{_NUMBERS}\s++{_CRON_DAY}\s++{_FIELD}\s++{_FIELD})"
# The stored form of a rule is read too, so that a rule without words can be written.
_STORED = rf"(?:(?:DTSTART:\S+ )?RRULE:\S+|{_CRON})"
_RULE = re.compile(rf"(?:cron\s++)?(?P<rule>{_STORED}(?: \| {_STORED})*)", re.IGNORECASE)
_Minutes = tuple[int, ...]
"""Times of day in minutes."""


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """A parsed time: its rule, its wording without a time zone, and the rest of the text.

    `zone` is an IANA name, "" if none was written.
    """

    rule: Recurrence
    words: str
    rest: str
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The unclear part of a time: the key of a text, with its values."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """A time with several meanings. `options` contains all of them, or likely ones if information is missing,
    and is empty if there are too many; `describe_rule` expresses them in words that parse to the same rule.
    """

    doubts: tuple[Doubt, ...]
    options: tuple[Recurrence, ...]
    words: str
    rest: str
    zone: str = ""
    is_certain: bool = True
    """The words say when; False for `Monday`, which can also begin a sentence."""


def parse_when(text: str, now: float, zone: ZoneInfo) -> ParsedTime | TimeQuestion | None:
    """Parse the time at the start of a text, or return None if there is none. Raises ScheduleRefused."""
    text = text.strip()
    phrase = read_phrase(text)
    return None if phrase is None else resolve_phrase(phrase, text, now, zone)


def read_phrase(text: str) -> Phrase | None:
    """Parse the phrase at the start of a text, in the language that matches more of it; None if there is
    none.

    Raises ScheduleRefused if what follows also says when.
    """
    simple = simplify(text)
    grammar = ENGLISH
    if match := _RULE.match(simple):
        rule, zone = match["rule"], ENGLISH.read(simple, match.end())
        phrase = Phrase({"cron": (lambda _: rule, Words("", ()))}, match.end())
        if zone.parts.keys() == {"zone"}:
            phrase = Phrase(phrase.parts | zone.parts, zone.end)
    else:
        found = {one: one.read(simple) for one in (ENGLISH, CHINESE)}
        grammar = max(found, key=lambda one: found[one].end)
        phrase = found[grammar]
    if not phrase.parts.keys() - {"zone", "start", "until", "span", "part"}:
        return None
    for one in (ENGLISH, CHINESE):
        one.refuse_more(simple, phrase, strict=one is grammar)
    return phrase


def resolve_phrase(phrase: Phrase, text: str, now: float, zone: ZoneInfo) -> ParsedTime | TimeQuestion:
    """Resolve a phrase at a given time in a time zone. Raises ScheduleRefused."""
    named_zone = phrase.value("zone") or ""
    words = " ".join(text[: phrase.end].replace(phrase.find_words("zone"), "", 1).split())
    rest = text[phrase.end :].strip()
    if leading := _LEADING.match(rest):
        rest = rest[leading.end() :]
    found = _Resolver(phrase, words, now, zone).resolve()
    if isinstance(found, Recurrence):
        return ParsedTime(found, words, rest, named_zone)
    doubts, options = found
    is_certain = phrase.has("times", "every", "wait") or words.lower().startswith(_EACH)
    return TimeQuestion(doubts, options[:MAX_OPTIONS], words, rest, named_zone, is_certain)


_Result = Recurrence | tuple[tuple[Doubt, ...], tuple[Recurrence, ...]]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A possible schedule, with the chosen days, start and times."""

    taken: tuple[int, int, int]
    rule: Recurrence


class _Resolver:
    """Resolves the meaning of a phrase at `now`."""

    def __init__(self, phrase: Phrase, words: str, now: float, zone: ZoneInfo) -> None:
        self._phrase, self._words, self._now, self._zone = phrase, words, now, zone
        self._wall = to_wall_time(now, zone)
        self._today = self._wall.date()
        self._days: DayReading | None = self._value("days")
        self._times: tuple[ClockTime, ...] = self._value("times") or ()
        self._part: DayPart | None = self._value("part") or (self._days.part if self._days else None)
        self._start, self._until = self._value("start"), self._value("until")
        self._readings = self._days.readings if self._days else ()

    def _value(self, slot: str) -> Any:
        return self._phrase.value(slot, self._today)

    def resolve(self) -> _Result:
        phrase = self._phrase
        if phrase.has("cron"):
            return parse_recurrence(self._value("cron"))
        if phrase.has("wait"):
            return self._run_at(self._now + 60 * self._value("wait"))
        if phrase.has("every", "span"):
            return self._repeat_every(self._value("every"))
        return self._resolve_days()

    def _run_at(self, instant: float) -> Recurrence:
        if instant <= self._now:
            raise ScheduleRefused("time_past")
        if instant > self._now + LONGEST_WAIT * 86_400:
            raise ScheduleRefused("time_far", days=LONGEST_WAIT)
        return Recurrence(at=float(int(instant)))

    def _repeat_every(self, every: Interval | None) -> _Result:
        """Resolve an interval on certain days, within a span of hours if there is one."""
        days = [one for one in self._readings or (RepeatedDays(),) if isinstance(one, RepeatedDays)]
        if not days or any(one.every > 1 or one.lacks_day for one in days):
            raise ScheduleRefused("interval_days", words=self._words)
        if every is None:
            raise ScheduleRefused("interval_missing", words=self._words)
        spans: list[tuple[time, time] | None] = [None]
        if ends := self._value("span"):
            firsts, lasts = (one.readings(self._part, named_day=True) for one in ends)
            spans = [(first, last) for first in firsts for last in lasts if first < last]
            if not spans:
                raise ScheduleRefused("span_order", words=self._phrase.find_words("span"))
        options = tuple(repeat_every(one, every, span) for one in days for span in spans)
        doubts = list(self._day_doubts(vary=len(self._readings) > 1))
        if len(spans) > 1:
            doubts.append(Doubt("unclear_half", {"words": self._phrase.find_words("span")}))
        return (tuple(doubts), options) if doubts else options[0]

    # Days and times of day

    def _resolve_days(self) -> _Result:
        if self._start and self._start.is_day:
            # "Every two weeks starting monday" names the day in its start.
            weekday = DAY_NAMES[self._start.dates[0].isoweekday() % 7]
            self._readings = tuple(
                RepeatedDays(weekday, every=one.every, unit="week")
                if isinstance(one, RepeatedDays) and one.lacks_day and one.unit == "week"
                else one
                for one in self._readings
            )
        if any(isinstance(one, RepeatedDays) and one.lacks_day for one in self._readings):
            doubts = [*self._day_doubts(vary=False), Doubt("unclear_which_day", self._day_words)]
            return tuple([*doubts, *([] if self._times else [self._time_doubt])]), ()
        if (self._start or self._until) and not any(isinstance(one, RepeatedDays) for one in self._readings):
            slot = "start" if self._start else "until"
            raise ScheduleRefused("phrase_part", words=self._words, rest=self._phrase.find_words(slot))
        choices = [one for one in self._choices() if self._is_ahead(one.rule)]
        if not choices:
            raise ScheduleRefused("time_past")
        doubts = list(self._doubts(choices))
        options = tuple({one.rule.to_text: one.rule for one in choices}.values())
        return (tuple(doubts), options) if doubts or len(options) > 1 else options[0]

    def _is_ahead(self, rule: Recurrence) -> bool:
        if rule.patterns and not self._until:
            return True
        return rule.next_run(self._now, self._zone) is not None

    def _choices(self) -> Iterator[_Choice]:
        """Yield the possible meanings of the phrase: each combination of days, start and times."""
        index = itertools.count()
        for days in self._readings or (SingleDay((self._today,)),):
            if isinstance(days, RepeatedDays):
                yield from self._repeated(days, next(index))
                continue
            for on in days.dates:
                taken = next(index)
                for number, minutes in enumerate(self._minutes_of(days)):
                    yield _Choice((taken, 0, number), self._once(on, minutes))

    def _repeated(self, days: RepeatedDays, taken: int) -> Iterator[_Choice]:
        until = self._until.dates[0] if self._until else None
        for number, minutes in enumerate(self._minutes_of(days)):
            if days.unit == "month" and days.every > 1:
                rules = [
                    repeat_at(one, minutes, None, until) for one in possible_months(days, self._wall, minutes)
                ]
            else:
                rules = [repeat_at(days, minutes, start, until) for start in self._first_days(days, minutes)]
            for started, rule in enumerate(rules):
                yield _Choice((taken, started, number), rule)

    def _first_days(self, days: RepeatedDays, minutes: _Minutes) -> list[date | None]:
        """Return the possible first days; None stands for days without an interval and a start."""
        if self._start is None:
            return [None] if days.every == 1 else list(possible_starts(days, self._wall, minutes))
        latest = timedelta(minutes=max(minutes))
        found = [align_start(days, one) for one in self._start.dates]
        ahead = [
            one for one in found if one != self._today or datetime.combine(one, time()) + latest > self._wall
        ]
        if not ahead:
            raise ScheduleRefused("time_past")
        is_plain = days.every == 1 and ahead[0] <= first_day(days, self._wall, minutes)
        return [None] if is_plain else list(ahead)

    def _minutes_of(self, days: Days) -> list[_Minutes]:
        """Return the possible lists of times, in minutes of the day."""
        if not self._times:
            if isinstance(days, SingleDay) and days.same_clock:
                return [(self._wall.hour * 60 + self._wall.minute,)]
            return [(hour * 60,) for hour in USUAL_HOURS[self._part]]
        found = [
            tuple(at.hour * 60 + at.minute for at in one.readings(self._part, **self._context(days)))
            for one in self._times
        ]
        distinct = list(dict.fromkeys(found))
        if len(distinct) > MAX_TIMES:
            raise ScheduleRefused("times_many", limit=MAX_TIMES)
        combined: Iterable[tuple[int, ...]] = itertools.product(*distinct)
        if sum(len(one) > 1 for one in distinct) > MAX_UNCLEAR_TIMES:
            # All of them in the morning, or all in the afternoon.
            combined = zip(*((one[0], one[-1]) for one in distinct), strict=True)
        return [tuple(sorted(set(one))) for one in combined]

    def _context(self, days: Days) -> dict[str, bool]:
        """Return what the phrase's days imply about its times."""
        is_named = bool(self._readings) and not (isinstance(days, SingleDay) and days.is_today)
        return {"named_day": is_named, "daily": isinstance(days, RepeatedDays) and days.is_daily}

    def _once(self, on: date, minutes: _Minutes) -> Recurrence:
        if len(minutes) > 1:
            raise ScheduleRefused("once_times", words=self._words)
        wall = datetime.combine(on, time()) + timedelta(minutes=minutes[0])
        if not self._readings and to_timestamp(wall, self._zone) <= self._now:
            wall += timedelta(days=1)
        at = to_timestamp(wall, self._zone)
        return self._run_at(at) if at > self._now else Recurrence(at=float(int(at)))

    # Questions

    @property
    def _day_words(self) -> Mapping[str, object]:
        return {"words": self._phrase.find_words("days")}

    @property
    def _time_doubt(self) -> Doubt:
        return Doubt("unclear_time", {"words": self._words})

    def _day_doubts(self, *, vary: bool) -> Iterator[Doubt]:
        if self._days and (vary or self._days.always):
            yield Doubt(self._days.question, self._day_words)

    def _doubts(self, choices: Sequence[_Choice]) -> Iterator[Doubt]:
        vary = [len({one.taken[index] for one in choices}) > 1 for index in range(3)]
        yield from self._day_doubts(vary=vary[0])
        if vary[1]:
            yield Doubt("unclear_start", {"words": self._phrase.find_words("start") or self._words})
        if not self._times:
            if not any(isinstance(one, SingleDay) and one.same_clock for one in self._readings):
                yield self._time_doubt
            return
        days = self._readings[0] if self._readings else SingleDay((self._today,))
        for one in dict.fromkeys(self._times):
            if one.about:
                yield Doubt("unclear_about", {"words": one.words})
            if vary[2] and len(one.readings(self._part, **self._context(days))) > 1:
                yield Doubt("unclear_half", {"words": one.words})
