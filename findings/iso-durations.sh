#!/usr/bin/env bash
# Durations of ISO 8601, which JSON Schema calls "format": "duration", in five libraries.
#
# Packages: pydantic 2.14.4, msgspec 0.23.0, isodate 0.7.2, pendulum 3.3.0, icalendar 7.3.2
# Expected: weeks are a fixed length and read by all. A month isn't: it stays a month, or is refused where only a fixed
#           length can be kept. A sign is read or refused by all; what a library's own schema allows, it accepts.
# Observed: pydantic reads P1M as 30 days and P1Y as 365, and writes it as P30D. msgspec publishes the same format and
#           refuses weeks, in which shifts are counted (P1W). Pendulum refuses a sign, so a reminder "15 minutes before"
#           (-PT15M) fails, and P1W2D. isodate and pendulum keep months.
# So: for rotations and retention, take a number and a unit in two fields, or refuse Y and M before a library reads them.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q pydantic==2.14.4 msgspec==0.23.0 isodate==0.7.2 pendulum==3.3.0 icalendar==7.3.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import json
import sys
from datetime import timedelta
from importlib.metadata import version

import icalendar
import isodate
import msgspec
import pendulum
import pydantic

NAMES = ("pydantic", "msgspec", "isodate", "pendulum", "icalendar")
print(*(f"{name} {version(name)}" for name in NAMES))
ADAPTER = pydantic.TypeAdapter(timedelta)
READERS = (
    lambda text: ADAPTER.validate_json(json.dumps(text)),
    lambda text: msgspec.json.decode(json.dumps(text), type=timedelta),
    isodate.parse_duration,
    pendulum.parse,
    icalendar.vDuration.from_ical,
)


def ask(read, text):
    try:
        found = read(text)
    except ValueError:
        return "refused"
    months = 12 * getattr(found, "years", 0) + getattr(found, "months", 0)
    return f"{int(months)} months" if months else found.total_seconds() / 86400


changed = 0
schemas = [ADAPTER.json_schema(), msgspec.json.schema(timedelta)]
written = ADAPTER.dump_json(ADAPTER.validate_json('"P1M"'))
print(f"schemas of pydantic and msgspec: {schemas}\nP1M, read and written by pydantic\n  observed: {written}")
changed |= schemas != [{"type": "string", "format": "duration"}] * 2 or written != b'"P30D"'
for text, expected, *observed in (
    ("PT36H", 1.5, 1.5, 1.5, 1.5, 1.5, 1.5),
    ("P1W", 7, 7.0, "refused", 7.0, 7.0, 7.0),
    ("P1W2D", "9, or refused", 9.0, "refused", 9.0, "refused", 9.0),
    ("P1M", "1 months, or refused", 30.0, "refused", "1 months", "1 months", "refused"),
    ("P1Y", "12 months, or refused", 365.0, "refused", "12 months", "12 months", "refused"),
    ("-PT36H", -1.5, -1.5, -1.5, -1.5, "refused", -1.5),
):
    seen = [ask(read, text) for read in READERS]
    print(f"{text} in days\n  expected: {expected}\n  observed: {dict(zip(NAMES, seen))}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
