#!/usr/bin/env bash
# Take one of three entries out of a configuration file, with libraries that keep comments.
#
# Packages: tomlkit 0.15.2, ruamel.yaml 0.19.1
# Expected: the comment above an entry goes with it, or stays as an orphan; the comments of the others are left alone.
# Observed: with a blank line between entries, both keep the comment of the entry that was taken out and drop that of the
#           next entry, so "never restart by hand" now stands above another service. tomlkit also puts a new last key
#           of a table behind the next table's comment. ruamel.yaml drops comments within [ ] without any edit,
#           and `reverse` of a list moves the items and leaves the comments at the ends of lines where they were (`sort`
#           takes them along).
# So: edit by lines found with a parser, or read the diff of comments before a file is written.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q tomlkit==0.15.2 ruamel.yaml==0.19.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version
from io import StringIO

import tomlkit
from ruamel.yaml import YAML

print(*(f"{name} {version(name)}" for name in ("tomlkit", "ruamel.yaml")))


def toml(text, edit):
    document = tomlkit.parse(text)
    edit(document)
    return tomlkit.dumps(document)


def yaml(text, edit):
    document = YAML().load(text)
    edit(document)
    stream = StringIO()
    YAML().dump(document, stream)
    return stream.getvalue()


TABLES = "[a]\nx=1\n\n# about b\n[b]\nx=1\n\n# about c\n[c]\nx=1\n"
KEYS = "a: 1\n\n# about b\nb: 1\n\n# about c\nc: 1\n"
ITEMS = "- x # first\n- y # second\n"
changed = 0
for run, edit, text, change, expected, observed in (
    (toml, "without b", TABLES, lambda found: found.pop("b"), "[a]\nx=1\n\n# about c\n[c]\nx=1\n",
     "[a]\nx=1\n\n# about b\n[c]\nx=1\n"),
    (yaml, "without b", KEYS, lambda found: found.pop("b"), "a: 1\n\n# about c\nc: 1\n", "a: 1\n\n# about b\nc: 1\n"),
    (toml, "y added to a", "[a]\nx=1\n\n# about b\n[b]\nx=1\n", lambda found: found["a"].add("y", 2),
     "[a]\nx=1\ny = 2\n\n# about b\n[b]\nx=1\n", "[a]\nx=1\n\n# about b\ny = 2\n[b]\nx=1\n"),
    (yaml, "no edit", "a: [\n  1, # drained\n  2\n  ]\n", id, "a: [\n  1, # drained\n  2\n  ]\n", "a: [1, 2]\n"),
    (yaml, "reversed", ITEMS, lambda found: found.reverse(), "- y # second\n- x # first\n", "- y # first\n- x # second\n"),
    (yaml, "sorted", ITEMS, lambda found: found.sort(reverse=True), *["- y # second\n- x # first\n"] * 2),
):
    seen = run(text, change)
    print(f"{run.__name__}, {edit}: {text!r}\n  expected: {expected!r}\n  observed: {seen!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed!r}")
        changed = 1
sys.exit(changed)
PYTHON
