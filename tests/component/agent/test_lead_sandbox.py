"""The sandbox of the lead agent, from a real configuration file to a tool's result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.core.interfaces import SandboxUnavailable
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from agent.sandbox.options import Surroundings
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider

HERE = "tests.component.agent.test_lead_sandbox"
ONE = (
    "config_version: 1\nmodels: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\n"
    "title: {enabled: false}\n"
)
UNPROTECTED = "sandbox: {isolation: none}\n"
OURS = {"bash", "ls", "read_file", "write_file", "str_replace", "present_files"}


class OwnProvider(MemorySandboxProvider):
    """A provider of one's own."""

    def __init__(self, around: Surroundings, *, most: int = 10) -> None:
        super().__init__(most=most)
        self.around = around


class NoProvider:
    """It lacks everything."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around


@tool
def bash(command: str) -> str:
    """Another one."""
    return f"not run: {command}"


class Lead:
    """A lead agent whose model calls one tool."""

    def __init__(self, folder: Path, text: str, *, profile: str = "") -> None:
        path = folder / "config.yaml"
        path.write_text(ONE + text)
        home = folder / "home"
        if profile:
            (home / "agents" / "own").mkdir(parents=True)
            (home / "agents" / "own" / "config.yaml").write_text(profile)
        self.name = "own" if profile else None
        source = ModelSource(path, environ={}, cwd=folder, clock=lambda: 0.0)
        self.agent = LeadAgent(source, home, make_model=self._model)
        self.home = home

    def _model(self, *_: object, **__: object) -> ScriptedChatModel:
        return self.model

    async def call(self, name: str, **args: object) -> str:
        """The tool's result."""
        self.model = ScriptedChatModel(
            steps=(Script(tools=(ToolUse(name, args),)), Script(reply="done")), environ={}
        )
        self.agent.reset()
        graph = await self.agent.get_graph(RunOptions(agent_name=self.name))
        config: Any = {"configurable": {"thread_id": "t"}}
        values = await graph.copy({"checkpointer": InMemorySaver()}).ainvoke(
            {"messages": [HumanMessage("go")]}, config
        )
        self.offered = set(self.model.calls[0].tools)
        return str(values["messages"][-2].text)


async def test_the_sandbox_is_there_unless_it_is_switched_off(tmp_path: Path) -> None:
    lead = Lead(tmp_path, UNPROTECTED)
    assert await lead.call("bash", command="echo $HOME; pwd") == "\n".join(["/mnt/user-data/workspace"] * 2)
    assert lead.offered >= OURS
    assert (lead.home / "threads" / "t" / "user-data" / "workspace").is_dir()
    lead = Lead(tmp_path, "sandbox: {enabled: false}\n")
    await lead.call("bash", command="ls")
    assert not lead.offered & OURS


async def test_skills_are_there_to_be_read_and_nothing_else(tmp_path: Path) -> None:
    lead = Lead(tmp_path, f"{UNPROTECTED}skills: {{path: {tmp_path}/skills, container_path: /mnt/ways}}\n")
    for category in ("public", "custom"):
        path = tmp_path / "skills" / category / "notes" / "SKILL.md"
        assert "There is no" in await lead.call("read_file", path=f"/mnt/ways/{category}/notes/SKILL.md")
        path.parent.mkdir(parents=True)
        path.write_text(f"how to, {category}\n")
        shown = await lead.call("read_file", path=f"/mnt/ways/{category}/notes/SKILL.md")
        assert shown == f"how to, {category}\n"
        told = await lead.call("write_file", path=f"/mnt/ways/{category}/notes/SKILL.md", content="x")
        assert "is read-only" in told
    assert "outside the sandbox" in await lead.call("read_file", path="/mnt/ways/../secret")


async def test_bundled_skills_are_where_the_prompt_says(tmp_path: Path) -> None:
    lead = Lead(tmp_path, UNPROTECTED)
    shown = await lead.call("read_file", path="/mnt/skills/public/thread-summary/SKILL.md")
    assert "name: thread-summary" in shown


async def test_limits_come_from_the_configuration(tmp_path: Path) -> None:
    lead = Lead(tmp_path, "sandbox: {isolation: none, seconds: 0.3, disk_mb: 1}\n")
    assert "took too long" in await lead.call("bash", command="sleep 30")
    told = await lead.call("write_file", path="big", content="x" * 1_100_000)
    assert "Either the thread's folders (1 MB) or the disk is full" in told


async def test_a_provider_of_ones_own(tmp_path: Path) -> None:
    lead = Lead(tmp_path, f"sandbox: {{use: '{HERE}:OwnProvider', most: 3}}\n")
    assert await lead.call("bash", command="echo from memory") == "from memory"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("use: 'no_such_pkg.x:Y'", "needs the module no_such_pkg, which is not installed"),
        (f"use: '{HERE}:Gone'", "has no Gone"),
        (f"use: '{HERE}:NoProvider'", "it has no method acquire"),
        (f"use: '{HERE}:OwnProvider', other: 1", r"are invalid \(TypeError\)"),
        ("memory_mb: many", "sandbox.memory_mb in the configuration"),
        ("colour: red", "sandbox.colour in the configuration"),
        ("use: 'agent.sandbox.container:ContainerSandboxProvider', idle_seconds: 0", "sandbox.idle_seconds"),
    ],
)
async def test_what_cannot_be_made_says_why(tmp_path: Path, text: str, told: str) -> None:
    lead = Lead(tmp_path, f"sandbox: {{{text}}}\n")
    with pytest.raises(SandboxUnavailable, match=told):
        await lead.call("bash", command="ls")


@pytest.mark.parametrize(
    ("groups", "offered"),
    [
        ("[bash]", {"bash"}),
        ("['file:read']", {"ls", "read_file"}),
        ("['file:read', 'file:write']", OURS - {"bash"}),
    ],
)
async def test_groups_of_an_agent_of_ones_own(tmp_path: Path, groups: str, offered: set[str]) -> None:
    lead = Lead(tmp_path, UNPROTECTED, profile=f"tool_groups: {groups}\n")
    await lead.call("ls")
    assert lead.offered & OURS == offered


async def test_a_configured_tool_stands_for_ours(tmp_path: Path) -> None:
    lead = Lead(tmp_path, UNPROTECTED + f"tools: [{{name: bash, group: bash, use: '{HERE}:bash'}}]\n")
    assert await lead.call("bash", command="ls") == "not run: ls"
    assert lead.offered >= OURS


async def test_ours_can_be_configured_by_name(tmp_path: Path) -> None:
    text = "tools: [{name: shell, group: company, use: 'agent.tools.sandbox:bash'}]\n"
    lead = Lead(tmp_path, UNPROTECTED + text, profile="tool_groups: [company]\n")
    assert await lead.call("shell", command="echo named") == "named"
    assert lead.offered & (OURS | {"shell"}) == {"shell"}
