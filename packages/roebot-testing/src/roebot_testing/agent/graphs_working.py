"""A graph that shows its work before it answers: todos, a failing tool call, and a subagent.

`[pace=SECONDS]` in the message sets the duration of each of its three steps (default 0.01).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from agent.core.state import ThreadState, TodoItem

TODOS = ("Read the *figures*", "Ask a colleague", "Write it up")
SUBAGENT = "Look at <last> year"
ANSWER = "Sales went up."
_PACE = re.compile(r"\[pace=([0-9.]+)\]")


def build_todos(done: int) -> list[TodoItem]:
    """Return the list with the first `done` items completed and the next one in progress."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(TODOS)
    return [{"content": text, "status": state} for text, state in zip(TODOS, states, strict=False)]


def _read_pace(state: ThreadState) -> float:
    asked = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    found = _PACE.search(asked[-1].text)
    return float(found[1]) if found else 0.01


async def _plan_work(state: ThreadState) -> dict[str, Any]:
    call = {"name": "read_file", "args": {"path": "/mnt/figures.csv"}, "id": "call-1", "type": "tool_call"}
    return {"messages": [AIMessage(content="", tool_calls=[call])], "todos": build_todos(0)}


async def _read_figures(state: ThreadState) -> dict[str, Any]:
    await asyncio.sleep(_read_pace(state))
    result = ToolMessage("no such file", tool_call_id="call-1", name="read_file", status="error")
    return {"messages": [result], "todos": build_todos(1)}


async def _delegate_work(state: ThreadState) -> dict[str, Any]:
    write = get_stream_writer()
    write({"type": "task_started", "task_id": "call-2", "description": SUBAGENT})
    await asyncio.sleep(_read_pace(state))
    write({"type": "task_completed", "task_id": "call-2", "description": SUBAGENT})
    return {"todos": build_todos(2)}


async def _write_answer(state: ThreadState) -> dict[str, Any]:
    await asyncio.sleep(_read_pace(state))
    return {"messages": [AIMessage(content=ANSWER)], "todos": build_todos(3)}


def _build_graph() -> Any:
    builder = StateGraph(ThreadState)
    steps = {"plan": _plan_work, "read": _read_figures, "delegate": _delegate_work, "answer": _write_answer}
    for name, step in steps.items():
        builder.add_node(name, step)
    for before, after in zip((START, *steps), (*steps, END), strict=True):
        builder.add_edge(before, after)
    return builder.compile(name="working")


working = _build_graph()
