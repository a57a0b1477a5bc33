#!/usr/bin/env bash
# A calendar of weekly shifts, read and written again without an edit.
#
# Packages: ics 0.7.3, icalendar 7.3.2 (the control), recurring-ical-events 3.8.2 (shows the shifts)
# Expected: the shifts of the new file are those of the old one: same local times, same days left out.
# Observed: ics adds a line that was not there, CALSCALE:GEORGIAN, which is no calendar of RFC 5545 (that is GREGORIAN), so
#           a reader that looks at it refuses the file. Without that line, times are in UTC, while the weekly rule stays
#           as it was: from the end of March on, each shift is an hour late. A time without a zone is one in UTC, too.
# So: read calendars with it, but write them with icalendar, which keeps all of it.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q ics==0.7.3 icalendar==7.3.2 recurring-ical-events==3.8.2
cd "$dir"; venv/bin/python -W ignore - <<'PYTHON'
import sys
from datetime import datetime
from importlib.metadata import version

import ics
import icalendar
import recurring_ical_events
from recurring_ical_events.errors import InvalidCalendar

for name in ("ics", "icalendar", "recurring-ical-events"):
    print(name, version(name))
TEXT = "\r\n".join(
    """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//shifts//EN
BEGIN:VEVENT
UID:1@example.com
DTSTAMP:20261101T000000Z
DTSTART;TZID=Europe/Berlin:20270315T090000
DTEND;TZID=Europe/Berlin:20270315T170000
RRULE:FREQ=WEEKLY;COUNT=4
EXDATE;TZID=Europe/Berlin:20270322T090000
SUMMARY:Ann
END:VEVENT
BEGIN:VEVENT
UID:2@example.com
DTSTAMP:20261101T000000Z
DTSTART:20270401T090000
DTEND:20270401T170000
SUMMARY:Bob
END:VEVENT
END:VCALENDAR
""".split("\n"))


def shifts(text):
    try:
        found = recurring_ical_events.of(icalendar.Calendar.from_ical(text))
    except InvalidCalendar:
        return "refused"
    events = found.between(datetime(2027, 3, 1), datetime(2027, 5, 1))
    return sorted(f"{event['DTSTART'].dt:%m-%d %H:%M%z} {event['SUMMARY']}" for event in events)


WRITTEN = ics.Calendar(TEXT).serialize()
WANTED = ["03-15 09:00+0100 Ann", "03-29 09:00+0200 Ann", "04-01 09:00 Bob", "04-05 09:00+0200 Ann"]
changed = 0
for name, text, observed in (
    ("icalendar", icalendar.Calendar.from_ical(TEXT).to_ical().decode(), WANTED),
    ("ics", WRITTEN, "refused"),
    ("ics, without CALSCALE:GEORGIAN", WRITTEN.replace("CALSCALE:GEORGIAN\r\n", ""),
     ["03-15 08:00+0000 Ann", "03-29 08:00+0000 Ann", "04-01 09:00+0000 Bob", "04-05 08:00+0000 Ann"]),
):
    seen = shifts(text)
    print(f"written by {name}\n  expected: {WANTED}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
