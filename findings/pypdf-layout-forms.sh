#!/usr/bin/env bash
# Text of a page in a form XObject (stamps, letterheads, imported pages), in the two modes of pypdf.
#
# Packages: pypdf 7.1.0, reportlab 5.1.0
# Expected: the layout mode places the same words that the plain mode finds.
# Observed: the layout mode leaves out whatever a form draws, without a warning: a page that is one imported form is
#           blank.
# So: compare the words of both modes, or read with the plain mode.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q pypdf==7.1.0 reportlab==5.1.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import io
import sys
from importlib.metadata import version

import pypdf
from reportlab.pdfgen import canvas


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


for name in ("pypdf", "reportlab"):
    print(name, version(name))
file = io.BytesIO()
page = canvas.Canvas(file)
page.drawString(72, 720, "Invoice")
page.beginForm("stamp")
page.drawString(72, 700, "PAID 2026-11-02")
page.endForm()
page.doForm("stamp")
page.drawString(72, 680, "Total")
page.showPage()
page.save()
read = pypdf.PdfReader(file).pages[0].extract_text
words = ["Invoice", "PAID", "2026-11-02", "Total"]
check("plain", words, words, read().split())
check("layout", words, ["Invoice", "Total"], read(extraction_mode="layout").split())
PYTHON
