#!/usr/bin/env bash
# "1h30m", "1y" and other durations that people type, in four libraries that read them.
#
# Packages: humanfriendly 10.0, pytimeparse2 1.7.1, durations-nlp 1.0.1, pint 0.25.3
# Expected: minutes and hours are the same in all, what can't be read is refused, and a year is 365 days.
# Observed: durations-nlp reads "90" and "1:30" as no time at all, and "1h30" as an hour. A year has 364, 365 or 366 days.
#           "1M" is a minute or a month. In humanfriendly, "1h30m" is refused, and "5m" is five million as a size. Pint
#           drops a decimal comma, so "1,5 h" is 15 hours, and "5m" are metres.
# So: one number and one unit, from a list of your own; a limit that is 0 is refused.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q humanfriendly==10.0 pytimeparse2==1.7.1 durations-nlp==1.0.1 pint==0.25.3
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import humanfriendly
import pint
import pytimeparse2
from durations_nlp import Duration
from durations_nlp.exceptions import ScaleFormatError

NAMES = ("humanfriendly", "pytimeparse2", "durations-nlp", "pint")
print(*(f"{name} {version(name)}" for name in NAMES))
UNITS = pint.UnitRegistry()
READERS = (
    humanfriendly.parse_timespan,
    pytimeparse2.parse,
    lambda text: Duration(text).to_seconds(),
    lambda text: UNITS(text).to("second").magnitude,
)


def ask(read, text):
    try:
        found = read(text)
    except (humanfriendly.InvalidTimespan, ScaleFormatError, pint.UndefinedUnitError, pint.DimensionalityError):
        return "refused"
    return "refused" if found is None else round(found)


changed = 0
for text, expected, *observed in (
    ("90 minutes", 5400, 5400, 5400, 5400, 5400),
    ("1h30m", 5400, "refused", 5400, 5400, "refused"),
    ("1h30", "5400, or refused", "refused", "refused", 3600, "refused"),
    ("1:30", "90, 5400, or refused", "refused", 90, 0, "refused"),
    ("90", "90, or refused", 90, 90, 0, "refused"),
    ("1 year", 31536000, 31449600, 31536000, 31622400, 31557600),
    ("1M", "one length, or refused", 60, 60, 2635200, "refused"),
    ("1,5 h", "5400, or refused", "refused", "refused", "refused", 54000),
):
    seen = [ask(read, text) for read in READERS]
    print(f"{text!r} in seconds\n  expected: {expected}\n  observed: {dict(zip(NAMES, seen))}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
size = humanfriendly.parse_size("5m")
print(f"size of '5m' in humanfriendly\n  observed: {size}")
sys.exit(changed or size != 5_000_000)
PYTHON
