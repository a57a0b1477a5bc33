#!/usr/bin/env bash
# What changed in the arguments of an action, as a diff of two JSON values.
#
# Packages: deepdiff 9.1.0, jsonpatch 1.48 (the control)
# Expected: 1 and true are different JSON values, wherever they stand, and DeepDiff reports them as a change of type; so
#           it does with 1 and 1.0.
# Observed: it does in objects. In lists of plain values it reports nothing: [1, 0] and [true, false] have no
#           difference, and a delta made from that diff doesn't lead to the new value. Beside another change in the list,
#           only the other one is told. With zip_ordered_iterables=True or ignore_order=True, all are found.
# So: an empty diff doesn't mean "as approved"; compare canonical JSON for that, and use DeepDiff to show changes only.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q deepdiff==9.1.0 jsonpatch==1.48
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import jsonpatch
from deepdiff import DeepDiff, Delta

for name in ("deepdiff", "jsonpatch"):
    print(name, version(name))


def list_paths(diff):
    return sorted(path.removeprefix("root") for changes in diff.values() for path in changes)


changed = 0
for name, old, new, expected, observed in (
    ("object", {"dry_run": 1}, {"dry_run": True}, ["['dry_run']"], ["['dry_run']"]),
    ("objects in a list", [{"on": 0}], [{"on": False}], ["[0]['on']"], ["[0]['on']"]),
    ("list", [1, 0], [True, False], ["[0]", "[1]"], []),
    ("list in an object", {"steps": [1, "x"]}, {"steps": [True, "x"]}, ["['steps'][0]"], []),
    ("numbers", [1], [1.0], ["[0]"], []),
    ("beside a change", [1, 2], [True, 3], ["[0]", "[1]"], ["[1]"]),
    ("texts", ["1"], [1], ["[0]"], ["[0]"]),
):
    diff = DeepDiff(old, new)
    seen, zipped = list_paths(diff), list_paths(DeepDiff(old, new, zip_ordered_iterables=True))
    leads_to_new = repr(old + Delta(diff)) == repr(new)
    patch = len(list(jsonpatch.make_patch(old, new)))
    print(f"{name}: {old} and {new}\n  expected: {expected}\n  observed: {seen}, with zip_ordered_iterables {zipped}")
    print(f"            its delta leads to the new one: {leads_to_new}; jsonpatch has {patch} operations")
    if (seen, zipped, leads_to_new, patch) != (observed, expected, observed == expected, len(expected)):
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
