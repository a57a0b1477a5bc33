#!/usr/bin/env bash
# Texts that one service writes as YAML and another one reads, in both directions.
#
# Packages: pyyaml 6.0.4, yaml 2.9.1 and js-yaml 5.5.0 (npm)
# Expected: a library that writes a text puts it in quotes wherever a common reader would take it for something else.
# Observed: each does so for its own reader. What `yaml` writes for the texts 12:30, no, 1_000 and 2026-11-30 is 750, false,
#           1000 and a date in PyYAML, and a text with a tab is an error. What PyYAML writes for 1e3, 12e45 (a short hash)
#           and 0o17 are numbers in both libraries of npm. js-yaml quotes for PyYAML as well.
# So: write JSON, which all of them read alike; with version 1.1, `yaml` puts all but the tab in quotes for PyYAML.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q pyyaml==6.0.4
cd "$dir"; npm install --silent --no-fund --no-audit yaml@2.9.1 js-yaml@5.5.0
cat > convert.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import * as jsYaml from "js-yaml";
import * as yaml from "yaml";

const { value, text } = JSON.parse(readFileSync(0));
const written = [yaml.stringify({ value }), yaml.stringify({ value }, { version: "1.1" }), jsYaml.dump({ value })];
console.log(JSON.stringify({ written, read: [yaml.parse(text).value, jsYaml.load(text).value] }));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from datetime import date
from importlib.metadata import version

import yaml

print("yaml 2.9.1, js-yaml 5.5.0, pyyaml", version("pyyaml"))


def read(text):
    try:
        return yaml.safe_load(text)["value"]
    except yaml.YAMLError:
        return "an error"


changed = 0
for value, *observed in (
    ("disk", "disk", "disk", "disk"),
    ("12:30", 750, "12:30", "12:30"),
    ("no", False, "no", "no"),
    ("1_000", 1000, "1_000", "1_000"),
    ("2026-11-30", date(2026, 11, 30), "2026-11-30", "2026-11-30"),
    ("a\tb", "an error", "a\tb", "a\tb"),
    ("1e3", "1e3", 1000, 1000),
    ("12e45", "12e45", 1.2e46, 1.2e46),
    ("0o17", "0o17", 15, 15),
):
    request = json.dumps({"value": value, "text": yaml.safe_dump({"value": value})})
    run = subprocess.run(["node", "convert.mjs"], check=True, capture_output=True, text=True, input=request)
    answer = json.loads(run.stdout)
    plain, older, other = map(read, answer["written"])
    seen = [plain, *answer["read"]]
    print(f"{value!r}\n  expected: {value!r}\n  observed: {plain!r} from yaml to PyYAML ({older!r} with version 1.1),")
    print(f"            {other!r} from js-yaml to PyYAML, {seen[1]!r} and {seen[2]!r} from PyYAML to yaml and js-yaml")
    if (seen, older, other) != (observed, "an error" if "\t" in value else value, value):
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
