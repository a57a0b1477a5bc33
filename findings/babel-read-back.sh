#!/usr/bin/env bash
# Times and numbers as people of a country write them, written and read by the same library.
#
# Package: babel 2.19.0
# Expected: `parse_time` reads what `format_time` wrote for the same locale, or raises; a number that isn't written as the
#           locale does is an error.
# Observed: the afternoon is known as "PM" only. Where it is written otherwise (Canada, Mexico, Taiwan, Korea, Egypt), 9:30
#           in the evening is read as the morning. German 1.50 is 150 and 0.5 is 5; with strict=True, both are refused. In
#           Poland and France, 1.50 is one and a half, since their separator of thousands is a space.
# So: read times from a field of a form, or as 21:30, and numbers with strict=True only.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q babel==2.19.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from datetime import time
from importlib.metadata import version

from babel.dates import format_time, parse_time
from babel.numbers import NumberFormatError, parse_decimal

print("babel", version("babel"))
changed = 0


def check(name, expected, observed, seen):
    global changed
    print(f"{name}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1


for locale, observed in (
    ("en_US", "21:30:00"),
    ("zh_CN", "21:30:00"),
    ("en_CA", "09:30:00"),
    ("es_MX", "09:30:00"),
    ("zh_TW", "09:30:00"),
    ("ko_KR", "09:30:00"),
    ("ar_EG", "09:30:00"),
):
    text = format_time(time(21, 30), "short", locale=locale)
    check(f"{locale}, {text}", "21:30:00, or an error", observed, str(parse_time(text, locale=locale)))
for locale, text, expected, observed, strict in (
    ("de_DE", "1,50", "1.50", "1.50", "1.50"),
    ("de_DE", "1.50", "an error", "150", "refused"),
    ("de_DE", "0.5", "an error", "5", "refused"),
    ("en_US", "1,5", "an error", "15", "refused"),
    ("pl_PL", "1.50", "an error", "1.50", "1.50"),
):
    try:
        other = str(parse_decimal(text, locale=locale, strict=True))
    except NumberFormatError:
        other = "refused"
    seen = str(parse_decimal(text, locale=locale)), other
    check(f"{locale}, {text}, and with strict=True", expected, (observed, strict), seen)
sys.exit(changed)
PYTHON
