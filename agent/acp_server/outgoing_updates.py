"""Conversion of the embedded client's events to ACP session updates for one turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from acp.helpers import (
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_plan,
    update_tool_call,
)

from agent.acp.incoming_updates import CUT, to_short_line
from agent.core.client_events import StreamEvent
from agent.shared.text import cut_middle

MAX_RESULT_CHARACTERS = 4_000
ToolKind = Literal["read", "edit", "execute", "search", "fetch", "think", "other"]
TOOL_KINDS: Mapping[str, ToolKind] = {
    "bash": "execute",
    "ls": "read",
    "read_file": "read",
    "view_image": "read",
    "write_file": "edit",
    "str_replace": "edit",
    "web_search": "search",
    "web_fetch": "fetch",
    "task": "think",
}
HIDDEN_TOOLS = frozenset({"write_todos", "ask_clarification"})
PRESENT_TOOL = "present_files"


class TurnUpdates:
    """The session updates of a turn."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._todos: Sequence[Mapping[str, Any]] = []
        self._presented: dict[str, None] = {}
        self._artifacts: Sequence[str] = ()

    @property
    def presented_files(self) -> list[str]:
        """Return the files presented in the turn, as virtual paths in order."""
        return [path for path in self._presented if path in self._artifacts]

    def build_updates(self, event: StreamEvent) -> Iterator[Any]:
        """Yield the updates for an event."""
        data = event.data
        if event.type == "values":
            self._artifacts = data["artifacts"]
            yield from self._update_plan(data["todos"])
        elif event.type == "messages-tuple" and data["type"] == "tool":
            yield from self._finish_tool_call(data)
        elif event.type == "messages-tuple":
            for call in data.get("tool_calls", ()):
                yield from self._start_tool_call(call)
            if data["content"]:
                yield update_agent_message_text(data["content"])

    def _start_tool_call(self, call: Mapping[str, Any]) -> Iterator[Any]:
        name, args = call["name"], call["args"]
        if name == PRESENT_TOOL:
            self._presented |= dict.fromkeys(str(path) for path in args.get("paths") or ())
        if name in HIDDEN_TOOLS or not call["id"]:
            return
        self._calls.add(call["id"])
        title = to_short_line(str(args.get("description") or args.get("path") or args.get("command") or name))
        yield start_tool_call(
            call["id"], title, kind=TOOL_KINDS.get(name, "other"), status="in_progress", raw_input=args
        )

    def _finish_tool_call(self, result: Mapping[str, Any]) -> Iterator[Any]:
        if result["tool_call_id"] not in self._calls:
            return
        status: Literal["completed", "failed"] = "failed" if result["status"] == "error" else "completed"
        content = [tool_content(text_block(cut_middle(str(result["content"]), MAX_RESULT_CHARACTERS, CUT)))]
        yield update_tool_call(result["tool_call_id"], status=status, content=content)

    def _update_plan(self, todos: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
        if todos == self._todos:
            return
        self._todos = todos
        yield update_plan(plan_entry(str(todo["content"]), status=todo["status"]) for todo in todos)
