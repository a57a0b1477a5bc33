#!/usr/bin/env bash
# Cells of an Excel file that show an error, read by a library that is made to be fast.
#
# Packages: python-calamine 0.9.1, openpyxl 3.1.5 (the control)
# Expected: a cell that shows #N/A or #DIV/0! is told from an empty one, by its text or by an error.
# Observed: it is an empty text, exactly as a cell without a value. A report whose lookup failed reads as one that has
#           nothing to say. openpyxl returns the text that Excel shows.
# So: before a file is read with it, look for cells of type "e" in the XML, or read with openpyxl.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q python-calamine==0.9.1 openpyxl==3.1.5
cd "$dir"; venv/bin/python - <<'PYTHON'
import io
import sys
from importlib.metadata import version

import openpyxl
from python_calamine import CalamineWorkbook

for name in ("python-calamine", "openpyxl"):
    print(name, version(name))
book, file = openpyxl.Workbook(), io.BytesIO()
for place, value in (("A1", "#N/A"), ("B1", "#DIV/0!"), ("C1", "text"), ("E1", 7)):
    book.active[place] = value
book.save(file)
file.seek(0)
assert [book.active[place].data_type for place in ("A1", "B1")] == ["e", "e"]
sheet = CalamineWorkbook.from_filelike(file).get_sheet_by_index(0)
control = openpyxl.load_workbook(file).active
changed = 0
for name, expected, observed, seen in (
    ("openpyxl", *[["#N/A", "#DIV/0!", "text", None, 7]] * 2, [cell.value for cell in control[1]]),
    ("calamine", ["#N/A", "#DIV/0!", "text", "", 7.0], ["", "", "text", "", 7.0], sheet.to_python()[0]),
):
    print(f"{name}\n  expected: {expected!r}\n  observed: {seen!r}")
    if repr(seen) != repr(observed):
        print(f"  CHANGED: it was {observed!r}")
        changed = 1
sys.exit(changed)
PYTHON
