#!/usr/bin/env bash
# "Three days ago" and large numbers in German and Chinese.
#
# Packages: humanize 4.17.0, babel 2.19.0 (the control)
# Expected: a translated sentence is one that people of that language write.
# Observed: the amount is translated alone and put into a frame. In German it has the wrong case ("vor 3 Tage"). In Chinese,
#           two months ago is 2月之前, which reads as "before February": the measure word is missing. Numbers are
#           counted in thousands and millions, so 10000 is "10.0 thousand" and 100 million is written with a word that
#           nobody uses. Babel gives what people write.
# So: for other languages than English, take the sentences of CLDR, which babel has.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q humanize==4.17.0 babel==2.19.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import timedelta
from importlib.metadata import version

import humanize
from babel.dates import format_timedelta
from babel.numbers import format_compact_decimal

print(*(f"{name} {version(name)}" for name in ("humanize", "babel")))
changed = 0
for language, value, observed in (
    ("de_DE", timedelta(days=3), ("vor 3 Tage", "vor 3 Tagen")),
    ("de_DE", timedelta(days=61), ("vor 2 Monate", "vor 2 Monaten")),
    ("zh_CN", timedelta(days=3), ("3天之前", "3天前")),
    ("zh_CN", timedelta(days=61), ("2月之前", "2个月前")),
    ("zh_CN", 10_000, ("10.0 千", "1万")),
    ("zh_CN", 100_000_000, ("100.0 百万", "1亿")),
):
    humanize.activate(language)
    if isinstance(value, timedelta):
        seen = humanize.naturaltime(value), format_timedelta(-value, locale=language, add_direction=True)
    else:
        seen = humanize.intword(value), format_compact_decimal(value, locale=language)
    print(f"{language}, {value}\n  expected: {observed[1]}\n  observed: humanize {seen[0]}, babel {seen[1]}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
