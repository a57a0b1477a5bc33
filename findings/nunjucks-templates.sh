#!/usr/bin/env bash
# Templates of Jinja, rendered with the same data by Nunjucks, whose package says that it is inspired by Jinja.
#
# Packages: jinja2 3.1.6, nunjucks 3.2.4 (npm)
# Expected: syntax that both accept means the same; what one of them doesn't know is an error. Only values print as the
#           language writes them (true, True).
# Observed: a loop over the keys of an object renders nothing, an empty list is true, a name set within a loop changes the
#           outer one, and 3 > 2 > 1 is false. [-1] is empty instead of the last item, -7 % 3 is -1, "10" * 2 is a
#           number, 1e-7 prints NaN and 1e20 nothing. None is an error.
# So: a template that is shown as a preview in the browser is rendered by the engine that sends it.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q jinja2==3.1.6
cd "$dir"; npm install --silent --no-fund --no-audit nunjucks@3.2.4
cat > render.cjs <<'JAVASCRIPT'
const nunjucks = require("nunjucks");

const [template, data] = process.argv.slice(2);
process.stdout.write(new nunjucks.Environment(null, { autoescape: false }).renderString(template, JSON.parse(data)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import sys
from importlib.metadata import version

import jinja2

print("nunjucks 3.2.4, jinja2", version("jinja2"))
DATA = {"labels": {"team": "ops", "site": "fra"}, "alerts": [], "values": [3, 1, 2]}
changed = 0
for template, expected, observed in (
    ("{{ values | join(', ') }}", "3, 1, 2", "3, 1, 2"),
    ("{% for key in labels %}{{ key }} {% endfor %}", "team site ", ""),
    ("{% if alerts %}alerts{% else %}all quiet{% endif %}", "all quiet", "alerts"),
    ("{% set n = 0 %}{% for value in values %}{% set n = n + value %}{% endfor %}{{ n }}", "0", "6"),
    ("{% if 3 > 2 > 1 %}in order{% endif %}", "in order", ""),
    ("{{ values[-1] }}", "2", ""),
    ("{{ -7 % 3 }}", "2", "-1"),
    ("{{ '10' * 2 }}", "1010", "20"),
    ("{{ 1e-7 }}", "1e-07", "NaN"),
    ("{{ 1e20 }}", "1e+20", ""),
):
    control = jinja2.Environment().from_string(template).render(DATA)
    command = ["node", "render.cjs", template, json.dumps(DATA)]
    seen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"{template}\n  expected: {control!r}\n  observed: {seen!r}")
    if (control, seen) != (expected, observed):
        print(f"  CHANGED: it was {observed!r} and {expected!r}")
        changed = 1
sys.exit(changed)
PYTHON
