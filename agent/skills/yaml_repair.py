"""Repair of front matter that is invalid YAML, but accepted by other agents.

The usual cause is a value that should be in quotes: `description: Use it when: …`, `argument-hint: [a] [b]`.
The guide for agents recommends a second attempt with quotes
(https://github.com/agentskills/agentskills, docs/client-implementation/integrating-skills.mdx, "Handling
malformed YAML").

One key is repaired at a time, so that an error in one value does not change the others, and lines keep their
numbers for error messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from agent.config.document import compose_nodes
from agent.config.errors import ConfigErrors

_KEY = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(?P<value>.*))?")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?\s*")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class RepairedText:
    """The text as YAML with the same line numbers, and the keys whose values were quoted."""

    text: str
    keys: tuple[str, ...]


def repair_values(text: str) -> RepairedText | None:
    """Quote each top-level value that is not valid YAML by itself; None if there is none."""
    if _FORBIDDEN.search(text):
        return None
    lines: list[str] = []
    keys: list[str] = []
    for part in _split_entries(text.split("\n")):
        match = _KEY.fullmatch(part[0].rstrip())
        if match is None or _is_entry("\n".join(part)):
            lines += part
            continue
        keys.append(match["key"])
        # The value is one line; empty lines keep the numbers of those that follow.
        lines += [f"{match['key']}: {json.dumps(_join_value(match['value'], part), ensure_ascii=False)}"]
        lines += [""] * (len(part) - 1)
    return RepairedText("\n".join(lines), tuple(keys)) if keys else None


def _split_entries(lines: Sequence[str]) -> Iterator[list[str]]:
    """Split the lines before each top-level key."""
    part: list[str] = []
    for line in lines:
        if part and _KEY.fullmatch(line.rstrip()):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _is_entry(text: str) -> bool:
    try:
        node = compose_nodes(text, "")
    except ConfigErrors:
        return False
    return isinstance(node, yaml.MappingNode) and len(node.value) == 1


def _join_value(first: str | None, part: Sequence[str]) -> str:
    start = "" if first is None or _BLOCK.fullmatch(first) else first
    text = " ".join(word for line in (start, *part[1:]) for word in line.split())
    inside = text[1:-1]
    return inside if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
