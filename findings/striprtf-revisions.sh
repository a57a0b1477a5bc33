#!/usr/bin/env bash
# Tracked changes, footnotes and list numbers of RTF files as plain text.
#
# Packages: striprtf 0.0.35
# Expected: text that was deleted with change tracking is left out, as is hidden text; footnotes and the numbers of
#           lists are text.
# Observed: deleted and hidden text stands between the other words as if it were current; footnotes are gone, and so are
#           the numbers in `\pntext`, while those in `\listtext` stay. Nothing says so.
# So: refuse RTF files with `\deleted` or `\v`, or convert them with an office program first.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q striprtf==0.0.35
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from striprtf.striprtf import rtf_to_text


def convert(content):
    return rtf_to_text(r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}" + content + "}")


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


print("striprtf", version("striprtf"))
price = convert(r"Price: {\deleted 100}{\revised 120} EUR")
check("deleted", "Price: 120 EUR", "Price: 100120 EUR", price)
check("hidden", "shown end", "shown hidden end", convert(r"shown {\v hidden }end"))
note = convert(r"Fee{\super\chftn}{\footnote\pard {\super\chftn} from 2027} is due")
check("footnote", "Fee (from 2027) is due", "Fee is due", note)
numbers = convert(r"{\pntext\f0 1.\tab}First\par{\pntext\f0 2.\tab}Second")
check("list", "1.\tFirst\n2.\tSecond", "First\nSecond", numbers)
check("list of Word 97 and later", "3.\tThird", "3.\tThird", convert(r"{\listtext\pard\f0 3.\tab}Third"))
PYTHON
