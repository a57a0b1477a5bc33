#!/usr/bin/env bash
# Conditions of CEL, the Common Expression Language, over the JSON of an alert, in three implementations.
#
# Packages: cel-expr-python 0.1.3 (the C++ implementation of the language's authors), cel-python 0.5.0,
#           common-expression-language 0.10.0 (Rust)
# Expected: the same condition over the same JSON gives the same answer, or an error, in all three; whether a value was
#           written as 5 or 5.0 makes no difference to comparisons.
# Observed: in cel-python, `value > 4.5` is an error if the value happens to be a whole number, `value / 2.0` is then cut
#           to 2, an index of -1 is the last item, and the text of true is "True". In Rust, the size of a text is that
#           of its UTF-8 bytes, and `exists` fails if one item can't be compared, although another one fulfils it.
# So: rules that are shared between services name their implementation and are tested there; write double(value) > 4.5.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q cel-expr-python==0.1.3 cel-python==0.5.0 common-expression-language==0.10.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import cel as rust
import celpy
from cel_expr_python import cel as cpp
from celpy.adapter import json_to_cel

for name in ("cel-expr-python", "cel-python", "common-expression-language"):
    print(name, version(name))
ALERT = {"value": 5, "share": 2.5, "firing": True, "name": "über", "values": ["n/a", 3], "items": [1, 2, 3]}


def run_cpp(condition):
    value = cpp.NewEnv(variables={"a": cpp.Type.DYN}).compile(condition).eval(data={"a": ALERT})
    return "error" if "error" in str(value.type()).lower() else value.plain_value()


def run_python(condition):
    environment = celpy.Environment()
    return environment.program(environment.compile(condition)).evaluate({"a": json_to_cel(ALERT)})


def run_rust(condition):
    return rust.evaluate(condition, {"a": ALERT})


def ask(run, condition):
    try:
        found = run(condition)
    except (LookupError, RuntimeError, TypeError, ValueError, celpy.CELEvalError):
        return "error"
    kinds = {celpy.celtypes.BoolType: bool, celpy.celtypes.StringType: str, celpy.celtypes.IntType: int}
    return kinds.get(type(found), type(found))(found)


CASES = [
    ("a.share > 2.4", True, True, True),
    ("a.value > 4.5", True, "error", True),
    ("double(a.value) > 4.5", True, True, True),
    ("a.value == 5.0", True, "error", True),
    ("a.value / 2.0", "error", 2, "error"),
    ("a.items[-1]", "error", 3, "error"),
    ("string(a.firing)", "true", "True", "error"),
    ("size(a.name)", 4, 4, 5),
    ("a.values.exists(one, one > 2)", True, True, "error"),
]
changed = 0
for condition, *observed in CASES:
    seen = [ask(run, condition) for run in (run_cpp, run_python, run_rust)]
    print(f"{condition}\n  expected: {observed[0]}\n  observed: C++ {seen[0]}, Python {seen[1]}, Rust {seen[2]}")
    if repr(seen) != repr(observed):
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
