"""Calendars as systems and people write them: zones, ends of series, changes, and what can't be read."""

from __future__ import annotations

import asyncio
import math
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.config.oncall import CalendarSource
from bot.features.oncall.calendars import load_calendar, read_calendar
from bot.features.oncall.fetching import MAX_BYTES
from bot.features.oncall.plan import Plan, ScheduleUnavailable, to_instant

OFFICE = """BEGIN:VTIMEZONE
TZID:Office
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:{0}
TZOFFSETTO:{0}
END:STANDARD
END:VTIMEZONE"""


def event(title: str, *lines: str, uid: str = "") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid or title}", f"SUMMARY:{title}", *lines, "END:VEVENT"])


def calendar(*parts: str) -> bytes:
    lines = "\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", *parts, "END:VCALENDAR", ""])
    return lines.replace("\n", "\r\n").encode()


def moment(text: str, zone: str = "Europe/Berlin") -> float:
    return to_instant(datetime.fromisoformat(text), ZoneInfo(zone))


def nobody(_name: str, _email: str) -> str:
    return ""


def plan(*parts: str, now: str = "2026-01-05 00:00", zone: str = "UTC") -> Plan:
    return read_calendar(calendar(*parts), zone, moment(now), nobody)


def spans(found: Plan, zone: str = "Europe/Berlin") -> list[str]:
    """The periods with somebody, as local time."""

    def shown(time: float) -> str:
        return "" if math.isinf(time) else f"{datetime.fromtimestamp(time, ZoneInfo(zone)):%m-%d %H:%M}"

    return [
        f"{shown(one.start)}-{shown(one.end)} {'+'.join(sorted(holder.name for holder in one.holders))}"
        for one in found.periods
        if one.holders
    ]


def test_a_zone_by_name_and_gaps_between() -> None:
    found = plan(
        event(
            "Ada", "DTSTART;TZID=Europe/Berlin:20260105T090000", "DTEND;TZID=Europe/Berlin:20260106T090000"
        ),
        event("Bo", "DTSTART:20260106T100000Z", "DTEND:20260107T080000Z"),
    )
    assert spans(found) == ["01-05 09:00-01-06 09:00 Ada", "01-06 11:00-01-07 09:00 Bo"]
    gap = found.find_periods(moment("2026-01-06 10:00"))
    assert gap is not None
    assert [[one.name for one in period.holders] for period in gap] == [["Ada"], [], ["Bo"]]


def test_overlapping_shifts_are_of_both() -> None:
    found = plan(
        event("Ada", "DTSTART:20260105T080000Z", "DTEND:20260105T120000Z"),
        event("Bo", "DTSTART:20260105T100000Z", "DTEND:20260105T140000Z"),
        event("Ada", "DTSTART:20260105T140000Z", "DTEND:20260105T150000Z", uid="again"),
    )
    assert spans(found, "UTC") == [
        "01-05 08:00-01-05 10:00 Ada",
        "01-05 10:00-01-05 12:00 Ada+Bo",
        "01-05 12:00-01-05 14:00 Bo",
        "01-05 14:00-01-05 15:00 Ada",
    ]


@pytest.mark.parametrize("until", ["20260108", "20260108T180000", "20260108T170000Z"])
def test_the_last_evening_of_a_series(until: str) -> None:
    """A date includes its whole day, and a local time is that of the zone: not of UTC."""
    found = plan(
        event(
            "Ada",
            "DTSTART;TZID=Europe/Berlin:20260105T180000",
            "DTEND;TZID=Europe/Berlin:20260105T230000",
            f"RRULE:FREQ=DAILY;UNTIL={until}",
        )
    )
    assert [one[:5] for one in spans(found)] == ["01-05", "01-06", "01-07", "01-08"]


def test_an_evening_in_america_is_not_cut_by_utc() -> None:
    zone = "America/Los_Angeles"
    found = plan(
        event(
            "Ada",
            f"DTSTART;TZID={zone}:20260105T200000",
            f"DTEND;TZID={zone}:20260105T220000",
            "RRULE:FREQ=DAILY;UNTIL=20260106",
        )
    )
    assert spans(found, zone) == ["01-05 20:00-01-05 22:00 Ada", "01-06 20:00-01-06 22:00 Ada"]


def test_the_zone_of_a_calendar_is_for_times_without_one() -> None:
    found = plan(
        "X-WR-TIMEZONE:Europe/Berlin",
        event("floating", "DTSTART:20260105T090000", "DTEND:20260105T100000"),
        event("utc", "DTSTART:20260105T090000Z", "DTEND:20260105T100000Z"),
        event("tokyo", "DTSTART;TZID=Asia/Tokyo:20260105T090000", "DTEND;TZID=Asia/Tokyo:20260105T100000"),
        event("day", "DTSTART;VALUE=DATE:20260107", "DTEND;VALUE=DATE:20260109"),
        event("one day", "DTSTART;VALUE=DATE:20260110"),
        zone="America/New_York",
    )
    assert spans(found) == [
        "01-05 01:00-01-05 02:00 tokyo",
        "01-05 09:00-01-05 10:00 floating",
        "01-05 10:00-01-05 11:00 utc",
        "01-07 00:00-01-09 00:00 day",
        "01-10 00:00-01-11 00:00 one day",
    ]
    assert not found.problems


def test_without_a_zone_the_configured_one_counts() -> None:
    found = plan(event("Ada", "DTSTART:20260105T090000", "DTEND:20260105T100000"), zone="America/New_York")
    assert spans(found) == ["01-05 15:00-01-05 16:00 Ada"]
    found = plan("X-WR-TIMEZONE:Nowhere/Land", event("Ada", "DTSTART:20260105T090000", "DURATION:PT1H"))
    assert spans(found, "UTC") == ["01-05 09:00-01-05 10:00 Ada"]
    assert found.problems == ["the time zone Nowhere/Land is unknown; UTC is used instead"]


@pytest.mark.parametrize(("offset", "start"), [("+0300", "07:00"), ("-0500", "15:00"), ("+0300", "07:00")])
def test_a_second_calendar_has_its_own_zone_of_the_same_name(offset: str, start: str) -> None:
    found = plan(OFFICE.format(offset), event("Ada", "DTSTART;TZID=Office:20260105T090000", "DURATION:PT1H"))
    assert spans(found, "Europe/Berlin")[0].startswith(f"01-05 {start}")


def test_a_zone_that_only_an_earlier_calendar_defined_is_unknown() -> None:
    shift = event("Ada", "DTSTART;TZID=Office:20260105T090000", "DURATION:PT1H")
    assert spans(plan(OFFICE.format("+0300"), shift))
    found = plan(shift, event("Bo", "DTSTART:20260105T090000Z", "DURATION:PT1H"))
    assert found.problems == ["Ada: the time zone Office is unknown"]
    assert spans(found, "UTC") == ["01-05 09:00-01-05 10:00 Bo"]


def test_names_of_zones_of_windows() -> None:
    zone = "TZID=W. Europe Standard Time"
    found = plan(event("Ada", f"DTSTART;{zone}:20260705T090000", "DURATION:PT1H"), now="2026-07-01 00:00")
    assert spans(found) == ["07-05 09:00-07-05 10:00 Ada"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["DTSTART:20260105T090000Z", "RRULE:FREQ=FORTNIGHTLY"], "RRULE: Expected frequency"),
        (["DTSTART:20260105T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=YEARLY"], "unknown parameter 'RSCALE'"),
        (["DTSTART:20260105T090000Z", "RRULE:FREQ=DAILY;COUNT=x"], "RRULE: Expected int"),
        (["DTSTART:20260105T090000Z", "RRULE:FREQ=DAILY;COUNT=0"], "INTERVAL and COUNT must be positive"),
        (["DTSTART:20260105T090000Z", "RRULE:FREQ=SECONDLY"], "FREQ=SECONDLY are not supported"),
        (
            ["DTSTART:20260105T090000Z", "RRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=3"],
            "BYMONTHDAY=3;BYMONTH=2 are not supported",
        ),
        (["DTSTART:20000105T090000Z", "RRULE:FREQ=HOURLY"], "more than 50,000 repetitions"),
        (["DTSTART:tomorrow"], "DTSTART: Wrong date format"),
        (["DURATION:PT1H"], "it must have one start"),
        (["DTSTART:20260105T090000Z", "DTEND:2026XX"], "DTEND: Expected time"),
        (
            ["DTSTART:20260105T090000Z", "RDATE;VALUE=PERIOD:20260106T090000Z/PT5H"],
            "repetitions with a length of their own",
        ),
        (["DTSTART;TZID=Nowhere/Land:20260105T090000"], "the time zone Nowhere/Land is unknown"),
        (["DTSTART:20260105T090000Z", "DTSTART:20260106T090000Z"], "it must have one start"),
    ],
)
def test_a_bad_series_hides_no_other(lines: list[str], problem: str) -> None:
    good = event("Bo", "DTSTART:20260105T090000Z", "DTEND:20260105T100000Z")
    for parts in ([event("Ada", *lines), good], [good, event("Ada", *lines)]):
        found = plan(*parts)
        assert spans(found, "UTC") == ["01-05 09:00-01-05 10:00 Bo"]
        (named,) = found.problems
        assert named.startswith("Ada: ")
        assert problem in named


def test_two_events_with_one_id_are_both_seen() -> None:
    found = plan(
        event("Ada", "DTSTART:20260105T090000Z", "DTEND:20260105T100000Z", uid="x"),
        event("Bo", "DTSTART:20260106T090000Z", "DTEND:20260106T100000Z", uid="x"),
    )
    assert spans(found, "UTC") == ["01-05 09:00-01-05 10:00 Ada", "01-06 09:00-01-06 10:00 Bo"]


def test_changed_and_cancelled_repetitions() -> None:
    found = plan(
        event(
            "Ada",
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "DTEND;TZID=Europe/Berlin:20260105T170000",
            "RRULE:FREQ=DAILY;COUNT=5",
            "EXDATE;TZID=Europe/Berlin:20260107T090000",
            uid="x",
        ),
        event(
            "Bo",
            "RECURRENCE-ID:20260106T080000Z",
            "DTSTART:20260106T100000Z",
            "DTEND:20260106T110000Z",
            uid="x",
        ),
        event(
            "Ada",
            "RECURRENCE-ID;TZID=Europe/Berlin:20260108T090000",
            "DTSTART:20260108T080000Z",
            "STATUS:CANCELLED",
            uid="x",
        ),
        event("Cy", "DTSTART:20260110T080000Z", "DTEND:20260110T090000Z", "STATUS:CANCELLED"),
    )
    assert spans(found) == [
        "01-05 09:00-01-05 17:00 Ada",
        "01-06 11:00-01-06 12:00 Bo",
        "01-09 09:00-01-09 17:00 Ada",
    ]


def test_a_change_of_all_later_repetitions_is_named() -> None:
    found = plan(
        event(
            "Ada",
            "RECURRENCE-ID;RANGE=THISANDFUTURE:20260106T080000Z",
            "DTSTART:20260106T080000Z",
        )
    )
    assert found.problems == ["Ada: a change of all later repetitions is not supported"]


def test_additional_and_excluded_days() -> None:
    found = plan(
        event(
            "Ada",
            "DTSTART:20260105T090000Z",
            "DURATION:PT1H",
            "RRULE:FREQ=DAILY;COUNT=3",
            "RDATE:20260120T120000Z",
            "EXDATE;VALUE=DATE:20260106",
        )
    )
    assert [one[:11] for one in spans(found, "UTC")] == ["01-05 09:00", "01-07 09:00", "01-20 12:00"]


def test_shifts_follow_the_clock_on_the_wall() -> None:
    """The end of a shift has a time of day; the hours of a DURATION are exact, its days are not."""
    zone = "TZID=Europe/Berlin"
    found = plan(
        event(
            "Ada",
            f"DTSTART;{zone}:20260327T210000",
            f"DTEND;{zone}:20260328T090000",
            "RRULE:FREQ=DAILY;COUNT=3",
        ),
        event("Bo", f"DTSTART;{zone}:20260328T210000", "DURATION:PT12H"),
        event("Cy", f"DTSTART;{zone}:20260328T200000", "DURATION:P1DT1H"),
        now="2026-03-27 00:00",
    )
    assert spans(found) == [
        "03-27 21:00-03-28 09:00 Ada",
        "03-28 20:00-03-28 21:00 Cy",
        "03-28 21:00-03-29 09:00 Ada+Bo+Cy",
        "03-29 09:00-03-29 10:00 Bo+Cy",
        "03-29 10:00-03-29 21:00 Cy",
        "03-29 21:00-03-30 09:00 Ada",
    ]


def test_a_shift_in_the_lost_hour_has_no_length_and_hides_nobody() -> None:
    zone = "TZID=Europe/Berlin"
    found = plan(
        event("Ada", f"DTSTART;{zone}:20260329T023000", f"DTEND;{zone}:20260329T033000"),
        event("Bo", f"DTSTART;{zone}:20260329T000000", f"DTEND;{zone}:20260329T060000"),
        now="2026-03-29 00:00",
    )
    assert spans(found) == ["03-29 00:00-03-29 06:00 Bo"]


def test_a_rule_that_never_matches_ends() -> None:
    found = plan(event("Ada", "DTSTART:20260105T090000Z", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"))
    assert not found.problems


def test_the_people_of_an_event() -> None:
    people = [
        "ATTENDEE;CN=Bo Long:mailto:bo@example.org",
        "ATTENDEE:MAILTO:cy@example.org",
        "ATTENDEE;PARTSTAT=DECLINED:mailto:di@example.org",
    ]
    data = calendar(
        event("on call", "DTSTART:20260105T090000Z", "DURATION:PT1H", *people),
        event(" Ada   Love ", "DTSTART:20260105T110000Z", "DURATION:PT1H", *people, uid="2"),
    )
    found = read_calendar(
        data, "UTC", moment("2026-01-05 00:00"), lambda name, _: name if "Ada" in name else ""
    )
    holders = [one.holders for one in found.periods if one.holders]
    assert [[(one.name, one.email) for one in some_of] for some_of in holders] == [
        [("Bo Long", "bo@example.org"), ("cy@example.org", "cy@example.org")],
        [("Ada Love", "")],
    ]


@pytest.mark.parametrize("data", [b"", b"<html></html>", b"BEGIN:VCALENDAR\r\n", b"\xff\xfe\x00"])
def test_what_is_no_calendar(data: bytes) -> None:
    with pytest.raises(ScheduleUnavailable, match="not a calendar"):
        read_calendar(data, "UTC", 0.0, nobody)


FRAGMENTS = """\
BEGIN:VEVENT
END:VEVENT
DTSTART:20260105T090000
DTSTART;VALUE=DATE:20260105
DTSTART;TZID=Office:20260105T090000
DTSTART;TZID=:20260105T090000
DTEND:20260106T090000Z
RRULE:FREQ=DAILY
RRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20260201
RRULE:
EXDATE:x
RDATE:20260107T090000
RECURRENCE-ID:20260106T090000
DURATION:P1W
DURATION:-PT1H
UID:x
SUMMARY:a\\,b
ATTENDEE:
STATUS:CANCELLED
BEGIN:VTIMEZONE
END:VTIMEZONE
TZID:Office
BEGIN:STANDARD
END:STANDARD
TZOFFSETTO:x
X-WR-TIMEZONE:
;;;""".splitlines()


@given(some.lists(some.sampled_from(FRAGMENTS), max_size=14))
def test_odd_calendars_are_read_or_refused(parts: list[str]) -> None:
    for data in (calendar(*parts), calendar("BEGIN:VEVENT", *parts, "END:VEVENT")):
        try:
            found = read_calendar(data, "UTC", moment("2026-01-05 00:00"), nobody)
        except ScheduleUnavailable:
            continue
        assert found.periods[0].start == found.since


class TestFiles:
    """A file is read again each time, and only below the data directory."""

    async def test_a_file_and_its_change(self, tmp_path: Path) -> None:
        path = tmp_path / "team" / "on-call.ics"
        path.parent.mkdir()
        for name in ("Ada", "Bo"):
            await asyncio.to_thread(
                path.write_bytes, calendar(event(name, "DTSTART:20260105T090000Z", "DURATION:PT1H"))
            )
            config = CalendarSource(file="team/on-call.ics")
            found = await load_calendar(config, tmp_path, "UTC", moment("2026-01-05 00:00"), nobody)
            assert [one[-len(name) :] for one in spans(found)] == [name]

    @pytest.mark.parametrize(
        "name", ["../outside.ics", "link.ics", "missing.ics", ".", "/etc/hostname", "pipe"]
    )
    async def test_nothing_else(self, tmp_path: Path, name: str) -> None:
        import os

        home = tmp_path / "home"
        home.mkdir()
        (tmp_path / "outside.ics").write_bytes(calendar())
        (home / "link.ics").symlink_to(tmp_path / "outside.ics")
        os.mkfifo(home / "pipe")
        with pytest.raises(ScheduleUnavailable, match="is not a file in the data directory"):
            await load_calendar(CalendarSource(file=name), home, "UTC", 0.0, nobody)

    async def test_not_too_large(self, tmp_path: Path) -> None:
        (tmp_path / "large.ics").write_bytes(b"x" * (MAX_BYTES + 1))
        with pytest.raises(ScheduleUnavailable, match="larger than"):
            await load_calendar(CalendarSource(file="large.ics"), tmp_path, "UTC", 0.0, nobody)
