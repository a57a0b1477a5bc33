#!/usr/bin/env bash
# Passwords and JSON in an .env file: written and read by one library, and read by two.
#
# Packages: python-dotenv 1.2.4, dotenv 18.0.10 (npm)
# Expected: what `set_key` writes, `dotenv_values` returns; single quotes mean that the text is taken as it is; \" within
#           double quotes is a quote in both languages, and so is a # that has no space before it.
# Observed: `set_key` writes 'a${b}c' in single quotes, and `dotenv_values` replaces ${b} in them, by nothing if it isn't
#           set: a password becomes a shorter one, in the library that stored it. JSON in double quotes keeps its
#           backslashes in npm's reader, and "C:\new\table" has a tab in one only. p#ss is cut off at the # in npm.
#           A single quote in single quotes comes back with its backslash there.
# So: read with interpolate=False, and write secrets that both read as Base64.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q python-dotenv==1.2.4
cd "$dir"; npm install --silent --no-fund --no-audit dotenv@18.0.10
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from dotenv import dotenv_values, set_key

SCRIPT = "console.log(JSON.stringify(require('dotenv').parse(require('fs').readFileSync('.env')).KEY))"
FILE = Path(".env")
print("dotenv 18.0.10, python-dotenv", version("python-dotenv"))
changed = 0


def check(name, expected, observed):
    global changed
    run = subprocess.run(["node", "-e", SCRIPT], check=True, capture_output=True, text=True)
    seen = [dotenv_values(FILE)["KEY"], dotenv_values(FILE, interpolate=False)["KEY"], json.loads(run.stdout)]
    print(f"{name}\n  expected: {expected!r}")
    print(f"  observed: Python {seen[0]!r}, without interpolation {seen[1]!r}, npm {seen[2]!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1


for value in ("a${b}c", "say 'hi'", 'say "hi"'):
    FILE.write_text("")
    set_key(FILE, "KEY", value)
    raw = FILE.read_text().strip()
    slashes = value.replace("'", r"\'")
    check(f"set_key of {value!r}, as {raw}", value, ["ac" if "$" in value else value, value, slashes])
for line, expected, observed in (
    (r'KEY="{\"k\": 1}"', '{"k": 1}', ['{"k": 1}', '{"k": 1}', r'{\"k\": 1}']),
    ("KEY='{\"k\": 1}'", '{"k": 1}', ['{"k": 1}'] * 3),
    (r'KEY="C:\new\table"', "C:\new\table", ["C:\new\table", "C:\new\table", "C:\new\\table"]),
    ("KEY=p#ss", "p#ss", ["p#ss", "p#ss", "p"]),
):
    FILE.write_text(line + "\n")
    check(line, expected, observed)
sys.exit(changed)
PYTHON
