#!/usr/bin/env bash
# Constructs of Word files that carry text, converted to HTML.
#
# Packages: mammoth 1.13.0, python-docx 1.2.0
# Expected: the text that Word shows: the result of a simple field, the words in a direction wrapper, the base of ruby
#           text, and a line break for `w:cr`.
# Observed: all of it is gone, the text around it closes up ("Total:  due"), and words on two lines become one. There is
#           a message about an unrecognised element, not about its text. Complex fields, smart tags and content controls
#           keep theirs.
# So: unwrap these elements and turn `w:cr` into `w:br` before the conversion.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q mammoth==1.13.0 python-docx==1.2.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import io
import sys
from importlib.metadata import version

import docx
import mammoth
from docx.oxml import parse_xml

NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def convert(content):
    document, file = docx.Document(), io.BytesIO()
    document.element.body.insert(0, parse_xml(f"<w:p {NAMESPACE}>{content}</w:p>"))
    document.save(file)
    file.seek(0)
    return mammoth.convert_to_html(file).value


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


for name in ("mammoth", "python-docx"):
    print(name, version(name))
field = f'<w:fldSimple w:instr=" DOCPROPERTY Total ">{run("412 EUR")}</w:fldSimple>'
check("field", "<p>Total: 412 EUR due</p>", "<p>Total:  due</p>", convert(run("Total: ") + field + run(" due")))
for name in ("bdo", "dir"):
    wrapper = f'<w:{name} w:val="rtl">{run("12345")}</w:{name}>'
    check(name, "<p>No. 12345 ends</p>", "<p>No.  ends</p>", convert(run("No. ") + wrapper + run(" ends")))
ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('東')}</w:rubyBase></w:ruby></w:r>"
check("ruby", "<p>東京</p>", "<p>京</p>", convert(ruby + run("京")))
lines = "<w:r><w:t>stop</w:t><w:cr/><w:t>start</w:t></w:r>"
check("line break", "<p>stop<br />start</p>", "<p>stopstart</p>", convert(lines))
PYTHON
