#!/usr/bin/env bash
# Schedules in English, as recurrence rules.
#
# Package: recurrent 0.4.1
# Expected: the rule of the whole sentence, or None, as for "every morning" and "twice a week".
# Observed: the part that isn't understood is dropped, and the rest is a rule. "Every half hour" is each hour, "every hour
#           on weekdays" once a day, "every business day" each day, also on Sunday; the second of two times is gone,
#           "every day at midnight" and "every fri 9am" have no time, "until christmas" has no end, and "except sunday"
#           leaves out one Sunday. "Monday to friday at 9am" is a single date.
# So: accept a sentence only in forms that were tested, and show the next dates of the rule.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q recurrent==0.4.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import datetime
from importlib.metadata import version

from recurrent import RecurringEvent

print("recurrent", version("recurrent"))
changed = 0
for sentence, expected, observed in (
    ("every other friday at 9am", "every second Friday", "BYDAY=FR;BYHOUR=9;BYMINUTE=0;INTERVAL=2;FREQ=WEEKLY"),
    ("last friday of every month", "the last Friday", "BYDAY=-1FR;INTERVAL=1;FREQ=MONTHLY"),
    ("every morning", "a rule, or None", "None"),
    ("every half hour", "30 minutes, or None", "INTERVAL=1;FREQ=HOURLY"),
    ("every hour on weekdays", "HOURLY, or None", "BYDAY=MO,TU,WE,TH,FR;INTERVAL=1;FREQ=WEEKLY"),
    ("every business day", "Monday to Friday, or None", "INTERVAL=1;FREQ=DAILY"),
    ("every day at 9am and 5pm", "two times, or None", "BYHOUR=9;BYMINUTE=0;INTERVAL=1;FREQ=DAILY"),
    ("every day at midnight", "BYHOUR=0, or None", "INTERVAL=1;FREQ=DAILY"),
    ("every fri 9am", "BYHOUR=9, or None", "BYDAY=FR;INTERVAL=1;FREQ=WEEKLY"),
    ("every friday until christmas", "UNTIL, or None", "BYDAY=FR;INTERVAL=1;FREQ=WEEKLY"),
    ("every day except sunday", "Monday to Saturday, or None", "INTERVAL=1;FREQ=DAILY EXDATE:20261206"),
    ("monday to friday at 9am", "Monday to Friday, or None", "2026-12-07 09:00:00"),
):
    found = RecurringEvent(now_date=datetime(2026, 11, 30, 10)).parse(sentence)
    seen = " ".join(str(found).removeprefix("RRULE:").split())
    print(f"{sentence}\n  expected: {expected}\n  observed: {seen}")
    if not seen.startswith(observed):
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
