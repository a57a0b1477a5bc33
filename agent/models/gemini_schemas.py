"""Reduction of tool schemas to the subset of OpenAPI 3.0 that Gemini's API supports.

The fields are those of Schema in Gemini's API (https://ai.google.dev/api/caching#Schema); any other is an
error ("Unknown name ... Cannot find field"). As in `process_schema` of Google's python-genai package,
references are inlined, null becomes `nullable`, a constant an enumeration; the Developer API has no
`additionalProperties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from agent.core.tool_schemas import MOST_REFERENCES, Schema, find_definition

_FIELDS = frozenset(
    {"type", "format", "title", "description", "nullable", "default", "enum", "items", "properties"}
    | {"required", "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"}
    | {"minimum", "maximum", "pattern", "example", "propertyOrdering"}
)
_ONLY_FOR: Mapping[str, str] = {"properties": "object", "required": "object", "items": "array"}
"""Fields that Gemini accepts with one type only (anomalyco/opencode issue 11889)."""
_TEXT: Mapping[str, Any] = {"type": "string"}


def reduce_function(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function with parameters that Gemini supports."""
    rest = {name: value for name, value in function.items() if name not in {"parameters", "strict"}}
    return {**rest, "parameters": reduce_schema(function.get("parameters") or {"type": "object"})}


def reduce_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema with the fields that Gemini supports; recursive or oversized parts become any
    object.
    """
    return _reduce(schema, _Place(schema))


@dataclass(frozen=True, slots=True)
class _Place:
    """The whole schema, the references that lead to a position in it, and the numbers of all references."""

    root: Mapping[str, Any]
    followed: frozenset[str] = frozenset()
    numbers: Iterator[int] = field(default_factory=count)

    def resolve(self, part: Mapping[str, Any]) -> tuple[Mapping[str, Any], _Place]:
        """Return the target of a reference, merged with fields next to the reference."""
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part, self
        is_end = reference in self.followed or next(self.numbers) >= MOST_REFERENCES
        found: object = {"type": "object"} if is_end else find_definition(self.root, reference)
        beside = {name: value for name, value in part.items() if name != "$ref"}
        there = replace(self, followed=self.followed | {reference})
        return there.resolve({**(found if isinstance(found, Mapping) else {"type": "object"}), **beside})


def _reduce(part: object, place: _Place) -> Schema:
    if not isinstance(part, Mapping):
        return dict(_TEXT)
    schema, place = place.resolve(part)
    schema = _join_parts(schema, place)
    options = _list_options(schema)
    if options is not None:
        return _reduce_options(schema, options, place)
    reduced = {name: value for name, value in schema.items() if name in _FIELDS and value is not None}
    _reduce_values(reduced, schema)
    if isinstance(properties := reduced.get("properties"), Mapping):
        reduced["properties"] = {name: _reduce(one, place) for name, one in properties.items()}
    if "required" in reduced:
        known = reduced.get("properties") or {}
        reduced["required"] = [name for name in reduced["required"] if name in known]
    if not reduced.get("required", True):
        del reduced["required"]
    if "items" in reduced or reduced.get("type") == "array":
        reduced["items"] = _reduce(reduced.get("items"), place)
    typed: Schema = {"type": _guess_type(reduced), **reduced}
    kind = typed["type"]
    return {name: value for name, value in typed.items() if _ONLY_FOR.get(name, kind) == kind}


def _guess_type(reduced: Schema) -> str:
    """Return a type for a schema that may lack one, since Gemini 3 rejects schemas without a type."""
    if "properties" in reduced:
        return "object"
    return "array" if "items" in reduced else "string"


def _join_parts(schema: Mapping[str, Any], place: _Place) -> Mapping[str, Any]:
    joined = {name: value for name, value in schema.items() if name != "allOf"}
    for part in schema.get("allOf") or ():
        if isinstance(part, Mapping):
            found, _ = place.resolve(part)
            properties = {**(found.get("properties") or {}), **(joined.get("properties") or {})}
            required = [*(joined.get("required") or ()), *(found.get("required") or ())]
            joined = {**found, **joined}
            joined |= {"properties": properties} if properties else {}
            joined |= {"required": required} if required else {}
    return joined


def _list_options(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return a schema's alternatives, including those from a list of types; None if there are none."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = {name: value for name, value in schema.items() if name not in {"type", "description"}}
        return [{**rest, "type": kind} if kind != "null" else {"type": "null"} for kind in kinds]
    found = schema.get("anyOf") or schema.get("oneOf")
    # Alternatives of an object with properties only say which of them go together.
    return found if isinstance(found, list) and not schema.get("properties") else None


def _reduce_options(schema: Mapping[str, Any], options: list[Any], place: _Place) -> Schema:
    """Return only the alternatives, since Gemini allows no other fields next to them."""
    real = [one for one in options if not (isinstance(one, Mapping) and one.get("type") == "null")]
    made = [_reduce(one, place) for one in real] or [dict(_TEXT)]
    for one in made:
        if "anyOf" in one:
            continue
        if isinstance(told := schema.get("description"), str):
            one.setdefault("description", told)
        if len(real) < len(options):
            one["nullable"] = True
    return made[0] if len(made) == 1 else {"anyOf": made}


def _reduce_values(reduced: Schema, schema: Mapping[str, Any]) -> None:
    """Convert the permitted values in place: texts become an enumeration, other values a description."""
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        bound = schema.get(exclusive)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            reduced.setdefault(limit, bound)
    values = [schema["const"]] if "const" in schema else reduced.pop("enum", None)
    if not isinstance(values, list):
        return
    texts = [value for value in values if isinstance(value, str) and value]
    if texts and len(texts) == len([value for value in values if value not in (None, "")]):
        reduced |= {"type": "string", "enum": texts}
    else:
        listed = f"One of: {', '.join(map(str, values))}."
        reduced["description"] = f"{reduced.get('description') or ''} {listed}".strip()
