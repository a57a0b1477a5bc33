#!/usr/bin/env bash
# Searches of several words in SQLite's full-text index with the tokenizer for Chinese and parts of words (trigram).
#
# Package: apsw 3.54.1.0 (SQLite 3.54.1)
# Expected: a word of fewer than three characters has no trigram and is found nowhere, as documented. So a search that
#           requires such a word finds nothing, and one that excludes it can't be run.
# Observed: alone, it finds nothing. Beside another word it is ignored without a sign: "full zz" finds what "full" does,
#           and "full NOT is" all that it should exclude. Written with AND, the same two words find nothing. In Chinese,
#           most words have two characters: 数据库 没有 finds a text without 没有. NEAR and snippets count trigrams, so
#           a snippet of ten tokens has twelve characters.
# So: take words of one or two characters out of the query, and test them with LIKE or instr beside MATCH.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q apsw==3.54.1.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys

import apsw

print("apsw", apsw.apsw_version(), "SQLite", apsw.sqlite_lib_version())
database = apsw.Connection(":memory:")
database.execute("CREATE VIRTUAL TABLE note USING fts5(text, tokenize='trigram')")
TEXT, CHINESE = "the disk of web-1 is full", "数据库磁盘已满"
database.executemany("INSERT INTO note VALUES (?)", [(TEXT,), (CHINESE,)])


def search(query, shown="text"):
    return [text for (text,) in database.execute(f"SELECT {shown} FROM note WHERE note MATCH ?", [query])]


changed = 0
for query, shown, expected, observed in (
    ("full disk", "text", [TEXT], [TEXT]),
    ("zz", "text", [], []),
    ("full zz", "text", [], [TEXT]),
    ("full AND zz", "text", [], []),
    ("full NOT is", "text", [], [TEXT]),
    ("数据库 没有", "text", [], [CHINESE]),
    ("NEAR(disk full)", "text", [TEXT], []),
    ("full", "snippet(note, 0, '', '', '…', 10)", [TEXT], ["…eb-1 is full"]),
):
    seen = search(query, shown)
    print(f"{query}, {shown}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
