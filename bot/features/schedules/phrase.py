"""The parts of a time phrase, as they were read: days, times of day, intervals, waits.

A part that can be understood in several ways keeps all of its readings and the question that tells them
apart. Nothing here depends on the current time or a time zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum

from bot.errors import ScheduleRefused

FindDates = Callable[[date], tuple[date, ...]]
"""Returns the dates that a word such as "tomorrow" can mean, from today's date."""


class DayPart(StrEnum):
    """A part of the day that goes with an hour."""

    MORNING = "morning"
    NOON = "noon"
    AFTERNOON = "afternoon"
    EVENING = "evening"
    NIGHT = "night"
    SMALL_HOURS = "small_hours"


USUAL_HOURS = {
    None: (9, 12, 18),
    DayPart.MORNING: (8, 9, 10),
    DayPart.NOON: (12,),
    DayPart.AFTERNOON: (14, 15, 16),
    DayPart.EVENING: (18, 19, 20),
    DayPart.NIGHT: (20, 21, 22),
    DayPart.SMALL_HOURS: (1, 2, 3),
}
"""Hours that are proposed where none was named."""
_FROM_FIVE = {hour: hour + 12 for hour in range(5, 12)}
_SHIFTS: dict[DayPart, dict[int, int]] = {
    DayPart.MORNING: {hour: hour for hour in range(1, 12)},
    DayPart.NOON: {11: 11, 12: 12, 1: 13, 2: 14},
    DayPart.AFTERNOON: {12: 12, **{hour: hour + 12 for hour in range(1, 8)}},
    DayPart.EVENING: {12: 0, **{hour: hour for hour in range(1, 5)}, **_FROM_FIVE},
    DayPart.NIGHT: {12: 0, **_FROM_FIVE, **{hour: hour for hour in range(1, 6)}},
    DayPart.SMALL_HOURS: {12: 0, **{hour: hour for hour in range(7)}},
}


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day as it was written.

    `half` is "am", "pm" or "". `bare` is an hour without minutes, `padded` one like `05`. `part` is the part
    of the day written with it. `midnight` is the word; `about` means that only a time near it was named,
    `unsure` that it may not be a time at all.
    """

    words: str
    hour: int
    minute: int = 0
    half: str = ""
    bare: bool = False
    padded: bool = False
    part: DayPart | None = None
    midnight: bool = False
    about: bool = False
    unsure: bool = False

    def readings(self, part: DayPart | None, *, named_day: bool) -> tuple[time, ...]:
        """Return the times that can be meant. Raises ScheduleRefused if there is none.

        Without am, pm or a part of the day, small hours can be meant in both ways; on a day that was named,
        an hour from nine on is one in the morning.
        """
        part = self.part or part
        if self.hour > 23 or self.minute > 59 or (self.half and not 1 <= self.hour <= 12):
            raise ScheduleRefused("time_of_day", time=self.words)
        if self.half:
            return (self._at(self.hour % 12 + (12 if self.half == "pm" else 0), part),)
        if part is not None and self.hour <= 12 and not self.padded:
            return self._in_part(part)
        if part is not None:
            return (self._at(self.hour, part),)
        first_clear = (9 if named_day else 12) if self.bare else 7
        if self.padded or not 1 <= self.hour < first_clear:
            return (time(self.hour, self.minute),)
        return (time(self.hour, self.minute), time(self.hour + 12, self.minute))

    def is_midnight(self, part: DayPart | None) -> bool:
        """Return True for the word, and for twelve at night."""
        at_night = (self.part or part) in {DayPart.EVENING, DayPart.NIGHT}
        return self.midnight or (at_night and (self.hour, self.minute) == (12, 0) and not self.half)

    def _in_part(self, part: DayPart) -> tuple[time, ...]:
        hour = _SHIFTS[part].get(self.hour)
        if hour is None:
            raise ScheduleRefused("time_of_day", time=self.words)
        return (time(hour, self.minute),)

    def _at(self, hour: int, part: DayPart | None) -> time:
        if part is not None and hour not in _HOURS_OF[part]:
            raise ScheduleRefused("time_of_day", time=self.words)
        return time(hour, self.minute)


_HOURS_OF = {
    DayPart.MORNING: range(12),
    DayPart.NOON: range(11, 15),
    DayPart.AFTERNOON: range(12, 20),
    DayPart.EVENING: range(16, 24),
    DayPart.NIGHT: (*range(5), *range(18, 24)),
    DayPart.SMALL_HOURS: range(7),
}


@dataclass(frozen=True, slots=True)
class RepeatedDays:
    """Days that come again. `weekdays`, `monthdays` and `months` are cron fields, "" for all.

    `every` counts `unit`s ("day", "week" or "month"). `positions` are those of the weekdays in a month (-1:
    the last), of all of them taken together if `together`.
    """

    weekdays: str = ""
    monthdays: str = ""
    months: str = ""
    every: int = 1
    unit: str = "day"
    positions: tuple[int, ...] = ()
    together: bool = False

    @property
    def is_daily(self) -> bool:
        """Return True for every day or every few days."""
        return not (self.weekdays or self.monthdays or self.months) and self.unit == "day"

    @property
    def lacks_day(self) -> bool:
        """Return True if only weeks or months are named."""
        return not (self.weekdays or self.monthdays) and self.unit != "day"


@dataclass(frozen=True, slots=True)
class SingleDay:
    """A day that comes once; `is_today` if it was named as today."""

    find: FindDates
    is_today: bool = False


Days = RepeatedDays | SingleDay


@dataclass(frozen=True, slots=True)
class DayReading:
    """The days of a phrase, in the ways in which they can be meant.

    `question` is the text that asks which; `always` asks it even if there is one reading. `strong` if the
    words can't be the beginning of the task's text, as `Monday` could.
    """

    words: str
    readings: tuple[Days, ...]
    question: str = "unclear_day"
    always: bool = False
    strong: bool = True


@dataclass(frozen=True, slots=True)
class Delay:
    """A distance from now. `choices` (minutes) are proposed if the count is unclear."""

    words: str
    minutes: int = 0
    days: int = 0
    months: int = 0
    choices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """Runs that are `minutes` apart, from the minute `past` of an hour on; `in_hours` if hours were named."""

    words: str
    minutes: int
    past: int = 0
    in_hours: bool = False


@dataclass(frozen=True, slots=True)
class HourSpan:
    """The hours of a day within which an interval repeats, both included."""

    words: str
    first: ClockTime
    last: ClockTime


@dataclass(frozen=True, slots=True)
class Start:
    """The first day of days that come again. `is_day` if a day was named, not a week."""

    words: str
    find: FindDates
    is_day: bool = True


@dataclass(slots=True)
class Phrase:
    """The parts that were read from a text, up to the position `end`.

    `zone` is an IANA name, `zone_words` are the words for it.
    """

    cron: str = ""
    wait: Delay | None = None
    every: Interval | None = None
    days: DayReading | None = None
    times: tuple[ClockTime, ...] = ()
    part: DayPart | None = None
    span: HourSpan | None = None
    start: Start | None = None
    zone: str = ""
    zone_words: str = ""
    end: int = 0

    @property
    def is_empty(self) -> bool:
        """Return True if nothing was read that says when."""
        return not (self.cron or self.wait or self.every or self.days or self.times)


class Piece(StrEnum):
    """The parts of a phrase, each at most once.

    `PART_AFTER` is a part of the day that may follow a time, `ZONE_AFTER` a zone that follows another part.
    """

    CRON = "cron"
    WAIT = "wait"
    EVERY = "every"
    DAYS = "days"
    PART = "part"
    PART_AFTER = "part_after"
    SPAN = "span"
    START = "start"
    ZONE = "zone"
    ZONE_AFTER = "zone_after"


@dataclass(frozen=True, slots=True)
class Component:
    """A pattern for one part of a phrase, and what stores a match in it."""

    slot: Piece
    pattern: re.Pattern[str]
    read: Callable[[Phrase, re.Match[str]], None]


def is_open(phrase: Phrase, slot: Piece) -> bool:
    """Return True if the phrase can still have such a part."""
    if phrase.cron and slot is not Piece.ZONE_AFTER:
        return False
    return {
        Piece.CRON: phrase.is_empty,
        Piece.WAIT: phrase.is_empty,
        Piece.EVERY: not (phrase.every or phrase.wait or phrase.times),
        Piece.DAYS: phrase.days is None and phrase.wait is None,
        Piece.PART: phrase.part is None and phrase.days is not None and not phrase.times,
        Piece.PART_AFTER: phrase.part is None and bool(phrase.days or phrase.times),
        Piece.SPAN: phrase.span is None and not phrase.times and not phrase.wait,
        Piece.START: phrase.start is None,
        Piece.ZONE: not phrase.zone,
        Piece.ZONE_AFTER: not phrase.zone and not phrase.is_empty,
    }[slot]


_Row = tuple[Piece, str, Callable[[Phrase, re.Match[str]], None]]


def compile_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile a pattern in which each gap (`\\s*`, `\\s+`) takes all of the whitespace or fails."""
    # Two gaps around an optional part would share a long one in every way, which is quadratic or worse.
    return re.compile(re.sub(r"\\s[*+]", r"\g<0>+", pattern), flags)


def compile_table(table: Iterable[_Row], flags: re.RegexFlag = re.NOFLAG) -> list[Component]:
    """Compile the patterns of a table of components."""
    return [Component(slot, compile_pattern(pattern, flags), read) for slot, pattern, read in table]


def words_of(match: re.Match[str]) -> str:
    """Return the matched words with single spaces."""
    return " ".join(match.group(0).split())
