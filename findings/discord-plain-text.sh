#!/usr/bin/env bash
# Names and links in Markdown, made plain or escaped by the helpers of discord.py.
#
# Package: discord.py 2.7.1
# Expected: `remove_markdown` takes marks away, and only where they are marks: code, names with underscores and the words
#           of a link stay. `escape_markdown` leaves links alone, as its documentation says, with `as_needed` too.
# Observed: every underscore, star and tilde is taken away, in code and within words: db_primary_1 becomes dbprimary1. A
#           link with a title is removed with its words, and of a list item the mark but not its space. With
#           `as_needed`, a backslash is put into an address that holds two underscores, so it leads elsewhere.
# So: for a log, a notification or an alert's name, read the Markdown with a parser.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q discord.py==2.7.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from discord.utils import escape_markdown, remove_markdown

print("discord.py", version("discord.py"))
ADDRESS = "https://wiki/a_b_c/page"
changed = 0
for name, expected, observed, seen in (
    ("marks", "stop now", "stop now", remove_markdown("**stop** _now_")),
    ("name", "db_primary_1", "dbprimary1", remove_markdown("db_primary_1")),
    ("code", "rm *_old.log", "rm old.log", remove_markdown("`rm *_old.log`")),
    ("path", "~/a_b", "/ab", remove_markdown("~/a_b")),
    ("link", "Read the runbook.", "Read .", remove_markdown("Read [the runbook](https://wiki/page).")),
    ("item", "drain", " drain", remove_markdown("- drain")),
    ("address", ADDRESS, ADDRESS, escape_markdown(ADDRESS)),
    ("address, as_needed", ADDRESS, "https://wiki/a\\_b_c/page", escape_markdown(ADDRESS, as_needed=True)),
):
    print(f"{name}\n  expected: {expected!r}\n  observed: {seen!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed!r}")
        changed = 1
sys.exit(changed)
PYTHON
