"""Parsed parts of a time phrase: days, times of day, intervals and waits.

A part that can be understood in several ways keeps its readings and the question that tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum

from bot.errors import ScheduleRefused


class DayPart(StrEnum):
    """The part of the day that belongs to an hour."""

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
_HOURS = {
    DayPart.MORNING: {*range(1, 12)},
    DayPart.NOON: {*range(11, 15)},
    DayPart.AFTERNOON: {*range(12, 20)},
    DayPart.EVENING: {*range(17, 24), *range(5)},
    DayPart.NIGHT: {*range(18, 24), *range(6)},
    DayPart.SMALL_HOURS: {*range(7)},
}
_DAWN = 6


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day as written.

    `half` is "am", "pm" or "". `bare` is an hour without minutes, `padded` one like `05`. `part` is the part
    of the day written with it. `about` means that only a time near it was named.
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

    def readings(self, part: DayPart | None, *, named_day: bool, daily: bool = True) -> tuple[time, ...]:
        """Return the possible times. Raises ScheduleRefused if there is none.

        Without am, pm or a part of the day, small hours can be meant in both ways; on a day that was named,
        an hour from nine on is one in the morning. If not `daily`, a night may belong to either of two days.
        """
        part = self.part or part
        if self.hour > 23 or self.minute > 59 or (self.half and not 1 <= self.hour <= 12):
            raise ScheduleRefused("time_of_day", time=self.words)
        twice = (self.hour % 12, self.hour % 12 + 12)
        hours: tuple[int, ...] = (self.hour,)
        if self.half:
            hours = (twice[self.half == "pm"],)
        elif part is not None:
            hours = twice if self.hour <= 12 and not self.padded else hours
        elif not self.padded and 1 <= self.hour < (7 if not self.bare else 9 if named_day else 12):
            hours = twice
        if part is not None:
            hours = tuple(one for one in hours if one in _HOURS[part])
        if not hours:
            raise ScheduleRefused("time_of_day", time=self.words)
        at_night = part in {DayPart.EVENING, DayPart.NIGHT} and hours[0] < _DAWN
        if (at_night or (self.midnight and named_day)) and not daily:
            raise ScheduleRefused("unclear_midnight", words=self.words)
        return tuple(time(one, self.minute) for one in hours)


@dataclass(frozen=True, slots=True)
class RepeatedDays:
    """Recurring days. `weekdays`, `monthdays` and `months` are cron fields, "" for all.

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
        """Return whether the days are every day or every few days."""
        return not (self.weekdays or self.monthdays or self.months) and self.unit == "day"

    @property
    def lacks_day(self) -> bool:
        """Return whether the phrase contains only weeks or months, no day."""
        return not (self.weekdays or self.monthdays) and self.unit != "day"


@dataclass(frozen=True, slots=True)
class SingleDay:
    """A single day: its possible dates; `is_today` if the phrase refers to today.

    `same_clock` means at the present time of day, if no other one is named.
    """

    dates: tuple[date, ...]
    is_today: bool = False
    same_clock: bool = False


Days = RepeatedDays | SingleDay


@dataclass(frozen=True, slots=True)
class DayReading:
    """The possible meanings of a phrase's days.

    `question` is the text that asks which; `always` asks it even if there is one reading. `part` is a part of
    the day that the words name.
    """

    readings: tuple[Days, ...]
    question: str = "unclear_day"
    always: bool = False
    part: DayPart | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Runs every `minutes`, starting `past` minutes after an hour; `in_hours` if specified in hours."""

    minutes: int
    past: int = 0
    in_hours: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """The first of recurring days. `is_day` if it was specified as a day rather than a week."""

    dates: tuple[date, ...]
    is_day: bool = True
