"""Translation of LangGraph's stream to the embedded client's events.

| type | data |
|---|---|
| `messages-tuple` | `{type: "ai", id, content}`: a chunk of the answer's text |
| | `{type: "ai", id, content: "", tool_calls: [{id, name, args}]}`: the calls of an answer |
| | `{type: "tool", id, name, tool_call_id, content, status}`: the result of a call |
| `values` | `{title, messages, artifacts, todos}` after each step |
| `end` | `{usage, interrupts: [{id, value}]}`, always the last; usage as in `agent.core.state.UsageCounts` |
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langgraph.types import Interrupt

from agent.core.state import usage_between

MODES: Sequence[Literal["messages", "values"]] = ("messages", "values")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event; the module docstring lists the types."""

    type: Literal["values", "messages-tuple", "end"]
    data: dict[str, Any] = field(default_factory=dict)


async def translate_stream(
    parts: AsyncIterator[Any], before: Mapping[str, Any]
) -> AsyncGenerator[StreamEvent, None]:
    """Translate a run's LangGraph stream in `MODES`; `before` is the state at its start."""
    seen = {message.id for message in before.get("messages", ())}
    values: Mapping[str, Any] = before
    interrupts: list[Interrupt] = []
    async for mode, part in parts:
        if mode == "messages":
            message, metadata = part
            if isinstance(message, AIMessage) and message.text and metadata.get("langgraph_node") == "model":
                data = {"type": "ai", "id": message.id, "content": message.text}
                yield StreamEvent("messages-tuple", data)
            continue
        interrupts += part.get("__interrupt__", ())
        values = {key: value for key, value in part.items() if key != "__interrupt__"}
        for event in _new_tool_events(values.get("messages", ()), seen):
            yield event
        yield StreamEvent("values", serialize_values(values))
    usage = usage_between(before.get("usage"), values.get("usage"))
    asked = [{"id": one.id, "value": one.value} for one in interrupts]
    yield StreamEvent("end", {"usage": dict(usage), "interrupts": asked})


def serialize_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a thread's values as plain data."""
    return {
        "title": values.get("title"),
        "messages": [serialize_message(message) for message in values.get("messages", ())],
        "artifacts": list(values.get("artifacts") or ()),
        "todos": list(values.get("todos") or ()),
    }


def serialize_message(message: BaseMessage) -> dict[str, Any]:
    found: dict[str, Any] = {"type": message.type, "id": message.id, "content": message.content}
    if isinstance(message, AIMessage) and message.tool_calls:
        found["tool_calls"] = _serialize_calls(message)
    if isinstance(message, ToolMessage):
        found |= {"name": message.name, "tool_call_id": message.tool_call_id, "status": message.status}
    return found


def _new_tool_events(messages: list[AnyMessage], seen: set[str | None]) -> Iterator[StreamEvent]:
    """Yield the tool calls and results of unseen messages."""
    for message in messages:
        if message.id in seen:
            continue
        seen.add(message.id)
        if isinstance(message, ToolMessage):
            yield StreamEvent("messages-tuple", {**serialize_message(message), "content": message.text})
        elif isinstance(message, AIMessage) and message.tool_calls:
            data = {"type": "ai", "id": message.id, "content": "", "tool_calls": _serialize_calls(message)}
            yield StreamEvent("messages-tuple", data)


def _serialize_calls(message: AIMessage) -> list[dict[str, Any]]:
    return [{"id": call["id"], "name": call["name"], "args": call["args"]} for call in message.tool_calls]
