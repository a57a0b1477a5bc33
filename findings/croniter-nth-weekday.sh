#!/usr/bin/env bash
# Cron expressions with a day of the month and a first, last or nearest weekday.
#
# Packages: croniter 7.0.0, cronsim 2.8 (the control)
# Expected: if both day fields are restricted, either is enough, as the documentation of both says: "0 9 1 * mon#1" runs on
#           each 1st and on each first Monday.
# Observed: in croniter, `#` in the weekday drops the day of the month, and `W` in the day of the month drops the weekday.
#           With `L` in one field and an nth or last weekday in the other one, both are required: the last day of the
#           month or the first Monday is never, and raises CroniterBadDateError. `is_valid` accepts all of them.
# So: refuse expressions with both, or keep them as two.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q croniter==7.0.0 cronsim==2.8
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import datetime
from importlib.metadata import version
from itertools import islice

from croniter import CroniterBadDateError, croniter
from cronsim import CronSim, CronSimError

for name in ("croniter", "cronsim"):
    print(name, version(name))
START = datetime(2026, 11, 30, 12)


def ask(times):
    try:
        return " ".join(f"{time.month}/{time.day}" for time in islice(times(), 4))
    except CroniterBadDateError:
        return "never"
    except CronSimError:
        return "refused"


changed = 0
for expression, expected, observed, control in (
    ("0 9 1 * mon", "12/1 12/7 12/14 12/21", "12/1 12/7 12/14 12/21", "12/1 12/7 12/14 12/21"),
    ("0 9 L * mon", "12/7 12/14 12/21 12/28", "12/7 12/14 12/21 12/28", "12/7 12/14 12/21 12/28"),
    ("0 9 * * mon#1", "12/7 1/4 2/1 3/1", "12/7 1/4 2/1 3/1", "12/7 1/4 2/1 3/1"),
    ("0 9 1 * mon#1", "12/1 12/7 1/1 1/4", "12/7 1/4 2/1 3/1", "12/1 12/7 1/1 1/4"),
    ("0 9 L * mon#1", "12/7 12/31 1/4 1/31", "never", "12/7 12/31 1/4 1/31"),
    ("0 9 1 * L5", "12/1 12/25 1/1 1/29", "never", "refused"),
    ("0 9 15w * mon", "12/7 12/14 12/15 12/21", "12/15 1/15 2/15 3/15", "refused"),
):
    assert croniter.is_valid(expression)
    seen = ask(lambda: croniter(expression, START, ret_type=datetime)), ask(lambda: CronSim(expression, START))
    print(f"{expression}\n  expected: {expected}\n  observed: croniter {seen[0]}, cronsim {seen[1]}")
    if seen != (observed, control):
        print(f"  CHANGED: it was {observed} and {control}")
        changed = 1
sys.exit(changed)
PYTHON
