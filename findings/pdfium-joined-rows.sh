#!/usr/bin/env bash
# The text of a PDF whose columns were drawn one after the other, as reporting tools do.
#
# Packages: pypdfium2 5.15.2, reportlab 5.1.0
# Expected: each number of a right or left column is a word of its own, on a line of its own.
# Observed: the last two numbers of the second column are joined: 85 above 7 becomes 857, a number that nobody wrote. It
#           needs two columns, drawn column by column, and short numbers; drawn row by row, the text is right. The
#           positions of the characters are right in both.
# So: build lines from the places of the characters (`get_charbox`), never from `get_text_range` of a page.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q pypdfium2==5.15.2 reportlab==5.1.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import io
import sys
from importlib.metadata import version

import pypdfium2
from reportlab.pdfgen import canvas

ROWS = [("Alpha", "1200"), ("Beta", "85"), ("Gamma", "7")]


def read(order):
    file = io.BytesIO()
    page = canvas.Canvas(file)
    for row, column in order:
        if column:
            page.drawRightString(300, 720 - 14 * row, ROWS[row][1])
        else:
            page.drawString(72, 720 - 14 * row, ROWS[row][0])
    page.showPage()
    page.save()
    return pypdfium2.PdfDocument(file.getvalue())[0].get_textpage().get_text_range().split()


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


for name in ("pypdfium2", "reportlab"):
    print(name, version(name))
right = ["Alpha", "Beta", "Gamma", "1200", "85", "7"]
by_column = read([(row, column) for column in range(2) for row in range(3)])
check("column by column", right, ["Alpha", "Beta", "Gamma", "1200", "857"], by_column)
by_row = ["Alpha", "1200", "Beta", "85", "Gamma", "7"]
check("row by row", by_row, by_row, read([(row, column) for row in range(3) for column in range(2)]))
PYTHON
