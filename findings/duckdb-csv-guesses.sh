#!/usr/bin/env bash
# CSV files with issue numbers, build numbers and one short line, read by `read_csv` with its guesses.
#
# Packages: duckdb 2.0.1, polars 2.1.0 (the control)
# Expected: each line of the file is a row; a column that isn't clearly something else is text; a line that lacks its last
#           field, as spreadsheets and scripts write them, is a row with an empty one, or an error.
# Observed: lines whose first field begins with # are dropped as comments if the others are numbers, so two of three issues
#           are gone. Builds such as 2026.11.3 and codes such as 10-11-12 are dates, T and F are true and false, and
#           "inf" without other numbers is 31 December 9999. With one short line, the table has one column and each row
#           is a text. None of it is an error or a warning.
# So: pass `columns`, `delim` and comment='', or all_varchar=true, and compare the number of rows with the lines.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q duckdb==2.0.1 polars==2.1.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

import duckdb
import polars

print("duckdb", version("duckdb"), "polars", version("polars"))
changed = 0
for content, observed in (
    ("issue,title\n#12,disk\n#13,fan\n14,net\n", ["14 net"]),
    ("build,host\n2026.1.12,a\n2026.11.3,b\n", ["2026-01-12 a", "2026-11-03 b"]),
    ("code,host\n10-11-12,a\n", ["2010-11-12 a"]),
    ("shift,host\nT,a\nF,b\n", ["True a", "False b"]),
    ("limit,host\ninf,a\ninf,b\n", ["9999-12-31 a", "9999-12-31 b"]),
    ("name,team,note\nann,ops,x\nbob,dev\n", ["ann,ops,x", "bob,dev"]),
    ("code,host\n007,a\n010,b\n", ["007 a", "010 b"]),
):
    Path("file.csv").write_text(content)
    seen = [" ".join(map(str, row)) for row in duckdb.sql("from read_csv('file.csv')").fetchall()]
    control = polars.read_csv("file.csv", infer_schema=False).rows()
    print(f"{content!r}\n  expected: {[' '.join(map(str, row)) for row in control]}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
