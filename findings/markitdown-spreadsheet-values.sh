#!/usr/bin/env bash
# The same table as an Excel file and as CSV, converted to Markdown.
#
# Packages: markitdown 0.1.9, pandas 3.1.1, openpyxl 3.1.5
# Expected: a cell that holds text stays that text, numbers keep their digits, a pipe is escaped, and both files give the
#           same table.
# Observed: the CSV file does. In the Excel file's table, the texts NA (Namibia, a group), None and N/A have become NaN, the
#           texts 007 and 1.10 (a code, a version) the numbers 7.0 and 1.1. 1234567 is 1234567.0 if another cell of the
#           column is empty, and 1234567.891 is 1.234568e+06, which makes 99.99999949 below it 1.000000e+02. A pipe in
#           a cell makes a column more.
# So: read the cells with openpyxl and write the table yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'markitdown[xlsx]==0.1.9' pandas==3.1.1 openpyxl==3.1.5
cd "$dir"; venv/bin/python - <<'PYTHON'
import csv
import io
import sys
from importlib.metadata import version

import openpyxl
from markitdown import MarkItDown

for name in ("markitdown", "pandas", "openpyxl"):
    print(name, version(name))


def convert(content, extension):
    converted = MarkItDown(enable_plugins=False).convert_stream(io.BytesIO(content), file_extension=extension)
    return [line for line in converted.text_content.splitlines() if line.startswith("|")][2:]


def write_excel(rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def write_csv(rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


changed = 0
for name, rows, excel, text in (
    ("names", [["NA"], ["None"], ["N/A"], ["null"], ["web"]], ["NaN", "NaN", "NaN", "NaN", "web"], None),
    ("codes", [["007"], ["1.10"]], ["7.0", "1.1"], None),
    ("large numbers", [[1234567], [7654321]], ["1234567", "7654321"], None),
    ("large numbers and no number", [[1234567], [None]], ["1234567.0", "NaN"], ["1234567", ""]),
    ("shares", [[99.99999949], [1234.5]], ["99.999999", "1234.500000"], None),
    ("shares and a large number", [[99.99999949], [1234567.891]], ["1.000000e+02", "1.234568e+06"], None),
    ("a pipe", [["a|b"]], ["a|b"], ["a\\|b"]),
):
    text = text or [str(row[0]) for row in rows]
    table = [["value", "end"], *([*row, "."] for row in rows)]
    seen = [
        [line.removeprefix("| ").removesuffix(" | . |") for line in convert(content, extension)]
        for content, extension in ((write_excel(table), ".xlsx"), (write_csv(table), ".csv"))
    ]
    print(f"{name}\n  expected: {text}\n  observed: Excel {seen[0]}, CSV {seen[1]}")
    if seen != [excel, text]:
        print(f"  CHANGED: it was {excel} and {text}")
        changed = 1
sys.exit(changed)
PYTHON
