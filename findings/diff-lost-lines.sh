#!/usr/bin/env bash
# Diffs as git writes them, read by two libraries: which files and which lines does a change touch?
#
# Packages: whatthepatch 1.0.7, unidiff 1.0.1
# Expected: both return the lines and the names of the files, as git has them: it leaves out the length of a hunk if that is
#           1, quotes names that aren't ASCII, and ends a name that has a space with a tab.
# Observed: whatthepatch loses the unchanged lines of a hunk whose length is left out. A form feed ends a line: its rest
#           becomes a line of its own that counts as unchanged. A name with a space keeps the tab. Both leave a Chinese
#           name in quotes and octal numbers, with the a/ or b/ before it in whatthepatch, so no rule about a folder
#           matches it. unidiff has the lines right.
# So: take the names from `git diff --name-only -z`, and set core.quotePath to false before diffs are parsed.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q whatthepatch==1.0.7 unidiff==1.0.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import unidiff
import whatthepatch

print(*(f"{name} {version(name)}" for name in ("whatthepatch", "unidiff")))
changed = 0


def write(name, lines, tail="", quote=""):
    old, new = (f"{quote}{side}/{name}{quote}" for side in "ab")
    return f"diff --git {old} {new}\nindex 587be6b..975fbec 100644\n--- {old}{tail}\n+++ {new}{tail}\n{lines}"


def sign(change):
    return " " if change.old and change.new else "-" if change.old else "+"


for case, diff, expected, observed in (
    ("length left out", write("file", "@@ -1,2 +1 @@\n-deny\n allow\n"), ("file", ["-deny", " allow"]),
     [("file", ["-deny"]), ("file", ["-deny", " allow"])]),
    ("both lengths", write("file", "@@ -1,2 +1,1 @@\n-deny\n allow\n"), ("file", ["-deny", " allow"]),
     [("file", ["-deny", " allow"])] * 2),
    ("form feed", write("file", "@@ -1 +1 @@\n-x\n+y\f z\n"), ("file", ["-x", "+y\f z"]),
     [("file", ["-x", "+y", " z"]), ("file", ["-x", "+y\f z"])]),
    ("space", write("on call.md", "@@ -1 +1 @@\n-x\n+y\n", tail="\t"), ("on call.md", ["-x", "+y"]),
     [("on call.md\t", ["-x", "+y"]), ("on call.md", ["-x", "+y"])]),
    ("Chinese", write(r"conf/\345\220\215", "@@ -1 +1 @@\n-x\n+y\n", quote='"'), ("conf/名", ["-x", "+y"]),
     [(r'"b/conf/\345\220\215"', ["-x", "+y"]), (r'"conf/\345\220\215"', ["-x", "+y"])]),
):
    (first,) = whatthepatch.parse_patch(diff)
    (second,) = unidiff.PatchSet(diff)
    seen = [(first.header.new_path, [sign(change) + change.line for change in first.changes]),
            (second.path, [str(line).removesuffix("\n") for hunk in second for line in hunk])]
    print(f"{case}\n  expected: {expected}\n  observed: whatthepatch {seen[0]}\n            unidiff {seen[1]}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
