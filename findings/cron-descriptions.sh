#!/usr/bin/env bash
# The sentence that describes a schedule to the person who confirms it, and the days on which it runs.
#
# Packages: cron-descriptor 2.2.1, croniter 7.0.0
# Expected: if both day fields are restricted, either is enough, so the sentence says "or"; the same days have sentences of
#           the same meaning, whether written as a list or as a range.
# Observed: a weekday and a list of weekdays are described with "or". A range is not: "on day 1 of the month, Monday
#           through Friday" reads as "the first, if it's a working day" (once a month, at most), and is each working day
#           and the first.
# So: show the next few times beside the sentence, or only those.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q cron-descriptor==2.2.1 croniter==7.0.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import datetime
from importlib.metadata import version

from cron_descriptor import get_description
from croniter import croniter_range

for name in ("cron-descriptor", "croniter"):
    print(name, version(name))
FIRST = "At 09:00 AM, on day 1 of the month, "
changed = 0
for expression, expected, observed, runs in (
    ("0 9 1 * 1", "or on Monday", "or on Monday", 5),
    ("0 9 1 * 1,2,3,4,5", *["or on Monday, Tuesday, Wednesday, Thursday, and Friday"] * 2, 23),
    ("0 9 1 * 1-5", "or Monday through Friday", "Monday through Friday", 23),
    ("0 9 1 * 6-7", "or Saturday through Sunday", "Saturday through Sunday", 9),
):
    seen = get_description(expression).removeprefix(FIRST)
    count = sum(1 for _ in croniter_range(datetime(2026, 12, 1), datetime(2026, 12, 31, 23), expression))
    print(f"{expression}: {FIRST}…\n  expected: … {expected}\n  observed: … {seen}")
    print(f"            it runs {count} times in December")
    if (seen, count) != (observed, runs):
        print(f"  CHANGED: it was {observed!r} and {runs}")
        changed = 1
sys.exit(changed)
PYTHON
