#!/usr/bin/env bash
# Recurrence rules of RFC 5545, two of them from its examples, in JavaScript and in Python.
#
# Packages: ical.js 2.2.1 (npm), python-dateutil 4.0.0 (the control)
# Expected: both give the same days, and for the examples those that the RFC prints.
# Observed: ical.js repeats "every 20th Monday of the year" (BYDAY=20MO) and "Monday of week number 20" (BYWEEKNO=20) each
#           week for the rest of the year, and the first of two days in each week (BYSETPOS=1) on both days. "Each 31st"
#           as a yearly rule is that of the first month only. A yearly rule of a 29 February that starts in another year
#           begins on 1 March. Monthly rules of days are right.
# So: a calendar shown by a program with ical.js can name other people than the one that answers the pager; write monthly
#     or weekly rules without BYSETPOS, or expand them on one side only.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q python-dateutil==4.0.0
cd "$dir"; npm install --silent --no-fund --no-audit ical.js@2.2.1
cat > expand.mjs <<'JAVASCRIPT'
import ICAL from "ical.js";

const [start, rule] = process.argv.slice(2);
const days = ICAL.Recur.fromString(rule).iterator(ICAL.Time.fromString(`${start}T09:00:00`));
console.log(Array.from({ length: 4 }, () => days.next().toString().slice(0, 10)).join(" "));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import subprocess
import sys
from datetime import datetime
from importlib.metadata import version
from itertools import islice

from dateutil.rrule import rrulestr

print("ical.js 2.2.1, python-dateutil", version("python-dateutil"))
changed = 0
for start, rule, expected, observed in (
    ("1997-05-19", "FREQ=YEARLY;BYDAY=20MO", "1997-05-19 1998-05-18 1999-05-17 2000-05-15",
     "1997-05-19 1997-05-26 1997-06-02 1997-06-09"),
    ("1997-05-12", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12 1998-05-11 1999-05-17 2000-05-15",
     "1997-05-19 1997-05-26 1997-06-02 1997-06-09"),
    ("2026-11-30", "FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=1", "2026-11-30 2026-12-07 2026-12-14 2026-12-21",
     "2026-11-30 2026-12-04 2026-12-07 2026-12-11"),
    ("2026-01-31", "FREQ=YEARLY;BYMONTHDAY=31", "2026-01-31 2026-03-31 2026-05-31 2026-07-31",
     "2026-01-31 2027-01-31 2028-01-31 2029-01-31"),
    ("2026-12-01", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2028-02-29 2032-02-29 2036-02-29 2040-02-29",
     "2027-03-01 2028-02-29 2032-02-29 2036-02-29"),
    ("2026-11-30", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", *["2026-11-30 2026-12-31 2027-01-29 2027-02-26"] * 2),
    ("2026-11-30", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=SU", *["2026-11-30 2026-12-13 2026-12-14 2026-12-27"] * 2),
):
    dates = islice(rrulestr(rule, dtstart=datetime.fromisoformat(start)), 4)
    control = " ".join(date.date().isoformat() for date in dates)
    command = ["node", "expand.mjs", start, rule]
    seen = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    print(f"{rule} from {start}\n  expected: {expected}\n  observed: ical.js {seen}\n            dateutil {control}")
    if (seen, control) != (observed, expected):
        print(f"  CHANGED: ical.js had {observed}, dateutil {expected}")
        changed = 1
sys.exit(changed)
PYTHON
