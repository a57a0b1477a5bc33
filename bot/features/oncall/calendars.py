"""Calendars in the iCalendar format (RFC 5545), whose events are shifts.

Repetitions are computed in local time, so that clock changes don't move them. Each event is read separately:
one that can't be read is reported and does not affect the others. Zones are resolved here, because icalendar
reuses the zones that a calendar defines for calendars that it reads later.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr  # type: ignore[import-untyped]
from icalendar import Calendar

from bot.chat_zones import load_zone
from bot.config.oncall import CalendarSource
from bot.features.oncall.fetching import MAX_BYTES, fetch
from bot.features.oncall.plan import (
    AHEAD,
    PAST,
    Holder,
    Plan,
    ScheduleUnavailable,
    Shift,
    make_plan,
    to_instant,
    to_wall_time,
)

MAX_REPETITIONS: Final = 50_000
"""Maximum number of repetitions of an event, counted from its start."""
FREQUENCIES: Final = frozenset({"HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
SLOW: Final = frozenset({"BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"})
"""Parts of an hourly rule that can make dateutil search for minutes."""
TIMES: Final = frozenset({"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"})
ERRORS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that icalendar and dateutil raise for invalid values."""
Component = Any
"""A component of icalendar. Its properties have some thirty types."""
FindPerson = Callable[[str, str], str]
"""Returns the key of a person by name and e-mail address, or "" if they are unknown."""


async def load_calendar(
    config: CalendarSource, home: Path, zone: str, now: float, find_person: FindPerson
) -> Plan:
    """Read a calendar. Times without a zone are in the calendar's own, or else in `zone`.

    Raises ScheduleUnavailable.
    """
    if config.url is None:
        data = await asyncio.to_thread(_read_file, home, config.file or "")
    else:
        secret = config.credential.get_secret_value() if config.credential else ""
        data = await fetch(config.url.get_secret_value(), _make_headers(secret))
    return await asyncio.to_thread(read_calendar, data, zone, now, find_person)


def read_calendar(data: bytes, zone: str, now: float, find_person: FindPerson) -> Plan:
    """Return the plan of a calendar's text. Raises ScheduleUnavailable."""
    try:
        calendar = Calendar.from_ical(data)
    except ERRORS:
        raise ScheduleUnavailable("this is not a calendar in the iCalendar format") from None
    reader = _Reader(calendar, zone, now, find_person)
    return make_plan(reader.list_shifts(), now - PAST, now + AHEAD, reader.problems)


def _read_file(home: Path, name: str) -> bytes:
    path = (home / name).resolve()
    if not path.is_relative_to(home.resolve()) or not path.is_file():
        raise ScheduleUnavailable(f"{name} is not a file in the data directory")
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    except OSError as error:
        raise ScheduleUnavailable(f"{name} can't be read: {error.strerror}") from None
    if not data:
        raise ScheduleUnavailable(f"{name} is empty or larger than {MAX_BYTES:,} bytes")
    return data


def _make_headers(secret: str) -> dict[str, str]:
    basic = f"Basic {base64.b64encode(secret.encode()).decode()}"
    proof = {"authorization": basic if ":" in secret else f"Bearer {secret}"} if secret else {}
    return {"accept": "text/calendar", **proof}


@dataclass(frozen=True, slots=True)
class _Moment:
    """A local time with its zone, or a day that begins then."""

    wall: datetime
    zone: tzinfo
    is_date: bool = False

    @property
    def instant(self) -> float:
        return to_instant(self.wall, self.zone)


class _Reader:
    """Reads the events of a calendar. `problems` lists those that can't be read."""

    def __init__(self, calendar: Component, zone: str, now: float, find_person: FindPerson) -> None:
        self._calendar, self._find_person = calendar, find_person
        self._since, self._until = now - PAST, now + AHEAD
        self._own = {str(one.get("TZID")): one for one in calendar.walk("VTIMEZONE")}
        named = str(calendar.get("X-WR-TIMEZONE", "")).strip() or zone
        self._zone: tzinfo = load_zone(named) or ZoneInfo(zone)
        known = load_zone(named) is not None
        self.problems = [] if known else [f"the time zone {named} is unknown; {zone} is used instead"]

    def list_shifts(self) -> list[Shift]:
        """Return the events and their repetitions that touch the plan."""
        shifts: list[Shift] = []
        moved: set[tuple[str, float]] = set()
        # Changed repetitions come first, since they replace those of their series.
        for one in sorted(self._calendar.walk("VEVENT"), key=lambda event: "RECURRENCE-ID" not in event):
            try:
                shifts += self._read_event(one, moved)
            except ERRORS as error:
                title = str(one.get("SUMMARY") or one.get("UID") or "?")
                self.problems.append(f"{title}: {error}")
        return shifts

    def _read_event(self, event: Component, moved: set[tuple[str, float]]) -> list[Shift]:
        if errors := [f"{name}: {text}" for name, text in event.errors if name in TIMES]:
            raise ValueError(errors[0])
        if len(_as_list(event.get("DTSTART"))) != 1:
            raise ValueError("it must have one start")
        start, uid = self._read_moment(event["DTSTART"]), str(event.get("UID", ""))
        instance = event.get("RECURRENCE-ID")
        if instance is not None:
            if "RANGE" in instance.params:
                raise ValueError("a change of all later repetitions is not supported")
            moved.add((uid, self._read_moment(instance).instant))
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            return []
        holders, shifts = self._find_holders(event), []
        for wall in self._list_starts(event, start):
            begin, end = to_instant(wall, start.zone), self._find_end(event, start, wall)
            is_replaced = instance is None and (uid, begin) in moved
            if end > self._since and begin < self._until and not is_replaced:
                shifts.append(Shift(holders, begin, end))
        return shifts

    def _find_holders(self, event: Component) -> tuple[Holder, ...]:
        """Return the person in the title if they are known, otherwise the attendees, or the title if none."""
        title = " ".join(str(event.get("SUMMARY", "")).split())
        people = [one for one in _as_list(event.get("ATTENDEE")) if one.params.get("PARTSTAT") != "DECLINED"]
        emails = [str(one)[7:] if str(one).lower().startswith("mailto:") else "" for one in people]
        if not people or self._find_person(title, ""):
            return (Holder(title),)
        pairs = zip(people, emails, strict=True)
        return tuple(Holder(str(one.params.get("CN") or email or one), email) for one, email in pairs)

    def _find_end(self, event: Component, start: _Moment, wall: datetime) -> float:
        """Return the end of a repetition: at the same time of day in all of them, except that the hours of a
        DURATION are exact.
        """
        if "DTEND" in event:
            end = to_wall_time(self._read_moment(event["DTEND"]).instant, start.zone)
            return to_instant(end + (wall - start.wall), start.zone)
        length = event["DURATION"].dt if "DURATION" in event else timedelta(days=int(start.is_date))
        return to_instant(wall + timedelta(days=length.days), start.zone) + length.seconds

    def _list_starts(self, event: Component, start: _Moment) -> Iterator[datetime]:
        """Yield the local starts of an event and its repetitions."""
        last = to_wall_time(self._until, start.zone)
        walls = {start.wall}
        for rule in _as_list(event.get("RRULE")):
            walls.update(_repeat(rule, start, last))
        for one in self._list_moments(event.get("RDATE")):
            walls.add(one.wall if one.is_date else to_wall_time(one.instant, start.zone))
        dropped = [*self._list_moments(event.get("EXDATE"))]
        dates = {one.wall.date() for one in dropped if one.is_date}
        instants = {one.instant for one in dropped if not one.is_date}
        for wall in walls:
            if wall.date() not in dates and to_instant(wall, start.zone) not in instants:
                yield wall

    def _list_moments(self, lists: Any) -> Iterator[_Moment]:
        for value in (value for one in _as_list(lists) for value in one.dts):
            if isinstance(value.dt, tuple):
                raise ValueError("repetitions with a length of their own are not supported")
            yield self._read_moment(value)

    def _read_moment(self, value: Any) -> _Moment:
        """Return a time in the zone of its TZID, in UTC, or else in the calendar's zone."""
        if not isinstance(value.dt, datetime):
            return _Moment(datetime.combine(value.dt, time()), self._zone, is_date=True)
        zone = UTC if value.dt.tzinfo is not None else self._zone
        if name := str(value.params.get("TZID", "")):
            zone = self._find_zone(name, value.dt.tzinfo)
        return _Moment(value.dt.replace(tzinfo=None), zone)

    def _find_zone(self, name: str, found: tzinfo | None) -> tzinfo:
        """Return the zone of a TZID: the IANA zone that icalendar found, or else the calendar's own."""
        if isinstance(found, ZoneInfo):
            return found
        if name not in self._own:
            raise ValueError(f"the time zone {name} is unknown")
        zone: tzinfo = self._own[name].to_tz(lookup_tzid=False)
        return zone


def _repeat(rule: Any, start: _Moment, last: datetime) -> Iterable[datetime]:
    """Return the local times of a rule up to `last`. Raises ValueError and TypeError."""
    frequency = str(rule.get("FREQ", [""])[0])
    if frequency not in FREQUENCIES or (frequency == "HOURLY" and not SLOW.isdisjoint(rule)):
        raise ValueError(f"repetitions like {rule.to_ical().decode()} are not supported")
    if any(number < 1 for name in ("INTERVAL", "COUNT") for number in rule.get(name, ())):
        raise ValueError("INTERVAL and COUNT must be positive")
    end = min([last, *(_find_last(until, start) for until in rule.get("UNTIL", ()))])
    most = min([MAX_REPETITIONS, *rule.get("COUNT", ())])
    parts = [part for part in rule.to_ical().decode().split(";") if part[:5] not in ("UNTIL", "COUNT")]
    found = list(islice(rrulestr(";".join(parts), dtstart=start.wall).replace(until=end), most))
    if len(found) == MAX_REPETITIONS:
        raise ValueError(f"it has more than {MAX_REPETITIONS:,} repetitions")
    return found


def _find_last(until: date | datetime, start: _Moment) -> datetime:
    """Return the end of a rule as local time: a date includes the whole day."""
    if not isinstance(until, datetime):
        return datetime.combine(until, time.max)
    return until if until.tzinfo is None else to_wall_time(until.timestamp(), start.zone)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
