#!/usr/bin/env bash
# Moved paragraphs, text boxes and hyphens of Word files as plain text.
#
# Packages: docx2txt 0.9, docx2python 3.7.1, mammoth 1.13.0 (the control), python-docx 1.2.0 (writes the files)
# Expected: what Word shows: with change tracking, a moved step stands at its new place only, as a deleted one is gone;
#           the text of a text box stands there once; a hyphen that forbids a line break is a hyphen.
# Observed: deleted text is left out by both. A moved step is at both places, so it's done twice. Word writes a text box
#           in two forms, for new and for old programs, and both forms are text. `web-1` with such a hyphen is `web1`.
#           The text of equations is lost in docx2txt only.
# So: drop `w:moveFrom` and `mc:Fallback` from the document before it's read.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q docx2txt==0.9 docx2python==3.7.1 mammoth==1.13.0 python-docx==1.2.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import docx
import docx2txt
import mammoth
from docx.oxml import parse_xml
from docx2python import docx2python

for name in ("docx2txt", "docx2python", "mammoth"):
    print(name, version(name))
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CHOICES = "http://schemas.openxmlformats.org/markup-compatibility/2006"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
TRACKED = 'w:author="ann" w:date="2026-11-30T09:00:00Z"'


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def read(content):
    document = docx.Document()
    spaces = f'xmlns:w="{WORD}" xmlns:mc="{CHOICES}" xmlns:m="{MATH}"'
    document.element.body.insert(0, parse_xml(f"<w:p {spaces}>{content}</w:p>"))
    document.save("page.docx")
    with docx2python("page.docx") as pages, open("page.docx", "rb") as file:
        return docx2txt.process("page.docx"), pages.text, mammoth.extract_raw_text(file).value.strip()


DELETED = f'<w:del w:id="1" {TRACKED}><w:r><w:delText>Stop.</w:delText></w:r></w:del>{run("Start.")}'
MOVED = f'<w:moveFrom w:id="1" {TRACKED}>{run("Drain.")}</w:moveFrom>{run("Stop.")}'
MOVED += f'<w:moveTo w:id="2" {TRACKED}>{run("Drain.")}</w:moveTo>'
TWO_FORMS = '<mc:Choice Requires="wps"><w:t>Ask first.</w:t></mc:Choice><mc:Fallback><w:t>Ask first.</w:t></mc:Fallback>'
BOX = f"<w:r><mc:AlternateContent>{TWO_FORMS}</mc:AlternateContent></w:r>"
HYPHEN = "<w:r><w:t>web</w:t><w:noBreakHyphen/><w:t>1</w:t></w:r>"
EQUATION = "<m:oMath><m:r><m:t>x=2</m:t></m:r></m:oMath>"
changed = 0
for name, content, expected, *observed in (
    ("deleted", DELETED, "Start.", "Start.", "Start.", "Start."),
    ("moved", MOVED, "Stop.Drain.", "Drain.Stop.Drain.", "Drain.Stop.Drain.", "Stop.Drain."),
    ("two forms", BOX, "Ask first.", "Ask first.Ask first.", "Ask first.Ask first.", "Ask first."),
    ("hyphen", HYPHEN, "web\u20111", "web1", "web1", "web\u20111"),
    ("equation", EQUATION, "x=2", "", "<latex>x=2</latex>", ""),
):
    seen = [text.strip() for text in read(content)]
    print(f"{name}\n  expected: {expected!r}")
    print(f"  observed: docx2txt {seen[0]!r}, docx2python {seen[1]!r}, mammoth {seen[2]!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
