#!/usr/bin/env bash
# Tables and numbered lists of pages as Markdown.
#
# Packages: markdownify 1.2.3, html2text 2025.4.15
# Expected: a pipe in a cell is escaped; `<li value="7">` starts at 7; a paragraph that begins like a heading is
#           escaped; an address with a space is a link.
# Observed: the pipe makes a column more, so values stand below other headings; the step that others refer to as 7 is
#           called 2; both make a paragraph a heading; both write an address with a space as it is, which is no
#           link in CommonMark. Both do obey `start` of a list.
# So: convert from a tree that knows cells and numbers, and write addresses in angle brackets.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q markdownify==1.2.3 html2text==2025.4.15
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import html2text
from markdownify import markdownify


def convert(html):
    other = html2text.HTML2Text()
    other.body_width = 0
    return markdownify(html).strip(), other.handle(html).strip()


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


for name in ("markdownify", "html2text"):
    print(name, version(name))
TABLE = "<table><tr><th>flag</th><th>use</th></tr><tr><td>a|b</td><td>one</td></tr></table>"
for name, html, expected, observed in (
    ("cell", TABLE, r"a\|b", ("| a|b | one |", "a|b| one")),
    ("value", '<ol><li>a</li><li value="7">g</li></ol>', "7. g", ("2. g", "  2. g")),
    ("start", '<ol start="7"><li>g</li></ol>', "7. g", ("7. g", "7. g")),
    ("paragraph", "<p># of items</p>", r"\# of items", ("# of items",) * 2),
    ("address", '<a href="https://e.com/a b">x</a>', "[x](<https://e.com/a b>)", ("[x](https://e.com/a b)",) * 2),
):
    check(name, expected, observed, tuple(one.splitlines()[-1] for one in convert(html)))
PYTHON
