"""Pairs of dependent tool calls that models send in one answer, in the ways in which models write them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.thread_files import ViewImageMiddleware
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.profile import examples
from tests.sandbox.sandbox_fixtures import unprotected

ROUNDS = examples(25)
"""How often each style is written."""
OUTPUT = "/mnt/user-data/outputs/made.txt"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def write(path: str, content: str = "one\n") -> ToolUse:
    return ToolUse("write_file", {"path": path, "content": content})


def bash(command: str) -> ToolUse:
    return ToolUse("bash", {"command": command})


def present(path: str = OUTPUT) -> ToolUse:
    return ToolUse("present_files", {"paths": [path]})


PAIRS = {
    "write, present": (write(OUTPUT), present()),
    "bash, present": (bash(f"sleep 0.01; echo one > {OUTPUT}"), present()),
    "bash, bash": (bash("sleep 0.01; echo one > made.txt"), bash("cat made.txt")),
    "write, read": (write("made.txt"), ToolUse("read_file", {"path": "made.txt"})),
    "write, bash": (write("made.txt"), bash("cat made.txt")),
    "bash, view": (
        bash(f"sleep 0.01; echo {PIXEL} | base64 -d > dot.png"),
        ToolUse("view_image", {"path": "dot.png"}),
    ),
    "replace, bash": (
        ToolUse("str_replace", {"path": "kept.txt", "old_str": "zero", "new_str": "one"}),
        bash("cat kept.txt"),
    ),
    "bash, replace": (
        bash("sleep 0.01; echo zero > made.txt"),
        ToolUse("str_replace", {"path": "made.txt", "old_str": "zero", "new_str": "one"}),
    ),
    "bash, ls": (bash("sleep 0.01; echo > one.txt"), ToolUse("ls", {})),
}
EXPECTED = {
    "present_files": f"Presented: {OUTPUT}.",
    "bash": "one",
    "read_file": "one\n",
    "view_image": "Opened dot.png.",
    "str_replace": "Replaced 1 occurrence in made.txt.",
    "ls": "kept.txt (5 bytes)\none.txt (1 bytes)",
}


def _own_ids(number: int, use: ToolUse) -> ToolUse:
    return ToolUse(use.name, use.args, f"toolu_{number:02}")


def _counted_ids(number: int, use: ToolUse) -> ToolUse:
    """As providers write them that count anew in each answer."""
    return ToolUse(use.name, use.args, str(number))


def _one_id(_: int, use: ToolUse) -> ToolUse:
    return ToolUse(use.name, use.args, "call")


def _values_as_text(number: int, use: ToolUse) -> ToolUse:
    args = {name: one if isinstance(one, str) else json.dumps(one) for name, one in use.args.items()}  # type: ignore[union-attr]
    return ToolUse(use.name, json.dumps(args), f"c{9 - number}")


STYLES: tuple[Callable[[int, ToolUse], ToolUse], ...] = (_own_ids, _counted_ids, _one_id, _values_as_text)


@pytest.mark.parametrize("pair", PAIRS)
async def test_the_second_call_sees_what_the_first_one_did(pair: str, tmp_path: Path) -> None:
    provider = unprotected(tmp_path)
    features = RuntimeFeatures(
        sandbox=SandboxMiddleware(provider=provider), vision=ViewImageMiddleware(), loop_detection=False
    )

    async def answer_in(style: Callable[[int, ToolUse], ToolUse]) -> list[str]:
        uses = tuple(style(at, use) for at, use in enumerate(PAIRS[pair]))
        steps = [
            Script(tools=uses),
            Script(reply="done"),
            Script(tools=uses, fragment=3),
            Script(reply="done"),
        ]
        model = ScriptedChatModel(steps=tuple(steps * ROUNDS), environ={})
        graph = create_agent_graph(model, features=features, checkpointer=InMemorySaver())
        seconds = []
        for number in range(ROUNDS):
            thread = f"t-{STYLES.index(style)}-{number}"
            sandbox = provider.get(await provider.acquire(thread))
            assert sandbox is not None
            await sandbox.write_file("kept.txt", b"zero\n")
            config: Any = {"configurable": {"thread_id": thread}}
            values = await graph.ainvoke({"messages": [("human", "go")]}, config)
            results = [message.text for message in values["messages"] if isinstance(message, ToolMessage)]
            seconds.append(results[1])
        return seconds

    told = await asyncio.gather(*map(answer_in, STYLES))
    expected = EXPECTED[PAIRS[pair][1].name]
    assert [text for seconds in told for text in seconds] == [expected] * (ROUNDS * len(STYLES))
