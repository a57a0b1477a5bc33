"""Tool calls that a model wrote into its answer as text, where a server does not recognize them.

People would see the markup, and the call would never be made. Read are the forms that leak most often:

- `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, the format of Hermes and Qwen
  (NousResearch/hermes-agent pull 742; from Ollama: issue 5867 there)
- the same object alone, or several in a row, also with `parameters` (Llama 3)
- `<function=NAME><parameter=KEY>value</parameter></function>`, with or without `<tool_call>` around it
  (Qwen3-Coder: hermes-agent pull 83023)

The text must end with the calls, and each must name a tool that was offered, so that no example in an
explanation is taken for a call. A text that breaks off is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agent.core.loose_json import parse_arguments

_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_TAGGED_END, _FUNCTION_END, _PARAMETER_END = "</tool_call>", "</function>", "</parameter>"
_KEYS = frozenset({"id", "type", "name", "arguments", "parameters"})
_Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """The names and arguments of the calls, and the preceding text."""

    text: str
    calls: tuple[_Call, ...]


def read_written_calls(text: str, known: Collection[str]) -> WrittenCalls | None:
    """Return the calls at the end of a text; None if there are none, or one is for an unknown tool."""
    starts = [at for at in (text.find("<tool_call>"), text.find("<function=")) if at >= 0]
    if starts:
        prose, calls = text[: min(starts)].strip(), _read_tagged(text[min(starts) :])
    else:
        prose, calls = "", _read_objects(text)
    if not calls or any(name not in known for name, _ in calls):
        return None
    return WrittenCalls(prose, tuple(calls))


def _read_tagged(text: str) -> list[_Call] | None:
    """Return the calls in a text that consists only of tags; None for any other text.

    Models may repeat an opening tag until their limit. Each would be searched to the end of the text for its
    closing tag, so the end is looked at first.
    """
    is_tagged = text.startswith("<tool_call>")
    kind, end = (_TAGGED, _TAGGED_END) if is_tagged else (_FUNCTION, _FUNCTION_END)
    if not text.rstrip().endswith(end) or kind.sub("", text).strip():
        return None
    calls: list[_Call] = []
    for found in kind.finditer(text):
        inside = found[1].strip() if is_tagged else found[0]
        read = _read_functions(inside) if inside.startswith("<function=") else _read_objects(inside)
        if not read:
            return None
        calls += read
    return calls


def _read_functions(text: str) -> list[_Call] | None:
    if not text.endswith(_FUNCTION_END) or _FUNCTION.sub("", text).strip():
        return None
    return [(found[1], _read_parameters(found[2])) for found in _FUNCTION.finditer(text)]


def _read_parameters(text: str) -> dict[str, Any]:
    """Return the arguments; their types are adapted to the tool's schema later."""
    found = _PARAMETER.findall(text, 0, text.rfind(_PARAMETER_END) + len(_PARAMETER_END))
    return dict(found) if found else parse_arguments(text.strip()) or {}


def _read_objects(text: str) -> list[_Call] | None:
    """Return the calls in a text that consists only of JSON objects; None for any other text."""
    decoder, rest, calls = json.JSONDecoder(strict=False), text.strip(), list[_Call]()
    while rest:
        if not rest.startswith("{"):
            return None
        try:
            found, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            return None
        call = _read_object(found)
        if call is None:
            return None
        calls.append(call)
        rest = rest[end:].lstrip(" \t\r\n,;")
    return calls


def _read_object(value: Mapping[str, Any]) -> _Call | None:
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    name = value.get("name")
    if value.keys() - _KEYS or not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return name, arguments
