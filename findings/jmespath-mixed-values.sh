#!/usr/bin/env bash
# JMESPath filters over items of which some have no number, as in JSON of monitoring systems, in three libraries.
#
# Packages: jmespath 1.1.0 (PyPI), jmespath 0.16.0 and @jmespath-community/jmespath 1.3.0 (npm)
# Expected: what the specification says: a comparison such as `free < 2` of anything but two numbers is null, so such items
#           are left out, and the query goes on.
# Observed: in the library of npm, null, an absent key, false and true are numbers as in JavaScript: `free < 2` finds the
#           hosts of which nothing is known beside the one that is full. In Python, one text among the numbers ("NaN",
#           "n/a") ends the query with TypeError, which isn't an error of the library. Both compare texts with texts.
#           Only the community's library does what is written.
# So: ask for the type first, `type(free) == 'number' && free < 2`, and catch TypeError.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q jmespath==1.1.0
cd "$dir"; npm install --silent --no-fund --no-audit jmespath@0.16.0 @jmespath-community/jmespath@1.3.0
cat > ask.mjs <<'JAVASCRIPT'
import * as community from "@jmespath-community/jmespath";
import jmespath from "jmespath";

const [query, text] = process.argv.slice(2);
const data = JSON.parse(text);
console.log(JSON.stringify([jmespath.search(data, query), community.search(data, query)]));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from importlib.metadata import version

import jmespath

print("jmespath (PyPI)", version("jmespath"))
HOSTS = [
    {"host": "full", "free": 1},
    {"host": "empty", "free": 9},
    {"host": "absent"},
    {"host": "null", "free": None},
    {"host": "off", "free": False},
]
TEXTS = [*HOSTS[:2], {"host": "text", "free": "NaN"}]


def ask(query, data):
    try:
        return jmespath.search(query, data)
    except TypeError as error:
        assert not isinstance(error, jmespath.exceptions.JMESPathError)
        return "TypeError"


changed = 0
for query, data, expected, python, node in (
    ("[?free < `2`].host", HOSTS, ["full"], ["full"], ["full", "absent", "null", "off"]),
    ("[?free < `2`].host", TEXTS, ["full"], "TypeError", ["full"]),
    ("[?host > 'empty'].host", HOSTS[:2], [], ["full"], ["full"]),
    ("[?type(free) == 'number' && free < `2`].host", HOSTS, ["full"], ["full"], ["full"]),
    ("[?type(free) == 'number' && free < `2`].host", TEXTS, ["full"], ["full"], ["full"]),
):
    command = ["node", "ask.mjs", query, json.dumps(data)]
    others = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seen = [ask(query, data), *others]
    print(f"{query} of {json.dumps(data)}\n  expected: {expected}")
    print(f"  observed: Python {seen[0]}, npm {seen[1]}, community {seen[2]}")
    if seen != [python, node, expected]:
        print(f"  CHANGED: it was {python}, {node} and {expected}")
        changed = 1
sys.exit(changed)
PYTHON
