#!/usr/bin/env bash
# Detect the encoding of a Windows-1252 table that has non-ASCII letters only in its header.
#
# Packages: chardet 7.7.0, charset-normalizer 3.5.3
# Expected: rows in ASCII look the same in every candidate, so adding them changes neither the encoding found nor its
#           rank; a letter between two ASCII letters is not a Chinese character.
# Observed: for the header alone, chardet finds Windows-1252, Windows-1250 or a Macintosh encoding; with ten rows or
#           more, it finds Big5, so "prénom;âge" becomes "pr幯om;殟e", even if restricted to Windows and East Asian
#           encodings. charset-normalizer finds cp1006 (Urdu), cp1250 or cp932, depending on the number of rows.
# So: give a detector only the lines that have such bytes, and reject a winner that puts Chinese within Latin words.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q chardet==7.7.0 charset-normalizer==3.5.3
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys

import chardet
import charset_normalizer

print("chardet", chardet.__version__, "charset-normalizer", charset_normalizer.__version__)
ROW = "2026-01-02;2026-02-03\n"
LEGACY = ["gb18030", "big5", "cp932", "cp949", "windows-1250", "windows-1251", "windows-1252"]


def find(header, rows):
    content = (header + ROW * rows).encode("cp1252")
    free = chardet.detect(content)["encoding"]
    limited = chardet.detect_all(content, include_encodings=LEGACY, ignore_threshold=True)[0]["encoding"]
    best = charset_normalizer.from_bytes(content).best()
    return free, limited, best and best.encoding


EAST = ("Big5", "Big5"), ("big5hkscs", "big5hkscs")
for header, observed in (
    ("prénom;âge\n", [(0, *["Windows-1250"] * 2, "cp1006"), (10, *EAST[0], "cp1250"), (100, *EAST[0], "cp1006")]),
    ("année;coût\n", [(0, *["Windows-1252"] * 2, "cp1006"), (10, *EAST[1], "cp1250"), (100, *EAST[1], "cp1006")]),
    ("Größe;Preis\n", [(0, "MacIceland", "Windows-1252", "cp1006"), (10, *EAST[0], "cp1250"), (100, *EAST[0], "cp932")]),
):
    for rows, *before in observed:
        now = find(header, rows)
        print(f"{header.strip()} and {rows} rows in ASCII: {now}")
        if now != tuple(before):
            sys.exit(f"  CHANGED: it was {before}")
PYTHON
