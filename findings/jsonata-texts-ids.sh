#!/usr/bin/env bash
# Base64 of texts and ids as texts, in JSONata's two implementations.
#
# Packages: jsonata 2.2.2 (npm, the original), jsonata-python 0.7.1
# Expected: $base64encode and $base64decode are each other's reverse and use UTF-8, as the APIs do whose JSON is mapped
#           (the content of files, of messages). $string of an id has all its digits where the language has them.
# Observed: in JavaScript, each character is cut to one byte: 磁盘 comes back as two accented letters, and UTF-8 of others
#           is decoded as Latin-1. In Python, both are right; but $string and & round whole numbers to 15 digits, so an
#           id of 18 becomes 1.23456789012346e+17, although the number itself is kept. $distinct takes 1 and true for one.
# So: decode and encode outside of the expression, and carry ids as texts.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q jsonata-python==0.7.1
cd "$dir"; npm install --silent --no-fund --no-audit jsonata@2.2.2
cat > evaluate.cjs <<'JAVASCRIPT'
const jsonata = require("jsonata");

const [expression, data] = process.argv.slice(2);
jsonata(expression).evaluate(JSON.parse(data)).then((found) => console.log(JSON.stringify(found)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from importlib.metadata import version

from jsonata import Jsonata

print("jsonata 2.2.2, jsonata-python", version("jsonata-python"))
DATA = {"id": 123456789012345680, "text": "磁盘", "encoded": "56OB55uY", "flags": [1, True]}
changed = 0
for expression, expected, javascript, python in (
    ("id", DATA["id"], DATA["id"], DATA["id"]),
    ("$string(id)", "123456789012345680", "123456789012345680", "1.23456789012346e+17"),
    ("'T' & id", "T123456789012345680", "T123456789012345680", "T1.23456789012346e+17"),
    ("$base64decode($base64encode(text))", "磁盘", "ÁØ", "磁盘"),
    ("$base64decode(encoded)", "磁盘", "ç£\x81ç\x9b\x98", "磁盘"),
    ("$base64encode('disk')", "ZGlzaw==", "ZGlzaw==", "ZGlzaw=="),
    ("$count($distinct(flags))", 2, 2, 1),
):
    command = ["node", "evaluate.cjs", expression, json.dumps(DATA)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seen = found, Jsonata(expression).evaluate(DATA)
    print(f"{expression}\n  expected: {expected!r}\n  observed: JavaScript {seen[0]!r}, Python {seen[1]!r}")
    if seen != (javascript, python):
        print(f"  CHANGED: it was {javascript!r} and {python!r}")
        changed = 1
sys.exit(changed)
PYTHON
