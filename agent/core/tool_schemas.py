"""Conversion of tools' JSON schemas to the subset of draft 2020-12 that strict providers accept.

Schemas also come from MCP servers, which write them for any draft of JSON Schema, or with mistakes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

Schema = dict[str, Any]

MOST_REFERENCES = 500
"""Maximum number of references to inline. Ten parts that refer to each other would expand to millions."""
_INVALID = object()
_REMOVED = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor"}
    | {"$recursiveRef", "$vocabulary", "additionalItems", "dependencies"}
)
_DEFINITIONS = frozenset({"$defs", "definitions"})
_PROPERTIES = frozenset({"properties", "dependentSchemas"})
_MAPS = _DEFINITIONS | _PROPERTIES | {"patternProperties"}
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"contentSchema", "unevaluatedItems", "unevaluatedProperties"}
)
_CONDITIONS = frozenset({"not", "if"})
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Names of properties that Anthropic accepts."""
_NUMERAL = re.compile(r"\s*[-+]?[0-9]{1,15}(\.[0-9]{1,15})?\s*")
_INDEX = re.compile(r"[0-9]{1,6}")


class TidyTool(dict[str, Any]):
    """A tool that `tidy_tool` returned."""


def tidy_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function tool with an object of parameters that every provider accepts; other tools unchanged.

    Mistral rejects `$schema` and `$id`, and limits in the form of draft 4; Groq rejects `required` without
    `properties`.
    """
    if isinstance(tool, TidyTool):
        return {**tool}
    function = tool.get("function")
    if isinstance(function, Mapping):
        return TidyTool({**tool, "function": _tidy_function(function)})
    # OpenAI's responses have functions without this level.
    return _tidy_function(tool) if tool.get("type") == "function" else dict(tool)


def _tidy_function(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = tidy_schema(function.get("parameters") or {})
    parameters = {**schema, "type": "object", "properties": schema.get("properties") or {}}
    return {**function, "parameters": parameters}


def tidy_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema without metadata, in the format of draft 2020-12.

    Anything in another format is converted or removed, at any depth, because Anthropic rejects it. Every
    array gets `items`, which OpenAI requires; every property is an object, as Ollama requires, never `true`.
    """
    return SchemaMender().mend(schema)


def find_definition(root: Any, reference: str) -> Any:
    """Return the target of a reference like `#/$defs/name`, or None."""
    found = root
    for part in filter(None, reference.removeprefix("#").split("/")):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and _INDEX.fullmatch(name):
            found = found[int(name)] if int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found


class SchemaMender:
    """Converts schemas to the format that providers accept.

    With a `root`, references into it are inlined, because LangChain fails on references that it can't
    resolve, and properties whose names Anthropic rejects are renamed.
    """

    def __init__(self, root: Mapping[str, Any] | None = None) -> None:
        self._root, self._references = root, 0
        self.names: dict[str, str] = {}
        """Original names of the renamed properties, by new name."""

    def mend(self, schema: Mapping[str, Any], followed: frozenset[str] = frozenset()) -> Schema:
        """Return the converted schema; `followed` contains the references that led to it."""
        schema, followed = self.resolve(schema, followed)
        tidy: Schema = {}
        for name, value in schema.items():
            if (mended := self._mend_value(name, value, followed)) is not _INVALID:
                tidy[name] = mended
        for exclusive, limit in _LIMITS.items():
            if _read_flag(schema.get(exclusive)) is True and limit in tidy:
                tidy[exclusive] = tidy.pop(limit)
        if (required := tidy.pop("required", None)) is not None and tidy.get("properties"):
            tidy["required"] = [self._rename(one) for one in required]
        if (dependent := tidy.pop("dependentRequired", None)) is not None:
            tidy["dependentRequired"] = {
                self._rename(key): [self._rename(one) for one in names] for key, names in dependent.items()
            }
        if isinstance(items := tidy.get("items"), list):
            tidy["items"] = {"anyOf": items} if len(items) > 1 else items[0]
        if "array" in _list_types(tidy.get("type")) and "prefixItems" not in tidy:
            tidy.setdefault("items", {})
        return tidy

    def resolve(
        self, schema: Mapping[str, Any], followed: frozenset[str] = frozenset()
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Return the target of a reference, merged with the fields next to it; for a loop, only these."""
        reference = schema.get("$ref")
        if self._root is None or not isinstance(reference, str):
            return schema, followed
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        self._references += 1
        if reference in followed or self._references > MOST_REFERENCES:
            return beside, followed
        target = find_definition(self._root, reference)
        merged = {**target, **beside} if isinstance(target, Mapping) else beside
        return self.resolve(merged, followed | {reference})

    def _mend_value(self, name: str, value: Any, followed: frozenset[str]) -> Any:
        is_inlined = self._root is not None and name in _DEFINITIONS
        if name in _MAPS and not is_inlined:
            return self._mend_map(name, value, followed)
        if name in _LISTS or (name == "items" and isinstance(value, list)):
            parts = value if isinstance(value, list) else [value]
            mended = [self._mend_any(part, followed) for part in parts]
            return [part for part in mended if part is not _INVALID] or _INVALID
        if name in _SINGLE:
            mended = self._mend_any(value, followed)
            # Without its keywords, a condition would hold for everything.
            return _INVALID if name in _CONDITIONS and mended == {} != value else mended
        is_removed = is_inlined or name in _REMOVED
        return _INVALID if is_removed else _READERS[name](value) if name in _READERS else value

    def _mend_map(self, name: str, value: Any, followed: frozenset[str]) -> Any:
        if not isinstance(value, Mapping):
            return _INVALID
        mended: Schema = {}
        for key, part in value.items():
            if name == "patternProperties" and _read_pattern(key) is _INVALID:
                continue
            schema = self._mend_any(part, followed)
            schema = {"not": {}} if schema is False else schema if isinstance(schema, dict) else {}
            new = self._rename(key) if name in _PROPERTIES else key
            if new != key:
                schema["description"] = f"{key}: {schema.get('description') or ''}".rstrip(": ")
            mended[new] = schema
        return mended

    def _mend_any(self, value: Any, followed: frozenset[str]) -> Any:
        """Convert a schema, which can be a boolean; the bare name of a type becomes a schema of that type."""
        if isinstance(value, Mapping):
            return self.mend(value, followed)
        kinds = _list_types(value) if isinstance(value, str) else []
        return self.mend({"type": kinds[0]}) if kinds else _read_flag(value)

    def _rename(self, key: str) -> str:
        if self._root is None or _KEY.fullmatch(key):
            return key
        # The hash keeps the new name from matching another property or a key of a free-form map.
        mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:6]
        new = f"{re.sub(r'[^A-Za-z0-9.-]+', '_', key)[:48].strip('_')}_{mark}"
        self.names[new] = key
        return new


def restore_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return arguments with the original names of renamed properties."""
    if isinstance(value, Mapping):
        return {names.get(key, key): restore_names(one, names) for key, one in value.items()}
    return [restore_names(one, names) for one in value] if isinstance(value, list) else value


def _list_types(value: Any) -> list[str]:
    """Return the types in a value of `type`; none if any of them is unknown."""
    kinds = value if isinstance(value, list) else [value]
    words = [
        "null" if kind is None else kind.strip().lower() for kind in kinds if kind is None or _is_text(kind)
    ]
    is_known = len(words) == len(kinds) and _TYPES.issuperset(words) and value is not None
    return list(dict.fromkeys(words)) if is_known else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _read_type(value: Any) -> Any:
    kinds = _list_types(value)
    return (kinds if isinstance(value, list) else kinds[0]) if kinds else _INVALID


def _read_number(value: Any) -> Any:
    if isinstance(value, str) and _NUMERAL.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _INVALID
    return value if isinstance(value, int) or math.isfinite(value) else _INVALID


def _read_count(value: Any) -> Any:
    number = _read_number(value)
    return int(number) if number is not _INVALID and number >= 0 and number == int(number) else _INVALID


def _read_divisor(value: Any) -> Any:
    number = _read_number(value)
    return number if number is not _INVALID and number > 0 else _INVALID


def _read_text(value: Any) -> Any:
    return value if isinstance(value, str) else _INVALID


def _read_flag(value: Any) -> Any:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), _INVALID)
    return value if isinstance(value, bool) else _INVALID


def _read_values(value: Any) -> Any:
    """Return the values without duplicates, which OpenAI rejects."""
    if not isinstance(value, list) or not value:
        return _INVALID
    return list({json.dumps(one, sort_keys=True): one for one in value}.values())


def _read_names(value: Any) -> Any:
    return list(dict.fromkeys(filter(_is_text, value))) if isinstance(value, list) else _INVALID


def _read_name_lists(value: Any) -> Any:
    entries = value.items() if isinstance(value, Mapping) else ()
    read = {key: _read_names(names) for key, names in entries}
    return {key: names for key, names in read.items() if names is not _INVALID} or _INVALID


def _read_pattern(value: Any) -> Any:
    """Return a regular expression if both Python and JavaScript can parse it, else `_INVALID`."""
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError, OverflowError):
        return _INVALID
    return _INVALID if re.search(r"\(\?(?![:=!]|<[=!])|\\[AZ]", value) else value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "type": _read_type,
    "enum": _read_values,
    "examples": _read_values,
    "required": _read_names,
    "dependentRequired": _read_name_lists,
    "multipleOf": _read_divisor,
    "pattern": _read_pattern,
    **dict.fromkeys(("minimum", "maximum", *_LIMITS), _read_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties"), _read_count),
    **dict.fromkeys(("maxProperties", "minContains", "maxContains"), _read_count),
    **dict.fromkeys(("title", "description", "format", "$ref"), _read_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _read_text),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated"), _read_flag),
}
