"""Requests to the model: what each is for, the conversation it continues, and what is new in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Body = dict[str, Any]


class Purpose(StrEnum):
    """What a request is for."""

    LEAD = "lead"
    SUBAGENT = "subagent"
    TITLE = "title"
    MEMORY = "memory"
    SUMMARY = "summary"
    OTHER = "other"


BACKGROUND = frozenset({Purpose.TITLE, Purpose.MEMORY, Purpose.SUMMARY, Purpose.OTHER})
"""Requests whose answer nobody reads in a chat."""
_LEAD_TOOLS = frozenset({"ask_clarification", "task", "present_files"})


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request with its number, and the one that it continues (None: it begins a conversation)."""

    number: int
    body: Body
    before: ModelRequest | None = field(default=None, repr=False)

    @property
    def purpose(self) -> Purpose:
        """What it is for, judged by its shape alone."""
        return find_purpose(self.body)

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n\n".join(text_of(one) for one in self.body["messages"] if _is_system(one))

    @property
    def tools(self) -> list[Body]:
        """The tools as they are described to the model."""
        return [tool["function"] for tool in self.body.get("tools") or ()]

    @property
    def messages(self) -> list[Body]:
        """The messages without the system prompt."""
        return [one for one in self.body["messages"] if not _is_system(one)]

    @property
    def new_messages(self) -> list[Body]:
        """Those that the conversation did not have before."""
        known = shared_length(self.messages, self.before.messages) if self.before else 0
        return self.messages[known:]

    @property
    def results(self) -> list[str]:
        """The results of tools since the last answer of the model, in order."""
        found: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                break
            if message["role"] == "tool":
                found.insert(0, text_of(message))
        return found

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1])

    def render(self) -> str:
        """Return what is new as text, for somebody who answers it."""
        return "\n".join(_render(self)) + "\n"


def find_purpose(body: Body) -> Purpose:
    """Return what a request is for: by its tools, and without tools by the words of its first message."""
    names = {tool["function"]["name"] for tool in body.get("tools") or ()}
    if names:
        return Purpose.SUBAGENT if _LEAD_TOOLS.isdisjoint(names) else Purpose.LEAD
    first = text_of(body["messages"][0]).lower()[:600]
    words = {
        "memory": Purpose.MEMORY,
        "title": Purpose.TITLE,
        "summar": Purpose.SUMMARY,
        "another agent has given": Purpose.SUBAGENT,
    }
    return next((purpose for word, purpose in words.items() if word in first), Purpose.OTHER)


def find_before(body: Body, known: Sequence[ModelRequest]) -> ModelRequest | None:
    """Return the request with the longest common beginning, the newest of several."""
    purpose = find_purpose(body)
    messages = [one for one in body["messages"] if not _is_system(one)]
    alike = [one for one in known if one.purpose is purpose]
    lengths = [(shared_length(messages, one.messages), one.number, one) for one in alike]
    best = max(lengths, key=lambda found: found[:2], default=None)
    return best[2] if best and best[0] else None


def shared_length(left: Sequence[Body], right: Sequence[Body]) -> int:
    """Return the number of messages at the beginning that are the same."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def text_of(message: Body) -> str:
    """Return the text of a message; other content becomes a placeholder."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or f"[{part['type']}]" for part in content)


def _is_system(message: Body) -> bool:
    return message["role"] in {"system", "developer"}


def _render(request: ModelRequest) -> Iterator[str]:
    before = request.before
    yield f"# Request {request.number}: {request.purpose}"
    yield f"(continues request {before.number})" if before else "(begins a conversation)"
    if before is None or before.system != request.system:
        yield f"\n## System prompt\n\n{request.system}"
    if before is None or before.tools != request.tools:
        yield "\n## Tools"
        for tool in request.tools:
            schema = json.dumps(tool.get("parameters", {}), ensure_ascii=False)
            yield f"\n### {tool['name']}\n\n{tool.get('description', '')}\n\n{schema}"
    for message in request.new_messages:
        yield from _render_message(message)


def _render_message(message: Body) -> Iterator[str]:
    of = f" {message['tool_call_id']}" if message["role"] == "tool" else ""
    yield f"\n## {message['role']}{of}\n\n{text_of(message)}".rstrip()
    for call in message.get("tool_calls") or ():
        yield f"=== {call['function']['name']} ({call['id']})\n{call['function']['arguments']}"
