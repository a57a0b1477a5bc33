"""Reduction of tools' JSON schemas to the subset that strict providers accept.

Schemas come from MCP servers too, which write them for several drafts of JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_METADATA = frozenset({"$schema", "$id", "$comment"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
)
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def tidy_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function tool with an object of parameters that every provider accepts; other tools unchanged.

    Mistral rejects `$schema` and `$id`, and limits in the form of draft 4; Groq rejects `required` without
    `properties`.
    """
    function = tool.get("function")
    if isinstance(function, Mapping):
        return {**tool, "function": _tidy_function(function)}
    # OpenAI's responses have functions without this level.
    return _tidy_function(tool) if tool.get("type") == "function" else dict(tool)


def _tidy_function(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = tidy_schema(function.get("parameters") or {})
    parameters = {**schema, "type": "object", "properties": schema.get("properties") or {}}
    return {**function, "parameters": parameters}


def tidy_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema without metadata, with limits and items in draft 2020-12 format.

    Anthropic rejects other forms. Arrays have items, which OpenAI requires; a property is an object, which
    Ollama requires, not `true`.
    """
    tidy = {name: _tidy_value(name, value) for name, value in schema.items() if name not in _METADATA}
    for exclusive, limit in _LIMITS.items():
        if isinstance(tidy.get(exclusive), bool):
            is_exclusive = tidy.pop(exclusive)
            if is_exclusive and limit in tidy:
                tidy[exclusive] = tidy.pop(limit)
    if "required" in tidy and not (tidy.get("properties") and isinstance(tidy["required"], list)):
        del tidy["required"]
    if not _is_type(tidy.get("type", [])):
        del tidy["type"]
    if isinstance(items := tidy.get("items"), list):
        tidy["items"] = {"anyOf": items} if len(items) > 1 else next(iter(items), {})
    if tidy.get("type") == "array" and "prefixItems" not in tidy:
        tidy.setdefault("items", {})
    return tidy


def _is_type(value: object) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return all(isinstance(kind, str) and kind in _TYPES for kind in kinds)


def _tidy_value(name: str, value: Any) -> Any:
    if name in _MAPS and isinstance(value, Mapping):
        return {key: _tidy_any({} if one is True else one) for key, one in value.items()}
    if isinstance(value, list) and (name in _LISTS or name in _SINGLE):
        return [_tidy_any(one) for one in value]
    return _tidy_any(value) if name in _SINGLE else value


def _tidy_any(value: Any) -> Any:
    """Tidy a schema; `true` and `false` are schemas too."""
    return tidy_schema(value) if isinstance(value, Mapping) else value
