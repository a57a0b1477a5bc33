#!/usr/bin/env bash
# JSON Schemas in which "$ref" is data or has an escape, read by langchain-core and pydantic; jsonschema is the control.
#
# Packages: langchain-core 1.7.2, pydantic 2.14.3, jsonschema 4.26.0
# Expected: "$ref" is a reference only where a schema stands. A property of that name and a "$ref" within const, enum,
#           default or examples are data and stay; "~1" and "%20" in a reference are read as JSON pointers say.
# Observed: `dereference_refs` resolves every "$ref" it meets. A property called "$ref" is a TypeError (unhashable dict), a
#           value within const, enum or examples a KeyError, or it is replaced without a word by the schema that it
#           happens to name. References with "~1", "~0" or "%20" aren't found. jsonschema reads all of these schemas.
#           `convert_to_openai_tool`, which `bind_tools` calls, does that to a pydantic class with an alias "$ref" or an
#           example that holds one; with such a default pydantic's own `model_json_schema` raises KeyError.
# So: tools that take OpenAPI or JSON Schema documents as arguments fail when they are bound: every turn, not their call.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain-core==1.7.2 pydantic==2.14.3 jsonschema==4.26.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import json
import sys
from importlib.metadata import version

from jsonschema import Draft202012Validator
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel, Field

for name in ("langchain-core", "pydantic", "jsonschema"):
    print(name, version(name))
changed = 0


def tell(name, expected, seen, observed):
    global changed
    print(f"{name}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1


def outcome(call):
    try:
        return json.dumps(call())
    except (KeyError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def schema(property, **defs):
    return {"type": "object", "properties": {"a": property}, "$defs": defs}


integer = {"type": "integer"}
named = {"type": "object", "properties": {"$ref": {"type": "string"}}}
main = {"$ref": "#/main"}
own = {"type": "object", "examples": [{"$ref": "#/$defs/A"}]}
CASES = [
    ("a property called $ref", named, {"$ref": "main"}, 1, "unchanged", "TypeError: unhashable type: 'dict'"),
    ("const", schema({"const": main}), {"a": main}, 2, "unchanged", "KeyError: \"Reference '#/main' not found.\""),
    ("enum", schema({"enum": [main]}), {"a": main}, 2, "unchanged", "KeyError: \"Reference '#/main' not found.\""),
    ("an example", schema(own, A=integer), {"a": {}}, 1, "unchanged",
     json.dumps(schema({"type": "object", "examples": [integer]}, A=integer))),
    ("~1", schema({"$ref": "#/$defs/x~1y"}, **{"x/y": integer}), {"a": 1}, "no", "an integer",
     "KeyError: \"Reference '#/$defs/x~1y' not found.\""),
    ("~0", schema({"$ref": "#/$defs/x~0y"}, **{"x~y": integer}), {"a": 1}, "no", "an integer",
     "KeyError: \"Reference '#/$defs/x~0y' not found.\""),
    ("%20", schema({"$ref": "#/$defs/x%20y"}, **{"x y": integer}), {"a": 1}, "no", "an integer",
     "KeyError: \"Reference '#/$defs/x%20y' not found.\""),
]
for name, document, good, bad, expected, observed in CASES:
    Draft202012Validator.check_schema(document)
    validator = Draft202012Validator(document)
    wrong = bad if name == "a property called $ref" else {"a": bad}
    if not validator.is_valid(good) or validator.is_valid(wrong):
        print("CHANGED: jsonschema reads it in another way")
        changed = 1
    seen = outcome(lambda: dereference_refs(document))
    tell(f"dereference_refs, {name}: {json.dumps(document)}", expected, seen, observed)


class Alias(BaseModel):
    "Read a part of a document."

    ref: str = Field(alias="$ref")


class Example(BaseModel):
    "Send a body."

    body: dict = Field(examples=[{"$ref": "#/components/schemas/User"}])


class Default(BaseModel):
    "Send a body."

    body: dict = {"$ref": "#/components/schemas/User"}


missing = "KeyError: \"Reference '#/components/schemas/User' not found.\""
for model, observed in ((Alias, "TypeError: unhashable type: 'dict'"), (Example, missing)):
    seen = outcome(lambda: convert_to_openai_tool(model))
    tell(f"convert_to_openai_tool, {model.__name__}", "a tool with this property", seen, observed)
tell("pydantic, model_json_schema, Default", "a schema with this default", outcome(Default.model_json_schema),
     "KeyError: '#/components/schemas/User'")
sys.exit(changed)
PYTHON
