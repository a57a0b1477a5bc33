"""What the agent is doing, read from the events of a run: todos, tool calls, subagents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import TodosUpdated, ToolProgress

TODO_STATES = {
    "pending": ProgressState.PENDING,
    "in_progress": ProgressState.ACTIVE,
    "completed": ProgressState.DONE,
}
TIMED_OUT = "task_timed_out"
SUBAGENT_STATES = {
    "task_started": ProgressState.ACTIVE,
    "task_running": ProgressState.ACTIVE,
    "task_completed": ProgressState.DONE,
    "task_failed": ProgressState.FAILED,
    TIMED_OUT: ProgressState.FAILED,
}
TIME_SIGN = " ⏱"
# Tools that people see the effect of: the list itself, the question, the file.
SHOWN_OTHERWISE = frozenset({"write_todos", "ask_clarification", "present_files"})
TITLE_LIMIT = 80


def read_todos(change: Mapping[str, Any]) -> Iterator[TodosUpdated]:
    """The list that a node wrote to the state's `todos`."""
    found = change.get("todos")
    if not isinstance(found, list):
        return
    items = [
        ProgressItem(f"todo:{index}", _one_line(todo.get("content")), _todo_state(todo))
        for index, todo in enumerate(found)
        if isinstance(todo, Mapping)
    ]
    yield TodosUpdated(tuple(items))


def tool_starts(message: Mapping[str, Any]) -> Iterator[ToolProgress]:
    """The tool calls that an assistant message begins."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and call.get("id") and call.get("name") not in SHOWN_OTHERWISE:
            yield ToolProgress(ProgressItem(str(call["id"]), _call_title(call), ProgressState.ACTIVE))


def tool_end(message: Mapping[str, Any]) -> Iterator[ToolProgress]:
    """The tool call that a tool message ends."""
    if message.get("tool_call_id") and message.get("name") not in SHOWN_OTHERWISE:
        failed = message.get("status") == "error"
        state = ProgressState.FAILED if failed else ProgressState.DONE
        yield ToolProgress(ProgressItem(str(message["tool_call_id"]), "", state))


def read_subagent(data: Any) -> Iterator[ToolProgress]:
    """What a custom event says of a subagent: `{"type": "task_started", "task_id", "description"}`.

    The id is the tool call's, so that both are one item. One that was stopped for its time says so.
    """
    if not isinstance(data, Mapping) or not data.get("task_id"):
        return
    state = SUBAGENT_STATES.get(str(data.get("type")))
    if state is not None:
        title = _one_line(data.get("description"))
        if title and data.get("type") == TIMED_OUT:
            title += TIME_SIGN
        yield ToolProgress(ProgressItem(str(data["task_id"]), title, state))


def _todo_state(todo: Mapping[str, Any]) -> ProgressState:
    return TODO_STATES.get(str(todo.get("status")), ProgressState.PENDING)


def _call_title(call: Mapping[str, Any]) -> str:
    arguments = call.get("args")
    described = _one_line(arguments.get("description")) if isinstance(arguments, Mapping) else ""
    return described or _one_line(call.get("name"))


def _one_line(value: Any) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if len(text) <= TITLE_LIMIT else text[: TITLE_LIMIT - 1].rstrip() + "…"
