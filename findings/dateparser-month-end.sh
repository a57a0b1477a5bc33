#!/usr/bin/env bash
# A reminder for "9am", said after nine o'clock on the last day of a month.
#
# Package: dateparser 1.5.0
# Expected: with PREFER_DATES_FROM="future", a time of day that has passed is that of tomorrow, on each day of the year.
# Observed: so it is until the last day of a month. Then the day becomes 1 and the month stays: on 30 November, "9am" is
#           9 o'clock on 1 November, 29 days ago, and on 31 December it is in December of the next year, eleven months
#           late. "tomorrow 9am" is right.
# So: compare what comes back with the time now, or resolve bare times yourself; test reminders on the 30th and 31st.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q dateparser==1.5.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import datetime
from importlib.metadata import version

import dateparser

print("dateparser", version("dateparser"))
changed = 0
for now, text, expected, observed in (
    ("2026-11-29 10:00", "9am", *["2026-11-30 09:00"] * 2),
    ("2026-11-30 10:00", "9am", "2026-12-01 09:00", "2026-11-01 09:00"),
    ("2026-11-30 10:00", "midnight", "2026-12-01 00:00", "2026-11-01 00:00"),
    ("2026-12-31 10:00", "9:00", "2027-01-01 09:00", "2027-12-01 09:00"),
    ("2027-02-28 10:00", "9:00", "2027-03-01 09:00", "2027-02-01 09:00"),
    ("2026-11-30 10:00", "17:30", *["2026-11-30 17:30"] * 2),
    ("2026-11-30 10:00", "tomorrow 9am", *["2026-12-01 09:00"] * 2),
):
    settings = {"RELATIVE_BASE": datetime.fromisoformat(now), "PREFER_DATES_FROM": "future"}
    seen = f"{dateparser.parse(text, languages=['en'], settings=settings):%Y-%m-%d %H:%M}"
    print(f"{text!r}, said at {now}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
