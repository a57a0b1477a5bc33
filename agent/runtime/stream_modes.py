"""Conversion of langgraph's streams to events of the LangGraph API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message

from agent.errors import Invalid
from agent.runtime.domain import Json
from agent.runtime.encode import MessageEncoder, dumps

NATIVE: Final = frozenset({"values", "updates", "custom", "debug", "tasks", "checkpoints"})
ALL: Final = NATIVE | {"messages", "messages-tuple", "events"}

_IDS: Final = (
    "thread_id",
    "run_id",
    "graph_id",
    "assistant_id",
    "checkpoint_ns",
    "checkpoint_id",
    "checkpoint_map",
)
Event = tuple[str, bytes]


def require_modes(modes: Any) -> tuple[str, ...]:
    """Return a request's `stream_mode` without duplicates. Raises `Invalid` for an unknown mode."""
    names = [modes] if isinstance(modes, str) else list(modes or ["values"])
    for mode in names:
        if mode not in ALL:
            raise Invalid(f"Unknown stream_mode {mode!r}; known: {', '.join(sorted(ALL))}")
    return tuple(dict.fromkeys(names))


def native_modes(modes: tuple[str, ...]) -> list[str]:
    """Return langgraph's modes; `values` is always one of them, for the run's result."""
    native = {"values"} | (NATIVE & set(modes))
    if "messages" in modes or "messages-tuple" in modes:
        native.add("messages")
    return sorted(native)


def checkpoint_of(config: Any) -> Json | None:
    """Return the address of a checkpoint from a runnable config."""
    if not config:
        return None
    found = config.get("configurable", {})
    return {
        "thread_id": found.get("thread_id"),
        "checkpoint_ns": found.get("checkpoint_ns", ""),
        **{key: found[key] for key in ("checkpoint_id", "checkpoint_map") if found.get(key)},
    }


def _task_view(task: Mapping[str, Any]) -> Json:
    view = dict(task)
    state = view.pop("state", None)
    view["checkpoint"] = (
        checkpoint_of(state) if isinstance(state, Mapping) and "configurable" in state else None
    )
    return view


def checkpoint_view(payload: Mapping[str, Any]) -> Json:
    """Return the data of a checkpoint, with addresses instead of runnable configs."""
    view = {key: value for key, value in payload.items() if key not in {"config", "parent_config"}}
    return {
        **view,
        "checkpoint": checkpoint_of(payload.get("config")),
        "parent_checkpoint": checkpoint_of(payload.get("parent_config")),
        "tasks": [_task_view(task) for task in payload.get("tasks", ())],
    }


def _configs_view(payload: Mapping[str, Any]) -> Json:
    """Return the runnable configs of a checkpoint without the run's settings, which may name a person."""
    configs = {name: payload.get(name) for name in ("config", "parent_config")}
    return {name: found and {"configurable": _ids_in(found)} for name, found in configs.items()}


def _ids_in(config: Any) -> Json:
    found = config["configurable"]
    return {key: found[key] for key in _IDS if key in found}


def debug_view(event: Mapping[str, Any]) -> Json:
    """Return the data of a `debug` event."""
    if event.get("type") != "checkpoint":
        return dict(event)
    payload = event["payload"]
    tasks = [_task_view(task) if task.get("state") else task for task in payload.get("tasks", ())]
    return {**event, "payload": {**checkpoint_view(payload), **_configs_view(payload), "tasks": tasks}}


class EventTranslator:
    """Translates chunks of langgraph's stream into named events, for the modes that a run requests."""

    def __init__(self, modes: tuple[str, ...]) -> None:
        self._modes = frozenset(modes)
        self._encoder = MessageEncoder()
        self._whole: dict[str, BaseMessage] = {}

    def translate(self, namespace: tuple[str, ...], mode: str, data: Any) -> Iterator[Event]:
        """Yield the events in one chunk."""
        suffix = "|" + "|".join(namespace) if namespace else ""
        if mode == "messages":
            yield from self._message_events(suffix, data)
        elif mode in self._modes:
            if mode == "checkpoints":
                data = {**data, **_configs_view(data)}
            elif mode == "debug":
                data = debug_view(data)
            yield mode + suffix, dumps(data)

    def _message_events(self, suffix: str, data: Any) -> Iterator[Event]:
        message, metadata = data
        if "messages-tuple" in self._modes:
            yield "messages" + suffix, self._encoder.encode_pair(message, metadata)
        if "messages" in self._modes:
            yield from self._cumulative_events(suffix, message, metadata)

    def _cumulative_events(self, suffix: str, message: BaseMessage, metadata: Any) -> Iterator[Event]:
        key = str(message.id)
        if key not in self._whole:
            yield "messages/metadata" + suffix, dumps({key: {"metadata": metadata}})
        if isinstance(message, BaseMessageChunk):
            known = self._whole.get(key)
            whole = known + message if isinstance(known, BaseMessageChunk) else message
            self._whole[key] = whole
            yield "messages/partial" + suffix, dumps([message_chunk_to_message(whole)])
        else:
            self._whole[key] = message
            yield "messages/complete" + suffix, dumps([message])
