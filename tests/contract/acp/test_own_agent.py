"""Our lead agent hands tasks to a process of our own agent: done, and killed in mid-call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.acp.tool import NAME
from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.acp import PATIENT
from tests.harness.delegation_agent import TRACES
from tests.harness.mcp import ROOT, children

FILE = "/mnt/user-data/outputs/a.md"


def calls(name: str, /, **args: Any) -> dict[str, Any]:
    """A step of a model in a configuration."""
    return {"tools": [{"name": name, "args": args}]}


WRITES = [
    calls("write_file", path=FILE, content="42"),
    calls("present_files", paths=[FILE]),
    {"reply": "Written."},
]
HOLDS = [{**calls("hold", name="held"), "reply": "I begin."}]


def served(folder: Path, name: str, *steps: Any) -> dict[str, Any]:
    """The entry of our own agent as an agent of the protocol, as a user writes it."""
    (folder / f"{name}.yaml").write_text(
        "config_version: 1\n"
        f"models: [{{name: m, use: 'roebot_testing.agent:ScriptedChatModel', steps: {json.dumps(steps)}}}]\n"
        "sandbox: {isolation: none}\n"
        "tools: [{name: hold, group: test, use: 'tests.harness.delegation_agent:hold'}]\n"
        "acp_agents: {again: {command: never}}\n"
    )
    arguments = ["--home", str(folder / name), "--config", str(folder / f"{name}.yaml")]
    return {
        "command": sys.executable,
        "args": ["-m", "bot.cli", "agent", "acp", *arguments],
        "env": {"PYTHONPATH": str(ROOT), TRACES: str(folder / "traces")},
        "start_seconds": PATIENT,
    }


@pytest.fixture
def lead(tmp_path: Path) -> LeadAgent:
    (tmp_path / "traces").mkdir()
    agents = {"writer": served(tmp_path, "writer", *WRITES), "holder": served(tmp_path, "holder", *HOLDS)}
    (tmp_path / "config.yaml").write_text(
        "config_version: 1\n"
        "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\n"
        "title: {enabled: false}\n"
        "sandbox: {isolation: none}\n"
        f"acp_agents: {json.dumps(agents)}\n"
    )
    steps = (
        Script(tools=(ToolUse(NAME, {"agent": "writer", "prompt": "write it"}),)),
        Script(tools=(ToolUse("read_file", {"path": "/mnt/acp-workspace/a.md"}),)),
        Script(tools=(ToolUse(NAME, {"agent": "holder", "prompt": "hold on"}),)),
        Script(reply="done"),
    )
    model = ScriptedChatModel(steps=steps, environ={})
    source = ModelSource(tmp_path / "config.yaml", environ={}, cwd=tmp_path)
    return LeadAgent(source, tmp_path / "home", make_model=lambda *_, **__: model)


@pytest.mark.long
async def test_one_task_is_done_and_the_next_is_killed_in_mid_call(lead: LeadAgent, tmp_path: Path) -> None:
    before = children()
    graph = (await lead.get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})
    config: Any = {"configurable": {"thread_id": "t-1"}}
    run = asyncio.create_task(graph.ainvoke({"messages": [HumanMessage("go")]}, config))
    async with asyncio.timeout(PATIENT):
        while not (tmp_path / "traces" / "held").exists():
            assert not run.done(), run.result()["messages"]
            await asyncio.sleep(0.02)
    [pid] = children() - before
    assert "agent.acp_server.serve" in psutil.Process(pid).cmdline(), "the command became our agent"
    os.kill(pid, signal.SIGKILL)
    values = await run
    first, read, killed = [one for one in values["messages"] if one.type == "tool"]
    assert first.status == "success", first.text
    assert (
        first.text == "Written.\n[file: a.md]\n\nFiles that it created or changed: /mnt/acp-workspace/a.md."
    )
    assert read.text.startswith("42")
    assert killed.status == "error"
    assert killed.text.startswith('The ACP agent "holder" was killed (signal 9) during the task')
    assert killed.text.endswith("Its output so far: I begin.")
    assert values["messages"][-1].text == "done", "the run goes on"
    assert not children() - before
