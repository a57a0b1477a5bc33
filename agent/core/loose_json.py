"""Lenient parser for JSON written by models: code fences, Python literals, trailing commas, double encoding.

Arguments that are cut off are not completed: that would run something that the model did not write.
json-repair completes them even in strict mode, and changes complete ones: `{'command': 'echo "a", "b": c'}`
becomes the command `echo "a"`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

MAX_PYTHON_CHARACTERS = 100_000
"""Longer texts are read as JSON only: Python's parser takes many times their size in memory."""
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,\s*(?=[\]}])', re.DOTALL)
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_OPENERS = ("[", "(", "{", "```")
_WORDS = {"true": True, "false": False, "null": None}


def parse_loose_json(text: str) -> Any:
    """Return the intended value of a text. Raises ValueError, also for incomplete text.

    A text that is JSON is read as such; JSON inside a JSON text is read too.
    """
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
    for read in (_read_json, _read_without_trailing_commas, _read_python):
        try:
            found = read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return _decode_again(found)
    raise ValueError("neither JSON nor a Python literal")


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return a tool call's arguments, or None if the text is not one complete object."""
    try:
        found = parse_loose_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def opens_container(text: str) -> bool:
    """Return whether a text starts like a list or an object."""
    return text.lstrip().startswith(_OPENERS)


def split_items(text: str) -> list[str]:
    """Return the lines of a text without list marks; one line is one item."""
    lines = [_MARK.sub("", line, count=1).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _read_json(text: str) -> Any:
    return json.loads(text, strict=False)


def _read_without_trailing_commas(text: str) -> Any:
    # A comma within a string belongs to its content, such as a command.
    return json.loads(_STRING_OR_TRAILING_COMMA.sub(r"\1", text), strict=False)


def _read_python(text: str) -> Any:
    """Parse a Python literal, which may contain JSON keywords. Code is never run."""
    if len(text) > MAX_PYTHON_CHARACTERS:
        raise ValueError("too long")
    tree = _JsonWords().visit(ast.parse(text.strip(), mode="eval"))
    return _to_plain_data(ast.literal_eval(tree))


class _JsonWords(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Constant(_WORDS[node.id]), node) if node.id in _WORDS else node


def _to_plain_data(value: Any) -> Any:
    """Convert tuples and sets to lists. Raises ValueError for values that JSON cannot represent."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_to_plain_data(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"{type(value).__name__} is not a JSON value")


def _decode_again(value: Any) -> Any:
    if isinstance(value, str) and value.strip()[:1] in {"[", "{"}:
        return _read_json(value)
    return value
