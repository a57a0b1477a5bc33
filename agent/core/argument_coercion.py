"""Fit imprecise arguments of tool calls to the tool's JSON schema.

Small models, and some parsers between a model and its API, write values of another type than the schema
asks for. What is seen, and where it was reported:

| value | fitted | reported in |
|---|---|---|
| `"[{\\"content\\": …}]"`: a list or an object as JSON text | parsed | NousResearch/hermes-agent#14185 |
| `"['a', 'b']"`: the same as Python text | parsed | Miso2233/SonettoHere#319 |
| one value or object in place of a list | wrapped | Miso2233/SonettoHere#319 |
| `{"item": ["a"]}`, `{"0": "a"}` in place of a list | unwrapped | DeerFlow's clarification middleware |
| `"true"`, `"3"`: switches and numbers as text | converted | anthropics/claude-code#29104 |
| null or `"null"` for what may be absent | removed, null | grll/mcpadapt#38, anthropics/claude-code#95239 |
| `file_path` for `path`, `startLine` for `start_line` | renamed | DeerFlow's argument normalization |
| an object or a list where text is asked for | its label, or JSON | PrefectHQ/fastmcp#3931 (reverse) |

A value that fits its schema is never changed: text that looks like JSON stays text where text is asked for.
What cannot be fitted stays as it is, so that the tool's own validation explains the problem.

MCP servers validate strictly, and Pydantic's lax mode converts only a part of this. The stored call stays as
written, since some providers compare the calls that they get back with those that they sent.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent.core.loose_json import opens_container, parse_loose_json, split_items
from agent.core.tool_schemas import find_definition

MAX_STEPS = 20_000
"""Schemas looked at for one call; a schema that refers to itself in circles ends here."""
_UNFIT = object()
_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})
_NULL_WORDS = frozenset({"null", "none", "undefined"})
_SWITCHES = {
    **dict.fromkeys(("true", "yes", "1", "on"), True),
    **dict.fromkeys(("false", "no", "0", "off"), False),
}
_WRAPPERS = frozenset({"args", "arguments", "input", "kwargs", "parameters", "params", "tool_input"})
_LABELS = ("label", "title", "text", "name", "option", "value", "content", "path", "url", "id")
_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}(?:\.0+)?")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_ALIASES: Mapping[str, Sequence[str]] = {
    "path": ("file_path", "filename", "file_name", "file", "absolute_path", "target_file"),
    "paths": ("path", "files", "file_paths", "filepaths", "file", "file_path"),
    "command": ("cmd", "commands", "script"),
    "content": ("contents", "text", "body", "file_text", "file_content"),
    "old_str": ("old_string", "old_text", "old"),
    "new_str": ("new_string", "new_text", "new"),
    "query": ("q", "search", "search_query", "keywords"),
    "url": ("uri", "link", "href"),
    "prompt": ("task", "instructions", "instruction"),
    "description": ("summary",),
    "question": ("query", "prompt", "message", "text"),
    "options": ("choices", "answers"),
    "todos": ("todo", "items", "tasks", "list", "todo_list"),
    "status": ("state",),
}
"""Other names of a required property, used if it is missing and the schema has no such property."""
ALIASES = "aliases"
"""Key of a tool's metadata: other names of its arguments, also of optional ones, by argument."""
Aliases = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class FittedArguments:
    """Arguments, and the changes made: positions and types without values, such as `todos: text to list`."""

    args: dict[str, Any]
    changes: tuple[str, ...] = ()


class _TooManySteps(Exception):
    pass


def fit_arguments(
    schema: Mapping[str, Any], args: Mapping[str, Any], aliases: Aliases = _NONE
) -> FittedArguments:
    """Return the arguments with values converted, where possible, to fit the schema.

    `aliases` are other names of the tool's own arguments.
    """
    fitter = _Fitter(schema, aliases)
    try:
        fitted = fitter.fit_root(dict(args))
    except (_TooManySteps, RecursionError):
        return FittedArguments(dict(args))
    return FittedArguments(fitted, tuple(fitter.changes))


class _Fitter:
    """Fits the values of one call and records the changes."""

    def __init__(self, root: Mapping[str, Any], aliases: Aliases) -> None:
        self._root = root
        self._aliases = aliases
        self._steps = 0
        self.changes: list[str] = []

    def fit_root(self, args: dict[str, Any]) -> dict[str, Any]:
        schema = self._resolve(self._root)
        known = schema.get("properties") or {}
        if len(args) == 1:
            [(name, inner)] = args.items()
            if name in _WRAPPERS and name not in known:
                found = _parse_container(inner) if isinstance(inner, str) else inner
                if isinstance(found, Mapping):
                    self.changes.append(f"{name}: unwrapped")
                    args = dict(found)
        return self._fit_object(schema, args, "")

    def _resolve(self, schema: Any) -> Mapping[str, Any]:
        """Return the schema with its reference resolved and a single `allOf` merged."""
        for _ in range(10):
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise _TooManySteps
            if not isinstance(schema, Mapping):
                return {}
            reference = schema.get("$ref")
            if isinstance(reference, str):
                schema = find_definition(self._root, reference)
            elif isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
                others = {key: value for key, value in schema.items() if key != "allOf"}
                schema = {**self._resolve(schema["allOf"][0]), **others}
            else:
                return schema
        return {}

    def _fits(self, schema: Any, value: Any) -> bool:
        schema = self._resolve(schema)
        for key, rule in (("anyOf", any), ("oneOf", any), ("allOf", all)):
            branches = schema.get(key)
            if isinstance(branches, list) and not rule(self._fits(one, value) for one in branches):
                return False
        if "enum" in schema and not any(_is_same(value, one) for one in schema["enum"]):
            return False
        if "const" in schema and not _is_same(value, schema["const"]):
            return False
        kinds = _kinds_of(schema)
        if kinds and not any(_is_kind(kind, value) for kind in kinds):
            return False
        if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
            return all(self._fits(schema["items"], one) for one in value)
        return not isinstance(value, Mapping) or self._fits_object(schema, value)

    def _fits_object(self, schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
        known = schema.get("properties") or {}
        if any(name not in value for name in schema.get("required") or ()):
            return False
        others = schema.get("additionalProperties")
        return all(self._fits(known.get(name, others), one) for name, one in value.items())

    def _fit(self, schema: Any, value: Any, where: str) -> Any:
        schema = self._resolve(schema)
        if value in ("null", "None", "undefined") and self._allows_null(schema):
            return self._change(where, value, None)
        if self._fits(schema, value):
            return value
        for branch in (*_branches(schema, "anyOf"), *_branches(schema, "oneOf")):
            mark = len(self.changes)
            new = self._fit(branch, value, where)
            if self._fits(branch, new):
                return new
            del self.changes[mark:]
        if isinstance(schema.get("enum"), list):
            word = _match_word(schema["enum"], value)
            return value if word is _UNFIT else self._change(where, value, word)
        for kind in _kinds_of(schema):
            new = self._convert(kind, schema, value, where)
            if new is not _UNFIT:
                return new
        return value

    def _allows_null(self, schema: Mapping[str, Any]) -> bool:
        branches = (*_branches(schema, "anyOf"), *_branches(schema, "oneOf"))
        return "null" in _kinds_of(schema) or any("null" in _kinds_of(self._resolve(one)) for one in branches)

    def _convert(self, kind: str, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        """Return the value converted to this kind, or `_UNFIT`."""
        if kind == "array":
            return self._to_list(schema, value, where)
        if kind == "object":
            return self._to_object(schema, value, where)
        new = _to_text(value, where) if kind == "string" else _to_scalar(kind, value)
        return new if new is _UNFIT else self._change(where, value, new)

    def _to_list(self, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        items = self._resolve(schema.get("items"))
        found = value
        if not isinstance(value, list):
            found = _list_items(value, numbers=bool({"integer", "number"} & set(_kinds_of(items))))
            if found is _UNFIT:
                return _UNFIT
            self._change(where, value, found)
        return [self._fit_item(items, one, f"{where}[{at}]") for at, one in enumerate(found)]

    def _fit_item(self, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        if _kinds_of(schema) == ("string",) and isinstance(value, Mapping):
            label = _find_label(value)
            if label:
                return self._change(where, value, label)
        return self._fit(schema, value, where)

    def _to_object(self, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        found = _parse_container(value) if isinstance(value, str) else value
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        if not isinstance(found, Mapping):
            return _UNFIT
        if found is not value:
            self._change(where, value, found)
        return self._fit_object(schema, dict(found), where)

    def _fit_object(self, schema: Mapping[str, Any], value: dict[str, Any], where: str) -> dict[str, Any]:
        known = schema.get("properties") or {}
        required = schema.get("required") or ()
        found = self._rename(value, known, required, where)
        others = schema.get("additionalProperties")
        fitted: dict[str, Any] = {}
        for name, one in found.items():
            place = f"{where}.{name}".lstrip(".")
            rule = known.get(name, others if isinstance(others, Mapping) else None)
            if rule is None:
                fitted[name] = one
            elif one is None and name not in required and not self._fits(rule, None):
                self.changes.append(f"{place}: null removed")
            else:
                fitted[name] = self._fit(rule, one, place)
        return fitted

    def _rename(
        self, value: Mapping[str, Any], known: Mapping[str, Any], required: Iterable[str], where: str
    ) -> dict[str, Any]:
        """Return the value with misspelled names and alternative names of missing required keys replaced."""
        found = dict(value)
        plain = {_plain_name(name): name for name in known}
        for name in [name for name in found if name not in known]:
            right = plain.get(_plain_name(name))
            if right and right not in found:
                self._move(found, name, right, where)
        aliases = {right: _ALIASES.get(right, ()) for right in required}
        if not where:
            aliases |= {right: (*aliases.get(right, ()), *more) for right, more in self._aliases.items()}
        for right, names in aliases.items():
            if right in found or right not in known:
                continue
            others = {_plain_name(one) for one in names}
            other = next((one for one in found if one not in known and _plain_name(one) in others), None)
            if other is not None:
                self._move(found, other, right, where)
        return found

    def _move(self, found: dict[str, Any], name: str, right: str, where: str) -> None:
        found[right] = found.pop(name)
        self.changes.append(f"{where}.{name} renamed to {right}".lstrip("."))

    def _change(self, where: str, old: Any, new: Any) -> Any:
        before, after = _describe_kind(old), _describe_kind(new)
        self.changes.append(f"{where}: {before} to {after}" if before != after else f"{where}: corrected")
        return new


def _branches(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else ()


def _kinds_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return tuple(str(one) for one in kind)
    if isinstance(kind, str):
        return (kind,)
    return ("object",) if "properties" in schema else ()


def _is_kind(kind: str, value: Any) -> bool:
    if kind in {"integer", "number"}:
        whole = (
            kind == "number" or isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
        return isinstance(value, int | float) and not isinstance(value, bool) and whole
    kinds: Mapping[str, Any] = {
        "string": str,
        "boolean": bool,
        "array": list,
        "object": Mapping,
        "null": type(None),
    }
    return kind not in kinds or isinstance(value, kinds[kind])


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _describe_kind(value: Any) -> str:
    names = {str: "text", bool: "switch", int: "number", float: "number", list: "list", type(None): "null"}
    return names.get(type(value), "object")


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _match_word(words: Sequence[Any], value: Any) -> Any:
    """Return the word that differs only in case and separators, or in not being text."""
    if isinstance(value, Mapping | list):
        return _UNFIT
    wanted = _plain_name(str(value))
    found = [word for word in words if word is not None and _plain_name(str(word)) == wanted]
    return found[0] if wanted and len(found) == 1 else _UNFIT


def _to_scalar(kind: str, value: Any) -> Any:
    """Convert a text, or a number for a switch, to this kind."""
    if kind == "boolean" and isinstance(value, int) and value in (0, 1):
        return bool(value)
    if not isinstance(value, str):
        return _UNFIT
    text = value.strip()
    if kind == "null":
        return None if text.casefold() in {"", *_NULL_WORDS} else _UNFIT
    if kind == "boolean":
        return _SWITCHES.get(text.casefold(), _UNFIT)
    return _to_number(kind, text)


def _to_number(kind: str, text: str) -> Any:
    if _INTEGER.fullmatch(text) and (kind == "integer" or "." not in text):
        return int(text.partition(".")[0])
    return float(text) if kind == "number" and _NUMBER.fullmatch(text) else _UNFIT


def _to_text(value: Any, where: str) -> Any:
    """Convert a value of another kind to text; a list of words becomes a command line where one is
    expected.
    """
    if value is None:
        return _UNFIT
    if isinstance(value, Mapping) and set(value) <= {"type", "value", "description"} and "value" in value:
        inner = value["value"]
        return inner if isinstance(inner, str) else _to_text(inner, where)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        is_command = where.rpartition(".")[2] == "command" and not re.search(r"\s", value[0])
        return shlex.join(value) if is_command else "\n".join(value)
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, indent=2)
    return json.dumps(value)


def _parse_container(text: str) -> Any:
    try:
        return parse_loose_json(text)
    except ValueError:
        return _UNFIT


def _list_items(value: Any, *, numbers: bool) -> Any:
    """Return the items represented by a value other than a list, or `_UNFIT`."""
    if isinstance(value, str):
        found = _parse_container(value) if opens_container(value) else _UNFIT
        if found is _UNFIT:
            return value.split(",") if numbers else split_items(value)
        value = found
    if value is None or isinstance(value, list):
        return _UNFIT if value is None else value
    if isinstance(value, Mapping):
        inner = list(value.values())
        if len(inner) == 1 and isinstance(inner[0], list):
            return inner[0]
        if inner and all(str(key).isdecimal() for key in value):
            return inner
    return [value]


def _find_label(value: Mapping[str, Any]) -> str:
    """Return the text that represents an object in a list of texts, or "" if there is none."""
    texts = {str(key).lower(): one for key, one in value.items() if isinstance(one, str) and one.strip()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return next((texts[name] for name in _LABELS if name in texts), "")
