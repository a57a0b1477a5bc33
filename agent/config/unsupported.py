"""Keys and values that the contract names and this release does not have yet: refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.config.document import ConfigDocument
from agent.config.errors import KeyPath
from agent.config.problems import Problems

Pattern = tuple[str, ...]
"""A key path in which `*` stands for any key."""

AGENT_KEYS: Sequence[Pattern] = (("checkpointer", "connection_string"),)
AGENT_VALUES: Mapping[Pattern, frozenset[str]] = {("checkpointer", "type"): frozenset({"postgres"})}


def reject_unsupported(
    document: ConfigDocument,
    keys: Sequence[Pattern],
    values: Mapping[Pattern, frozenset[str]],
    problems: Problems,
) -> None:
    """Note each of the keys and values that stands in the document, and take it out of the data."""
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
    """(path, mapping that holds its last key) for every key in the data that fits the pattern."""
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
