#!/usr/bin/env bash
# Shifts of a calendar that touch December, read by three libraries.
#
# Packages: icalevents 0.3.1, ical 14.3.1, recurring-ical-events 3.8.2 (the control)
# Expected: the same shifts, as RFC 5545 says: one that began before and is still on, one of RDATE beside that of DTSTART,
#           a moved one at its new day only, and with RANGE=THISANDFUTURE all that follow moved.
# Observed: icalevents leaves out the shift of a series that is on when the period begins (but not a single one), and all
#           of RDATE; a shift moved out of the period stays at its old day. ical leaves out the first shift if only RDATE
#           follows, and shows a moved shift twice if the calendar names the old time in UTC. Both move one shift of
#           THISANDFUTURE. None raises or warns.
# So: for "who is on call now", ask for a period that begins well before, and test a reader with these six.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q icalevents==0.3.1 ical==14.3.1 recurring-ical-events==3.8.2 icalendar==7.3.2 tzdata
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events
from ical.calendar_stream import IcsCalendarStream
from icalevents import icalevents

for name in ("icalevents", "ical", "recurring-ical-events"):
    print(name, version(name))
BEGIN, END = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


def write(*events):
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test"]
    for event in events:
        lines += ["BEGIN:VEVENT", "UID:1", "DTSTAMP:20260101T000000Z", *event.split(), "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def read_icalevents(text):
    return [event.start for event in icalevents.events(string_content=text.encode(), start=BEGIN, end=END)]


def read_ical(text):
    timeline = IcsCalendarStream.calendar_from_ics(text).timeline_tz(ZoneInfo("UTC"))
    return [event.dtstart for event in timeline.overlapping(BEGIN, END)]


def read_recurring(text):
    events = recurring_ical_events.of(icalendar.Calendar.from_ical(text)).between(BEGIN, END)
    return [event.start for event in events]


def show(starts):
    return " ".join(f"{start.day}.{start.hour}h" for start in sorted(start.astimezone(UTC) for start in starts))


WEEK = "DTSTART:20261123T080000Z DURATION:P2W"
SERIES = "DTSTART;TZID=Europe/Berlin:20261207T090000 DURATION:PT8H RRULE:FREQ=WEEKLY;COUNT=3"
MOVED = "DURATION:PT8H RECURRENCE-ID"
changed = 0
for name, events, expected, first, second in (
    ("on since November", [WEEK], "23.8h", "23.8h", "23.8h"),
    ("the same as a series", [f"{WEEK} RRULE:FREQ=WEEKLY;INTERVAL=3;COUNT=2"], "23.8h 14.8h", "14.8h", "23.8h 14.8h"),
    ("a further day", ["DTSTART:20261207T080000Z DURATION:PT8H RDATE:20261210T080000Z"], "7.8h 10.8h", "7.8h", "10.8h"),
    ("moved to January", [SERIES, f"{MOVED};TZID=Europe/Berlin:20261214T090000 DTSTART:20270115T080000Z"],
     "7.8h 21.8h", "7.8h 14.8h 21.8h", "7.8h 21.8h"),
    ("moved by a day", [SERIES, f"{MOVED}:20261214T080000Z DTSTART:20261215T080000Z"],
     "7.8h 15.8h 21.8h", "7.8h 15.8h 21.8h", "7.8h 14.8h 15.8h 21.8h"),
    ("moved with all later ones",
     [SERIES, f"{MOVED};RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261214T090000 DTSTART;TZID=Europe/Berlin:20261214T110000"],
     "7.8h 14.10h 21.10h", "7.8h 14.10h 21.8h", "7.8h 14.10h 21.8h"),
):
    text = write(*events)
    seen = [show(read(text)) for read in (read_icalevents, read_ical, read_recurring)]
    print(f"{name}\n  expected: {expected}\n  observed: icalevents {seen[0]}, ical {seen[1]}")
    print(f"            recurring-ical-events {seen[2]}")
    if seen != [first, second, expected]:
        print(f"  CHANGED: it was {first}, {second} and {expected}")
        changed = 1
sys.exit(changed)
PYTHON
