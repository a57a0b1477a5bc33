"""Parse a YAML or JSON file into plain data with the line of every key.

Scalars follow YAML 1.2, as editors and ruamel read them: only `true` and `false` are switches, `off` and `no`
are words, dates are text. A key is its literal text in the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from agent.config.errors import ConfigErrors, KeyPath, format_key, one_error

MAX_BYTES = 1_000_000
MAX_VALUES = 100_000
MAX_DEPTH = 50
EMPTY_FILE = "is empty, possibly because a write was interrupted; to use the defaults, write {} in it"
_TAG = "tag:yaml.org,2002:"
_SWITCH_WORDS = frozenset({"yes", "no", "on", "off"})


class SwitchWord(str):
    """A bare `yes`, `no`, `on` or `off`: a word in text keys, a switch in boolean keys."""

    __slots__ = ()


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", list("tTfF")),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)", list("-+0123456789")),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _tag, re.compile(f"^{_pattern}$"), _first)


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """`data`: plain dicts (text keys), lists and scalars; `lines`: the 1-based line of each key path.

    `fingerprint` is the SHA-256 of the file ("" for text from elsewhere). `secrets` are those beside it.
    """

    file: str
    data: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    fingerprint: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of the path, or of the nearest enclosing key in the file."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return None


def read_document(
    path: Path, *, display_name: str | None = None, may_be_empty: bool = True
) -> ConfigDocument:
    """Read a file. An empty file is an empty mapping. Errors refer to it as `display_name`.

    Raises ConfigErrors if the file is unreadable, not UTF-8, not YAML, not a mapping, has a duplicate key, or
    exceeds 1 MB; also if it is blank, unless it `may_be_empty`.
    """
    name = display_name or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise one_error(name, f"cannot be read: {error.strerror or error}") from error
    text = decode_text(raw, name)
    if not may_be_empty and not text.strip():
        raise one_error(name, EMPTY_FILE)
    document = parse_document(text, name)
    return replace(document, fingerprint=hashlib.sha256(raw).hexdigest())


def decode_text(raw: bytes, file: str) -> str:
    """Decode the file as UTF-8, without a byte order mark. Raises ConfigErrors."""
    if len(raw) > MAX_BYTES:
        raise one_error(file, f"is larger than {MAX_BYTES:,} bytes; is this the right file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise one_error(file, "is not UTF-8 text; save it as UTF-8", line=line) from error


def compose_nodes(text: str, file: str) -> yaml.Node | None:
    """Return the node tree of the text with positions, or None for an empty text. Raises ConfigErrors."""
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node: yaml.Node | None = loader.get_single_node()
        return node
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"is not valid YAML: {error.problem or error.context}"
        raise one_error(file, message, line=mark.line + 1 if mark else None) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise one_error(file, "contains a character that YAML does not allow", line=line) from error
    except (RecursionError, ValueError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is not valid YAML"
        raise one_error(file, reason) from error
    finally:
        if loader is not None:
            loader.dispose()


def parse_document(text: str, file: str, *, repeated: list[str] | None = None) -> ConfigDocument:
    """Parse a YAML text. Raises ConfigErrors like `read_document`.

    With a list for `repeated` keys, the last one counts, and the list names them.
    """
    node = compose_nodes(text, file)
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == _TAG + "null"):
        return ConfigDocument(file, {})
    if not isinstance(node, yaml.MappingNode):
        message = "expected a mapping (lines like `key: value`) at the top of the file"
        raise one_error(file, message, line=node.start_mark.line + 1)
    builder = _Builder(file, repeated)
    return ConfigDocument(file, builder.build_mapping(node, ()), builder.lines)


class _Builder:
    """Builds plain data from nodes.

    Aliases are copied, so that a file can't refer to itself or grow without limit.
    """

    def __init__(self, file: str, repeated: list[str] | None) -> None:
        self._file, self._repeated = file, repeated
        self._open: list[yaml.Node] = []
        self._count = 0
        self.lines: dict[KeyPath, int] = {}

    def build_mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        self._enter_node(node, path)
        for key_node, value_node in node.value:
            key = self._read_key(key_node, path)
            here = (*path, key)
            if key_node.tag == _TAG + "merge":
                for part in self._build_merged(value_node, path):
                    merged = {**part, **merged}
                continue
            if key in own and self._repeated is not None:
                self._repeated.append(format_key(here))
            elif key in own:
                raise self._error_at(key_node, here, f"appears twice; first on line {self.lines[here]}")
            # A merged part has added its own lines below this key; the local key takes precedence.
            self._drop_lines(here)
            self.lines[here] = key_node.start_mark.line + 1
            own[key] = self.build_value(value_node, here)
        self._open.pop()
        return {**merged, **own}

    def build_value(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.MappingNode):
            self._expect_tag(node, "map", path)
            return self.build_mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            self._expect_tag(node, "seq", path)
            self._enter_node(node, path)
            items = []
            for index, item in enumerate(node.value):
                self.lines[(*path, index)] = item.start_mark.line + 1
                items.append(self.build_value(item, (*path, index)))
            self._open.pop()
            return items
        self._count_value(node, path)
        return self._parse_scalar(node, path)

    def _parse_scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind in {"str", "merge"}:
            bare = isinstance(node, yaml.ScalarNode) and node.style is None
            return SwitchWord(text) if bare and text.lower() in _SWITCH_WORDS else text
        if kind == "null":
            return None
        try:
            if kind == "bool":
                return {"true": True, "false": False}[text.lower()]
            if kind == "int":
                return int(text, 0) if text[:2] in {"0x", "0o"} else int(text)
            if kind == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except (ValueError, KeyError) as error:
            raise self._error_at(node, path, "is not a valid number or switch") from error
        raise self._error_at(node, path, "has an unsupported YAML tag; remove the word after `!`")

    def _read_key(self, node: yaml.Node, path: KeyPath) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error_at(node, path, "expected a plain key, got a list or mapping")
        return str(node.value)

    def _build_merged(self, node: yaml.Node, path: KeyPath) -> Iterator[dict[str, Any]]:
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(part, yaml.MappingNode):
                raise self._error_at(part, path, "expected a mapping after `<<`")
            before = dict(self.lines)
            yield self.build_mapping(part, path)
            self.lines |= before

    def _drop_lines(self, path: KeyPath) -> None:
        if path in self.lines:
            self.lines = {known: line for known, line in self.lines.items() if known[: len(path)] != path}

    def _enter_node(self, node: yaml.Node, path: KeyPath) -> None:
        if any(node is outer for outer in self._open):
            raise self._error_at(node, path, "refers to itself")
        if len(self._open) >= MAX_DEPTH:
            raise self._error_at(node, (), "is nested too deeply")
        self._count_value(node, path)
        self._open.append(node)

    def _count_value(self, node: yaml.Node, path: KeyPath) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._error_at(node, path, f"the file contains more than {MAX_VALUES:,} values")

    def _expect_tag(self, node: yaml.Node, kind: str, path: KeyPath) -> None:
        if node.tag != _TAG + kind:
            raise self._error_at(node, path, "has an unsupported YAML tag; remove the word after `!`")

    def _error_at(self, node: yaml.Node, path: KeyPath, message: str) -> ConfigErrors:
        return one_error(self._file, message, line=node.start_mark.line + 1, key=format_key(path))


def parse_json(text: str, file: str) -> ConfigDocument:
    """Parse a JSON text strictly. An empty text is an empty mapping.

    Raises ConfigErrors for invalid JSON, a duplicate key, NaN or Infinity, or a top level that is not a
    mapping.
    """
    if not text.strip():
        return ConfigDocument(file, {})
    try:
        data = json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise one_error(file, f"is not valid JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise one_error(file, "is nested too deeply") from error
    except ValueError as error:
        raise one_error(file, str(error)) from error
    if not isinstance(data, dict):
        raise one_error(file, "expected a mapping ({…}) at the top of the file", line=1)
    return ConfigDocument(file, data, _find_lines(text, file))


def _find_lines(text: str, file: str) -> dict[Any, int]:
    # JSON is YAML but for tabs between values; within its strings there are none.
    try:
        return parse_document(text.replace("\t", " "), file).lines
    except ConfigErrors:
        return {}


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} appears twice in one mapping")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"is not valid JSON: {name} is not a JSON number")
