"""Read documents of older versions: renamed keys, and keys and values that this release doesn't support."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.config.document import ConfigDocument
from agent.config.errors import ConfigWarning, KeyPath, Problems, format_key
from agent.config.models import CONFIG_VERSION


@dataclass(frozen=True, slots=True)
class KeyRename:
    """A key renamed in `version`. `*` in `parent` matches any key."""

    version: int
    parent: tuple[str, ...]
    old: str
    new: str


RENAMES: tuple[KeyRename, ...] = (
    KeyRename(1, ("channels", "*"), "token", "bot_token"),
    KeyRename(1, ("runtime",), "langgraph_url", "url"),
)


def read_version(document: ConfigDocument, problems: Problems) -> int:
    """Return the document's `config_version`. A missing one is 0; a string of digits is accepted."""
    value = document.data.get("config_version")
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value[:18])
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        problems.add(("config_version",), f"expected a whole number from 0 to {CONFIG_VERSION}")
        return CONFIG_VERSION
    if value > CONFIG_VERSION:
        problems.add(
            ("config_version",),
            f"is {value}, made for a newer release; this one knows up to {CONFIG_VERSION}: update Roebot",
        )
        return CONFIG_VERSION
    return value


def find_renames(data: dict[str, Any], version: int) -> Iterator[tuple[KeyPath, KeyPath]]:
    """Yield the (old, new) paths of keys in the data that were renamed after `version`."""
    for rename in RENAMES:
        if rename.version > version:
            for parent, mapping in _find_mappings(data, rename.parent, ()):
                if rename.old in mapping:
                    yield (*parent, rename.old), (*parent, rename.new)


def modernize_document(
    document: ConfigDocument, problems: Problems
) -> tuple[ConfigDocument, tuple[ConfigWarning, ...]]:
    """Apply the renames, and warn about an outdated file.

    An old name next to its new one is a problem.
    """
    version = read_version(document, problems)
    data = copy.deepcopy(document.data)
    data.pop("config_version", None)
    for old, new in list(find_renames(data, version)):
        apply_rename(data, old, new, problems)
        document.lines[new] = document.lines[old]
    if version == CONFIG_VERSION or not document.data:
        return replace(document, data=data), ()
    line = document.line_of(("config_version",))
    message = f"the file is outdated (version {version}, now {CONFIG_VERSION}): run `roebot config upgrade`"
    warning = ConfigWarning(document.file, line, "config_version", message)
    return replace(document, data=data), (warning,)


def apply_rename(data: dict[str, Any], old: KeyPath, new: KeyPath, problems: Problems) -> None:
    """Rename the key at `old`. Using both names is a problem."""
    mapping: Any = data
    for part in old[:-1]:
        mapping = mapping[part]
    value = mapping.pop(old[-1])
    if new[-1] in mapping:
        problems.add(old, f"is the old name of {format_key(new)}, which is set too; remove this one")
    else:
        mapping[new[-1]] = value


def _find_mappings(
    data: Any, pattern: tuple[str, ...], at: KeyPath
) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield the mappings that match the pattern, with their paths."""
    if not isinstance(data, dict):
        return
    if not pattern:
        yield at, data
        return
    for key in list(data) if pattern[0] == "*" else [pattern[0]]:
        yield from _find_mappings(data.get(key), pattern[1:], (*at, key))


Pattern = tuple[str, ...]
"""A key path in which `*` stands for any key."""

UNSUPPORTED_KEYS: Sequence[Pattern] = (("checkpointer", "connection_string"),)
UNSUPPORTED_VALUES: Mapping[Pattern, frozenset[str]] = {("checkpointer", "type"): frozenset({"postgres"})}


def reject_unsupported(
    document: ConfigDocument,
    keys: Sequence[Pattern],
    values: Mapping[Pattern, frozenset[str]],
    problems: Problems,
) -> None:
    """Add a problem for each unsupported key and value in the document, and remove it from the data."""
    for pattern in keys:
        for path, mapping in list(_find_matches(document.data, pattern, ())):
            problems.add(path, f"{path[-1]} is not in this version; remove it")
            del mapping[str(path[-1])]
    for pattern, words in values.items():
        for path, mapping in list(_find_matches(document.data, pattern, ())):
            value = mapping[str(path[-1])]
            if isinstance(value, str) and value in words:
                problems.add(path, f"{value} is not in this version; choose another or remove it")
                del mapping[str(path[-1])]


def _find_matches(data: Any, pattern: Pattern, at: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield (path, enclosing mapping) for each key that matches the pattern."""
    if not isinstance(data, dict):
        return
    first, rest = pattern[0], pattern[1:]
    for key in list(data) if first == "*" else [first]:
        if key not in data:
            continue
        if rest:
            yield from _find_matches(data[key], rest, (*at, key))
        else:
            yield (*at, key), data
