#!/usr/bin/env bash
# Lists that contain 0, false or an empty text, and absent inner values, in four Mustache libraries.
#
# Packages: chevron 0.14.0, langchain-core 1.7.2 (template_format="mustache"), pystache 0.6.8, chevron-ng 0.17.0
# Expected: a section over a list renders its inside once for each item, whatever the item is: Mustache looks at the list,
#           and a zero alone renders as 0. `{{disk.free}}` is empty if the inner `disk` has no `free`.
# Observed: chevron and langchain-core leave out each item that is 0, false or "", with all text around it: "0, 7, 0, "
#           becomes "7, ". An item that is true shows all of the data instead. For `{{disk.free}}` they go on to look
#           further out and show the value of another disk. Pystache and chevron-ng do what the specification says.
# So: give lists of objects, `{{#counts}}{{value}}{{/counts}}`, and set each inner value.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
for name in chevron==0.14.0 langchain-core==1.7.2 pystache==0.6.8 chevron-ng==0.17.0; do
    "${PYTHON:-python3}" -m venv "$dir/$name"
    "$dir/$name/bin/pip" install -q "$name"
done
cd "$dir"; cat > render.py <<'PYTHON'
import importlib
import sys

CASES = [
    ("{{#counts}}{{.}}, {{/counts}}", {"counts": [0, 7, 0]}, "0, 7, 0, ", "7, "),
    ("{{#counts}}{{value}}, {{/counts}}", {"counts": [{"value": 0}, {"value": 7}]}, "0, 7, ", "0, 7, "),
    ("{{#flags}}<{{.}}>{{/flags}}", {"flags": [True, False]}, "<True><False>", "<{'flags': [True, False]}>"),
    ("{{#names}}[{{.}}]{{/names}}", {"names": ["a", "", "b"]}, "[a][][b]", "[a][b]"),
    ("{{count}}", {"count": 0}, "0", "0"),
    ("{{#host}}{{disk.free}}{{/host}}", {"host": {"disk": {}}, "disk": {"free": 90}}, "", "90"),
]
name, version = sys.argv[1].split("==")
if name == "langchain-core":
    render = importlib.import_module("langchain_core.utils.mustache").render
else:
    render = importlib.import_module(name.split("-")[0]).render
changed = 0
for template, data, expected, observed in CASES:
    seen, before = render(template, data), expected if name in ("pystache", "chevron-ng") else observed
    print(f"{name} {version}: {template} with {data}\n  expected: {expected!r}\n  observed: {seen!r}")
    if seen != before:
        print(f"  CHANGED: it was {before!r}")
        changed = 1
sys.exit(changed)
PYTHON
for name in chevron==0.14.0 langchain-core==1.7.2 pystache==0.6.8 chevron-ng==0.17.0; do
    "$name/bin/python" render.py "$name"
done
