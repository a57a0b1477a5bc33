"""Parse the time at the start of a text, in English or Chinese.

A time that cannot be followed exactly is refused with the reason, never rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.schedules.recurrence import DAY_NAMES, LAST, parse_cron
from bot.schedules.wall_clock import Recurrence, to_timestamp, to_wall_time

CHINESE_DAYS = {"日": 0, "天": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6}
LONGEST_WAIT = 366
"""A single run may be at most this number of days ahead."""
SHORT_DAY = 28
"""Number of days that every month has."""

_TIME = r"(?:at\s+)?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2})(?:\s*(?P<half>am|pm))?|\s*(?P<half2>am|pm))\b"
_TIME_ZH = (
    r"(?P<part>凌晨|早上|上午|中午|下午|晚上)?\s*(?P<hour>\d{1,2})"
    r"(?:[:：](?P<minute>\d{2})|[点时](?:(?P<minute2>\d{1,2})分?|(?P<past>半))?)"
)
_DAY = r"(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*"
_DAYS = rf"(?:(?:every|each|on)\s+)?(?P<days>{_DAY}(?:\s*(?:-|,|and|to|&)\s*{_DAY})*)"
_FIELD = r"(?:\*|\d|[a-z]{3}(?![a-z]))[\w*,/#?-]*"
_NUMBERS = r"[*\d][\d*,/-]*"
_CRON_DAY = r"[*\dl?][\d*,/\w?-]*"
_CRON = rf"(?:cron\s+)?(?P<cron>@[a-z]+|{_NUMBERS}\s+{_NUMBERS}\s+{_CRON_DAY}\s+{_FIELD}\s+{_FIELD})"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """A parsed time: its rule, its words, and the rest of the text."""

    rule: Recurrence
    words: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Match:
    match: re.Match[str]
    now: float
    zone: ZoneInfo

    @property
    def local_today(self) -> date:
        return to_wall_time(self.now, self.zone).date()

    def __getitem__(self, name: str) -> str:
        return str(self.match.groupdict().get(name) or "").lower()

    def number_group(self, name: str) -> int:
        return int(self[name])

    @property
    def time_of_day(self) -> time:
        """Return the time of day. Raises ScheduleRefused."""
        hour, minute = (
            self.number_group("hour"),
            int(self["minute"] or self["minute2"] or (30 if self["past"] else 0)),
        )
        half = self["half"] or self["half2"]
        afternoon = half == "pm" or self["part"] in {"下午", "晚上"} or (self["part"] == "中午" and hour < 11)
        if (half and not 1 <= hour <= 12) or hour > 23 or minute > 59:
            raise ScheduleRefused("time_of_day", time=self.match.group(0).strip())
        if half == "am" and hour == 12:
            hour = 0
        elif afternoon and hour < 12:
            hour += 12
        return time(hour, minute)

    def to_cron(self, day: str = "*", weekday: str = "*") -> Recurrence:
        at = self.time_of_day
        return Recurrence(parse_cron(f"{at.minute} {at.hour} {day} * {weekday}"))

    def run_once(self, on: date) -> Recurrence:
        return self.run_at(to_timestamp(datetime.combine(on, self.time_of_day), self.zone))

    def run_at(self, instant: float) -> Recurrence:
        if instant <= self.now:
            raise ScheduleRefused("time_past")
        if instant > self.now + LONGEST_WAIT * 86_400:
            raise ScheduleRefused("time_far", days=LONGEST_WAIT)
        return Recurrence(at=float(int(instant)))


def parse_when(text: str, now: float, zone: ZoneInfo) -> ParsedTime | None:
    """Parse the time at the start of a text; None if there is none. Raises ScheduleRefused."""
    text = text.strip()
    for pattern, meaning in _FORMS:
        match = pattern.match(text)
        if match is not None:
            rule = meaning(_Match(match, now, zone))
            rest = text[match.end() :].lstrip(" ,:：，、-–").strip()
            return ParsedTime(rule, " ".join(match.group(0).split()), rest)
    return None


def _parse_cron_phrase(spoken: _Match) -> Recurrence:
    return Recurrence(parse_cron(spoken["cron"]))


def _parse_in(spoken: _Match) -> Recurrence:
    count = int(spoken["count"] or 1)
    unit = spoken["unit"]
    if unit.startswith(("mi", "分")):
        return spoken.run_at(spoken.now + 60 * count)
    if unit.startswith(("h", "小")):
        return spoken.run_at(spoken.now + 3600 * count)
    days = count * (7 if unit.startswith(("w", "周", "星")) else 1)
    if days > LONGEST_WAIT:
        raise ScheduleRefused("time_far", days=LONGEST_WAIT)
    return spoken.run_at(
        to_timestamp(to_wall_time(spoken.now, spoken.zone) + timedelta(days=days), spoken.zone)
    )


def _parse_every(spoken: _Match) -> Recurrence:
    count = int(spoken["count"] or 1)
    minutes = spoken["unit"].startswith(("mi", "分"))
    whole = 60 if minutes else 24
    if not 0 < count <= whole or whole % count:
        fits = [one for one in range(1, whole + 1) if whole % one == 0]
        raise ScheduleRefused(
            "every_minutes" if minutes else "every_hours", count=count, fits=", ".join(map(str, fits))
        )
    if minutes:
        return Recurrence(parse_cron("0 * * * *" if count == 60 else f"*/{count} * * * *"))
    return Recurrence(parse_cron("0 0 * * *" if count == 24 else f"0 */{count} * * *"))


def _parse_daily(spoken: _Match) -> Recurrence:
    return spoken.to_cron()


def _parse_weekdays(spoken: _Match) -> Recurrence:
    return spoken.to_cron(weekday="1-5")


def _parse_weekends(spoken: _Match) -> Recurrence:
    return spoken.to_cron(weekday="6,0")


def _on_days(spoken: _Match) -> Recurrence:
    words = re.sub(r"\s*(?:-|to)\s*", "-", spoken["days"])
    found = [_day_range(one) for one in re.split(r"\s*(?:,|and|&)\s*", words) if one]
    return spoken.to_cron(weekday=",".join(found))


def _day_range(text: str) -> str:
    return "-".join(word[:3] for word in text.split("-"))


def _on_chinese_days(spoken: _Match) -> Recurrence:
    days = sorted({CHINESE_DAYS[one] for one in spoken["days"] if one in CHINESE_DAYS})
    return spoken.to_cron(weekday=",".join(DAY_NAMES[one] for one in days))


def _parse_monthly(spoken: _Match) -> Recurrence:
    day = spoken.number_group("day")
    if not 1 <= day <= 31:
        raise ScheduleRefused("cron_value", value=day, field="day", low=1, high=31)
    if day > SHORT_DAY:
        raise ScheduleRefused("day_missing", day=day)
    return spoken.to_cron(day=str(day))


def _last_day(spoken: _Match) -> Recurrence:
    return spoken.to_cron(day=LAST)


def _parse_today(spoken: _Match) -> Recurrence:
    return spoken.run_once(spoken.local_today)


def _parse_tomorrow(spoken: _Match) -> Recurrence:
    return spoken.run_once(spoken.local_today + timedelta(days=1))


def _next_time(spoken: _Match) -> Recurrence:
    today = to_timestamp(datetime.combine(spoken.local_today, spoken.time_of_day), spoken.zone)
    return spoken.run_at(today) if today > spoken.now else _parse_tomorrow(spoken)


def _on_date(spoken: _Match) -> Recurrence:
    try:
        on = date(spoken.number_group("year"), spoken.number_group("month"), spoken.number_group("on"))
    except ValueError:
        day = f"{spoken['year']}-{spoken['month']}-{spoken['on']}"
        raise ScheduleRefused("date_unknown", date=day) from None
    return spoken.run_once(on)


_UNITS = r"(?P<unit>minutes?|mins?|hours?|days?|weeks?)\b"
_UNITS_ZH = r"(?P<unit>分钟|小时|天|周|星期)"
_MEANINGS: tuple[tuple[str, Callable[[_Match], Recurrence]], ...] = (
    (_CRON, _parse_cron_phrase),
    (rf"in\s+(?:(?P<count>\d+)|an?)\s+{_UNITS}", _parse_in),
    (r"every\s+(?:(?P<count>\d+)\s+)?(?P<unit>minutes?|mins?|hours?)\b", _parse_every),
    (r"(?P<unit>h)ourly\b", _parse_every),
    (rf"(?:daily|every\s*day|each\s+day)\s+{_TIME}", _parse_daily),
    (rf"(?:(?:every|on)\s+)?(?:weekdays?|workdays?|working\s+days?)\s+{_TIME}", _parse_weekdays),
    (rf"(?:(?:every|on)\s+)?weekends?\s+{_TIME}", _parse_weekends),
    (rf"{_DAYS}\s+{_TIME}", _on_days),
    (rf"(?:monthly|every\s+month)\s+(?:on\s+)?(?:the\s+)?{_ORDINAL}\s+{_TIME}", _parse_monthly),
    (rf"(?:on\s+)?(?:the\s+)?{_ORDINAL}\s+of\s+(?:each|every|the)\s+month\s+{_TIME}", _parse_monthly),
    (rf"(?:on\s+)?(?:the\s+)?last\s+day\s+of\s+(?:each|every|the)\s+month\s+{_TIME}", _last_day),
    (rf"today\s+{_TIME}", _parse_today),
    (rf"tomorrow\s+{_TIME}", _parse_tomorrow),
    (rf"(?:on\s+)?(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<on>\d{{1,2}})[t\s]\s*{_TIME}", _on_date),
    (_TIME, _next_time),
    (rf"(?P<count>\d+)\s*个?{_UNITS_ZH}[之以]?后", _parse_in),
    (r"每(?:隔)?\s*(?P<count>\d+)?\s*个?(?P<unit>分钟|小时)", _parse_every),
    (rf"每[天日]\s*{_TIME_ZH}", _parse_daily),
    (rf"每?个?工作日\s*{_TIME_ZH}", _parse_weekdays),
    (rf"每?个?周末\s*{_TIME_ZH}", _parse_weekends),
    (
        rf"每?(?:周|星期)(?P<days>[日天一二三四五六](?:[、,，和周]*[日天一二三四五六])*)\s*{_TIME_ZH}",
        _on_chinese_days,
    ),
    (rf"每月\s*(?P<day>\d{{1,2}})\s*[号日]\s*{_TIME_ZH}", _parse_monthly),
    (rf"每月(?:的)?最后一天\s*{_TIME_ZH}", _last_day),
    (rf"今天\s*{_TIME_ZH}", _parse_today),
    (rf"明天\s*{_TIME_ZH}", _parse_tomorrow),
    (_TIME_ZH, _next_time),
)
_FORMS = [(re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in _MEANINGS]
