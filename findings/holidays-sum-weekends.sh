#!/usr/bin/env bash
# Working days of a team in two countries, as the sum of their calendars.
#
# Package: holidays 0.109
# Expected: `holidays.IL() + holidays.SA()` is a calendar of both: it knows their holidays, and a day is a working day if
#           no holiday or weekend is in the way. Friday and Saturday are the weekend of both countries.
# Observed: only the holidays are added. The weekend of a sum is always Saturday and Sunday, so Friday is a working day
#           and Sunday isn't, and `get_nth_working_day` returns a Friday; a sum of one country with itself does it too.
#           Saturdays that a country works in exchange for a bridge day (China) are days off again.
# So: ask each calendar whether it's a working day, and combine the answers.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q holidays==0.109
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import date
from importlib.metadata import version

import holidays

print("holidays", version("holidays"))
israel, arabia, china, germany = (holidays.country_holidays(code, years=2026) for code in ("IL", "SA", "CN", "DE"))
THURSDAY, FRIDAY, SUNDAY = date(2026, 11, 26), date(2026, 11, 27), date(2026, 11, 29)
EXCHANGED = date(2026, 2, 14)  # a Saturday
assert china.is_working_day(EXCHANGED)
changed = 0
for name, expected, observed, seen in (
    ("weekend of Israel", "{4, 5}", "{4, 5}", israel.weekend),
    ("weekend of Saudi Arabia", "{4, 5}", "{4, 5}", arabia.weekend),
    ("weekend of both", "{4, 5}", "{5, 6}", (israel + arabia).weekend),
    ("holidays of both", "True", "True", {*israel, *arabia} == {*(israel + arabia)}),
    ("Friday in both", "False", "True", (israel + arabia).is_working_day(FRIDAY)),
    ("Friday in Israel, twice", "False", "True", (israel + israel).is_working_day(FRIDAY)),
    ("Sunday in both", "True", "False", (israel + arabia).is_working_day(SUNDAY)),
    ("next working day in both", str(SUNDAY), str(FRIDAY), (israel + arabia).get_nth_working_day(THURSDAY, 1)),
    ("Saturday that China works, twice", "True", "False", (china + china).is_working_day(EXCHANGED)),
    ("the same in China or Germany", "False", "False", (china + germany).is_working_day(EXCHANGED)),
):
    print(f"{name}\n  expected: {expected}\n  observed: {seen}")
    if str(seen) != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
