"""Graphs for tests, by import string (`roebot_testing.agent.graphs:echo`). `langgraph.json` lists them.

Every graph that talks follows `roebot_testing.agent.script`: markers in the message or `ROEBOT_SCRIPT_*`
variables steer it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from agent.core.state import ThreadState
from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls
from agent.shared.envelope import without_envelopes
from agent.uploads.folders import OUTPUTS, ThreadFolders
from roebot_testing.agent.model import ScriptedChatModel
from roebot_testing.agent.script import Script, parse_markers

Graph = CompiledStateGraph[Any, Any, Any, Any]


def scripted(script: Script | None = None, *, name: str = "scripted") -> Graph:
    """Build an agent with a scripted model and the lead agent's error mapping."""
    model = ScriptedChatModel(script=script or Script())
    return create_agent_graph(model, middleware=[ModelCalls(model_name="scripted")], name=name)


def long_markdown(size: int = 12_000) -> str:
    """Return Markdown of at least `size` characters with headings, fences, tables, lists and paragraphs."""
    parts: list[str] = []
    length = number = 0
    while length < size:
        number += 1
        part = _markdown_section(number)
        parts.append(part)
        length += len(part) + 2
    return "\n\n".join(parts)


def _markdown_section(number: int) -> str:
    code = "\n".join(f"    print({number}, {line}, 'x < y & z')" for line in range(8))
    rows = "\n".join(f"| item {number}.{row} | {row * number} | **b{row}** |" for row in range(4))
    return (
        f"## Section {number}\n\nParagraph {number} with *emphasis*, `code` and a 👋🏽 sign, 中文字 too.\n\n"
        f"```python\ndef section_{number}():\n{code}\n```\n\n"
        f"| name | count | note |\n|---|---|---|\n{rows}\n\n"
        f"- first point of {number}\n- second point of {number}\n  - nested"
    )


async def _ask_question(state: ThreadState) -> dict[str, Any]:
    """Ask a question before answering. The resume value is the answer: text, or a mapping with `answer`."""
    heard, fields = parse_markers(without_envelopes(state["messages"][-1].text))
    question = fields.get("reply") or f"Which one do you mean: {heard}?"
    given = interrupt({"type": "clarification", "question": question, "options": ["red", "blue"]})
    answer = given.get("answer", given) if isinstance(given, dict) else given
    return {"messages": [AIMessage(content=f"You chose {answer}.")]}


async def _ask_approval(state: ThreadState) -> dict[str, Any]:
    """Ask for approval of a tool call, and answer with the decision."""
    call = {
        "type": "approval",
        "tool": "delete",
        "args": {"path": without_envelopes(state["messages"][-1].text)},
    }
    given = interrupt({**call, "question": "May it?", "options": ["approve", "reject"], "remember": True})
    answer = given.get("answer", given) if isinstance(given, dict) else given
    return {"messages": [AIMessage(content=f"Decided: {answer}.")]}


async def _write_file(state: ThreadState, config: RunnableConfig) -> dict[str, Any]:
    """Write `[file=NAME]` (default report.md) with `[size=N]` bytes into the thread's outputs."""
    heard, _ = parse_markers(without_envelopes(state["messages"][-1].text))
    name = _read_field(heard, "file") or "report.md"
    size = int(_read_field(heard, "size") or 0)
    content = b"x" * size if size else f"# Report\n\n{heard}\n".encode()
    folders = ThreadFolders(Path(os.environ.get("ROEBOT_HOME", ".roebot")))
    thread_id = str(config["configurable"]["thread_id"])
    path = await asyncio.to_thread(folders.write_output, thread_id, name, content)
    return {"messages": [AIMessage(content=f"Here is {path.name}.")], "artifacts": [f"{OUTPUTS}/{path.name}"]}


def _read_field(text: str, field: str) -> str:
    _, found, rest = text.partition(f"[{field}=")
    return rest.partition("]")[0] if found else ""


async def _raise_failure(state: ThreadState) -> dict[str, Any]:
    """Fail like a bug: an exception of no known class, with a secret in its text."""
    raise RuntimeError(f"scripted failure on {len(state['messages'])} messages")


def _build_single_node(node: Any, name: str) -> Graph:
    builder = StateGraph(ThreadState)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(name=name)


echo = scripted(name="echo")
slow = scripted(Script(tokens=40, every=0.05), name="slow")
markdown12k = scripted(Script(reply=long_markdown()), name="markdown12k")
failing = scripted(Script(reply="This never ends", fail="overloaded", after=2), name="failing")
crashing = _build_single_node(_raise_failure, "crashing")
interrupting = _build_single_node(_ask_question, "interrupting")
approving = _build_single_node(_ask_approval, "approving")
artifact = _build_single_node(_write_file, "artifact")

__all__ = [
    "approving",
    "artifact",
    "crashing",
    "echo",
    "failing",
    "interrupting",
    "long_markdown",
    "markdown12k",
    "scripted",
    "slow",
]
