"""Conversion of langgraph's v3 events to those of the thread protocol.

The log stores an event as `{"type": "event", "method": …, "params": …}`. Readers add its number, and an
`event_id` unless the event has one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from langchain_core.messages import BaseMessage

from agent.runtime.domain import Json
from agent.runtime.encode import OPTIONS, dumps, to_plain
from agent.runtime.failures import redact_text
from agent.runtime.stream_modes import Event, checkpoint_view

INPUT: Final = "input.requested"
_OPTIONAL: Final = (
    "additional_kwargs",
    "invalid_tool_calls",
    "name",
    "response_metadata",
    "tool_calls",
    "usage_metadata",
)
"""Fields of a message that are omitted if they are empty."""
_UNCHANGED: Final = frozenset({"updates", "tools", "tasks"})
_ENDINGS: Final = frozenset({"completed", "failed", "interrupted"})


class ProtocolTranslator:
    """Translates the events of one attempt of a run."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._requested: set[str] = set()
        self._graph_names: dict[tuple[str, ...], str] = {}

    def translate(self, event: Mapping[str, Any]) -> Iterator[Event]:
        """Yield names and data of the protocol's events."""
        method, params = event["method"], event["params"]
        place, data = params["namespace"], params["data"]
        now = params["timestamp"]
        if method == "values":
            yield from self._request_inputs(place, params.get("interrupts", ()), now)
            yield encode_event("values", place, now, data)
        elif method == "lifecycle":
            yield from self._translate_lifecycle(data, now)
        elif method == "messages":
            content = data[0]
            if isinstance(content, Mapping) and "event" in content:
                yield encode_event("messages", place, now, content)
        elif method == "custom":
            yield encode_event("custom", place, now, {"payload": data})
        elif method.startswith("custom:"):
            name = method.removeprefix("custom:")
            yield encode_event("custom", place, now, {"name": name, "payload": data})
        elif method == "checkpoints":
            yield encode_event(method, place, now, checkpoint_view(data))
        elif method in _UNCHANGED:
            yield encode_event(method, place, now, data)

    def _request_inputs(self, place: Sequence[str], interrupts: Sequence[Any], now: int) -> Iterator[Event]:
        for interrupt in interrupts:
            if interrupt.id not in self._requested:
                self._requested.add(interrupt.id)
                yield input_requested(self._run_id, place, interrupt.id, interrupt.value, now)

    def _translate_lifecycle(self, data: Mapping[str, Any], now: int) -> Iterator[Event]:
        """Yield the start or the end of a subgraph; the log's own frames are those of the run."""
        place, status = tuple(data["namespace"]), data["event"]
        if status == "started":
            self._graph_names[place] = data.get("graph_name", "")
            yield encode_event("lifecycle", place, now, data)
        elif status in _ENDINGS:
            error = {"error": redact_text(data["error"])} if data.get("error") else {}
            view = {"event": status, "graph_name": self._graph_names.get(place, ""), **error}
            yield encode_event("lifecycle", place, now, view, lifecycle_id(self._run_id, place, status))


def encode_event(
    method: str, namespace: Sequence[str], timestamp: int, data: Any, event_id: str | None = None
) -> Event:
    event: Json = {"type": "event"} if event_id is None else {"type": "event", "event_id": event_id}
    event["method"] = method
    event["params"] = {"namespace": list(namespace), "timestamp": timestamp, "data": data}
    try:
        return method, orjson.dumps(event, _compact, OPTIONS)
    except TypeError:
        return method, dumps(event)


def _compact(value: Any) -> Any:
    if not isinstance(value, BaseMessage):
        return to_plain(value)
    view = value.model_dump()
    return {key: item for key, item in view.items() if item or key not in _OPTIONAL}


def compact_state(values: Any) -> Any:
    """Return a stored state whose messages have no empty fields."""
    if isinstance(values, dict):
        is_message = "type" in values and "content" in values
        return {
            key: compact_state(item)
            for key, item in values.items()
            if item or not is_message or key not in _OPTIONAL
        }
    return [compact_state(item) for item in values] if isinstance(values, list) else values


def input_requested(run_id: str, namespace: Sequence[str], interrupt_id: str, value: Any, now: int) -> Event:
    data = {"interrupt_id": interrupt_id, "payload": value}
    return encode_event(
        INPUT, namespace, now, data, f"synth:{run_id}:input|{'|'.join(namespace)}|{interrupt_id}"
    )


def lifecycle_id(run_id: str, namespace: Sequence[str], status: str) -> str:
    """Return the id of a lifecycle event, from which clients read the run's id."""
    return f"synth:{run_id}:lc|{'|'.join(namespace)}|{status}"
