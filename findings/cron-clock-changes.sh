#!/usr/bin/env bash
# The same schedule on the two days of a year on which the clock changes, in four libraries.
#
# Packages: croniter 7.0.0, cronsim 2.8, croner 11.0.1 and cron-parser 5.10.6 (npm)
# Expected: a time of day that comes twice in autumn is one run, and one that is missing in spring is one run, soon after.
# Observed: "30 2 * * *" runs twice in autumn in croniter, an hour apart (a nightly backup, a digest), and once in the
#           others. In spring it runs at 3:00, and in cron-parser at 3:30. "0 */2 * * *" runs at 3:00 and 4:00 in spring in
#           croniter and cron-parser, and at 4:00 only in the others; in autumn, cron-parser lets three hours pass.
# So: no daily job between 1:00 and 3:59, or in UTC; keep the day of the last run if a job must not run twice.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q croniter==7.0.0 cronsim==2.8 tzdata==2026.6
cd "$dir"; npm install --silent --no-fund --no-audit croner@11.0.1 cron-parser@5.10.6
cat > next.mjs <<'JAVASCRIPT'
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";

const [expression, start] = process.argv.slice(2);
const zone = "Europe/Berlin";
const first = new Cron(expression, { timezone: zone, paused: true }).nextRuns(4, new Date(start));
const parsed = CronExpressionParser.parse(expression, { currentDate: new Date(start), tz: zone });
const second = Array.from({ length: 4 }, () => parsed.next().toDate());
console.log(JSON.stringify([first, second]));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from datetime import datetime
from importlib.metadata import version
from itertools import islice
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

NAMES = ("croniter", "cronsim", "croner", "cron-parser")
print(*(f"{name} {version(name)}" for name in NAMES[:2]), "croner 11.0.1, cron-parser 5.10.6")
ZONE = ZoneInfo("Europe/Berlin")
changed = 0


def show(times):
    return " ".join(f"{time.astimezone(ZONE):%d/%H:%M%z}"[:-2] for time in times)


for expression, start, expected, *observed in (
    ("30 2 * * *", "2026-10-24T12:00:00+02:00", "one run on the 25th",
     "25/02:30+02 25/02:30+01 26/02:30+01", *["25/02:30+02 26/02:30+01 27/02:30+01"] * 3),
    ("30 2 * * *", "2027-03-27T12:00:00+01:00", "one run on the 28th",
     *["28/03:00+02 29/02:30+02 30/02:30+02"] * 3, "28/03:30+02 29/02:30+02 30/02:30+02"),
    ("0 */2 * * *", "2026-10-24T23:00:00+02:00", "every two hours",
     *["25/00:00+02 25/02:00+02 25/02:00+01"] * 3, "25/00:00+02 25/02:00+02 25/04:00+01"),
    ("0 */2 * * *", "2027-03-27T23:00:00+01:00", "every two hours",
     "28/00:00+01 28/03:00+02 28/04:00+02", *["28/00:00+01 28/04:00+02 28/06:00+02"] * 2,
     "28/00:00+01 28/03:00+02 28/04:00+02"),
):
    begin = datetime.fromisoformat(start).astimezone(ZONE)
    command = ["node", "next.mjs", expression, start]
    others = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    times = [list(islice(runs, 3)) for runs in (croniter(expression, begin, datetime), CronSim(expression, begin))]
    times += [[datetime.fromisoformat(time) for time in other[:3]] for other in others]
    seen = [show(each) for each in times]
    print(f"{expression} from {start}\n  expected: {expected}")
    for name, text in zip(NAMES, seen):
        print(f"  observed: {text} in {name}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
