"""Script a model: its answers, timing and failures, controlled by arguments, environment or text.

| marker in the text | environment | meaning |
|---|---|---|
| `[reply=some text]` | `ROEBOT_SCRIPT_REPLY` | the whole answer; without it the model echoes |
| `[tokens=40]` | `ROEBOT_SCRIPT_TOKENS` | an answer of this many numbered words |
| `[delay=1.0]` | `ROEBOT_SCRIPT_DELAY` | seconds before the first token |
| `[every=0.02]` | `ROEBOT_SCRIPT_EVERY` | seconds between tokens |
| `[fail=rate_limit]` | `ROEBOT_SCRIPT_FAIL` | fails with a kind of `FAULTS` |
| `[after=3]` | `ROEBOT_SCRIPT_AFTER` | tokens before the failure |
| `[tool=name {"a": 1}]` | – | first calls this tool, then answers |

A marker overrides the environment, which overrides the argument. Markers are removed from the echo.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core import exceptions as lc

ENVIRONMENT_PREFIX = "ROEBOT_SCRIPT_"
# The arguments of a tool may contain lists.
_MARKER = re.compile(r"\[(reply|tokens|delay|every|fail|after|tool)=((?:[^\[\]]|\[[^\[\]]*\])*+|[^\]]*)\]")
_TOKEN = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the model. Text in `args` is sent unchanged, valid JSON or not.

    Without `id` the model numbers its calls.
    """

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """One answer: `delay` and `every` are seconds, `fail` a key of `FAULTS`, `reply` None means echo.

    `thinking` comes before the text, as blocks of its own. `tools` are called with the answer, whose text is
    then `reply` or nothing; `fragment` is the size in characters of the pieces that arguments come in (0: one
    piece). `usage` is (input, output) in tokens; without it words are counted.
    """

    reply: str | None = None
    tokens: int = 0
    delay: float = 0.0
    every: float = 0.0
    fail: str = ""
    after: int = 0
    tool: ToolUse | None = None
    tools: tuple[ToolUse, ...] = ()
    fragment: int = 0
    thinking: str = ""
    usage: tuple[int, int] | None = None

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """Return the tool calls that come with the answer."""
        return self.tools or ((self.tool,) if self.tool else ())

    def with_fields(self, fields: Mapping[str, str]) -> Script:
        """Return the script with the given fields (as text) replaced. Raises ValueError for invalid text."""
        changes: dict[str, Any] = {}
        for name, text in fields.items():
            changes[name] = _READERS[name](text)
        if "reply" in changes and "tokens" not in changes:
            changes["tokens"] = 0
        return replace(self, **changes)

    def answer_tokens(self, heard: str) -> list[str]:
        """Return the tokens of the answer to `heard`, the user's text without markers."""
        if self.tokens:
            return [f"word{number} " for number in range(1, self.tokens + 1)]
        return _TOKEN.findall(heard if self.reply is None else self.reply)

    def thinking_tokens(self) -> list[str]:
        """Return the tokens of the thinking."""
        return _TOKEN.findall(self.thinking)


def parse_markers(text: str) -> tuple[str, dict[str, str]]:
    """Split a text into the part without markers and the fields of the markers."""
    fields = {match[1]: match[2] for match in _MARKER.finditer(text)}
    return _MARKER.sub("", text).strip(), fields


def read_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the fields set by the environment."""
    names = {ENVIRONMENT_PREFIX + name.upper(): name for name in _READERS if name != "tool"}
    return {names[key]: value for key, value in environ.items() if key in names and value}


def make_fault(kind: str) -> Exception:
    """Build the exception for a kind of failure, of the classes that providers' packages raise."""
    kind_class, text = FAULTS[kind]
    return kind_class(text)


def _parse_tool_use(text: str) -> ToolUse:
    name, _, args = text.partition(" ")
    return ToolUse(name, json.loads(args or "{}"))


def _check_fault_name(text: str) -> str:
    if text not in FAULTS:
        raise ValueError(f"unknown fault {text!r}; known: {', '.join(FAULTS)}")
    return text


FAULTS: Mapping[str, tuple[type[Exception], str]] = {
    "auth": (lc.ModelAuthenticationError, "scripted: invalid key sk-secret-0123456789"),
    "rate_limit": (lc.ModelRateLimitError, "scripted: too many requests"),
    "overloaded": (lc.ModelAPIError, "scripted: overloaded"),
    "timeout": (lc.ModelTimeoutError, "scripted: no answer in time"),
    "connection": (lc.ModelConnectionError, "scripted: connection refused"),
    "context": (lc.ContextOverflowError, "scripted: the prompt is too long"),
    "crash": (RuntimeError, "scripted: an unexpected failure"),
}
_READERS: Mapping[str, Callable[[str], Any]] = {
    "reply": str,
    "tokens": int,
    "delay": float,
    "every": float,
    "fail": _check_fault_name,
    "after": int,
    "tool": _parse_tool_use,
}
