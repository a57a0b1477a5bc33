#!/usr/bin/env bash
# "In half an hour" and other amounts of time in English words, in Python and in JavaScript.
#
# Packages: parsedatetime 2.6, chrono-node 2.10.3 (npm)
# Expected: the right time, or nothing: both tell how much of a text they could read.
# Observed: words that aren't known are skipped, and the rest counts. In parsedatetime, half an hour is an hour, and
#           "tonight at 8" is 21:00. In both, an hour and a half is an hour, 25 minutes in words are 5, and "day after
#           tomorrow" without "the" is tomorrow. parsedatetime reports a time (2) or a date (1) as it does for the right
#           ones.
# So: accept a phrase only if the text of the match is all of it, and say the resulting time.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q parsedatetime==2.6
cd "$dir"; npm install --silent --no-fund --no-audit chrono-node@2.10.3
cat > read.mjs <<'JAVASCRIPT'
import * as chrono from "chrono-node";

const found = chrono.parseDate(process.argv[2], new Date(2026, 10, 30, 10, 0), { forwardDate: true });
console.log(found ? found.toLocaleString("sv").slice(5, 16) : "nothing");
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import subprocess
import sys
from datetime import datetime
from importlib.metadata import version

import parsedatetime

print("chrono-node 2.10.3, parsedatetime", version("parsedatetime"))
changed = 0
for text, expected, python, javascript in (
    ("in 90 minutes", "11-30 11:30", "11-30 11:30", "11-30 11:30"),
    ("in twenty minutes", "11-30 10:20", "11-30 10:20", "nothing"),
    ("in half an hour", "11-30 10:30", "11-30 11:00", "11-30 10:30"),
    ("in an hour and a half", "11-30 11:30", "11-30 11:00", "11-30 11:00"),
    ("in twenty five minutes", "11-30 10:25", "11-30 10:05", "11-30 10:05"),
    ("tonight at 8", "11-30 20:00", "11-30 21:00", "11-30 20:00"),
    ("day after tomorrow", "12-02", "12-01 09:00", "12-01 10:00"),
):
    found, kind = parsedatetime.Calendar().parseDT(text, sourceTime=datetime(2026, 11, 30, 10))
    command = ["node", "read.mjs", text]
    other = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    print(f"{text!r}, said at 10:00 on 30 November\n  expected: {expected}")
    print(f"  observed: parsedatetime {found:%m-%d %H:%M} (kind {kind}), chrono-node {other}")
    if (f"{found:%m-%d %H:%M}", other) != (python, javascript) or not kind:
        print(f"  CHANGED: it was {python} and {javascript}")
        changed = 1
sys.exit(changed)
PYTHON
