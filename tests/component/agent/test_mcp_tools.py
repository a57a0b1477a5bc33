"""MCP tools in the lead agent: assembled, grouped, deferred, failing as tools do, reloaded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.config.extensions_file import CHANGES, FILE_NAME, ExtensionsSource
from agent.core.run_context import RunOptions
from agent.errors import ProfileBroken
from agent.lead import LeadAgent
from agent.mcp.pool import McpPool, _unique_tool_name, current_pool, open_shared_pool
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.mcp import PATIENT, ours, pooled

HERE = "tests.component.agent.test_mcp_tools"
CONFIG = """config_version: 1
models: [{{name: m, use: 'roebot_testing.agent:ScriptedChatModel'{more}}}]
title: {{enabled: false}}
skills: {{path: {path}/none}}
sandbox: {{enabled: false}}
tools: [{{name: own, group: words, use: '{HERE}:own'}}, {{name: same, group: words, use: '{HERE}:own'}}]
"""


@tool
async def own(word: str) -> str:
    """A tool of the configuration."""
    return word


class Stage:
    """A lead agent with a pool."""

    def __init__(self, folder: Path, pool: McpPool, more: str = "") -> None:
        self.folder = folder
        (folder / "config.yaml").write_text(CONFIG.format(path=folder, HERE=HERE, more=more))
        self.model = ScriptedChatModel(environ={})
        self.agent = LeadAgent(
            ModelSource(folder / "config.yaml", environ={}, cwd=folder),
            folder / "home",
            extensions=ExtensionsSource(environ={}, cwd=folder),
            make_model=lambda *_, **__: self.model,
            mcp=pool,
        )

    def servers(self, **entries: Any) -> None:
        entries = {name: {"start_seconds": PATIENT, **entry} for name, entry in entries.items()}
        (self.folder / FILE_NAME).write_text(json.dumps({"mcpServers": entries}))
        CHANGES.record()

    def profile(self, name: str, text: str) -> None:
        folder = self.folder / "home" / "agents" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(text)

    async def said(self, *steps: Script, switches: RunOptions | None = None) -> list[Any]:
        self.model = ScriptedChatModel(steps=(*steps, Script(reply="done")), environ={})
        self.agent.reset()
        graph = (await self.agent.get_graph(switches or RunOptions())).copy({"checkpointer": InMemorySaver()})
        config: Any = {"configurable": {"thread_id": "t"}}
        return list((await graph.ainvoke({"messages": [HumanMessage("hi")]}, config))["messages"])

    def seen(self) -> set[str]:
        return set(self.model.calls[-1].tools)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with pooled() as pool:
        yield Stage(tmp_path, pool)


def uses(name: str, **arguments: Any) -> Script:
    return Script(tools=(ToolUse(name, arguments),))


def answer(messages: list[Any]) -> ToolMessage:
    [found] = [message for message in messages if isinstance(message, ToolMessage)]
    return found


async def test_the_model_calls_a_tool_of_a_server(stage: Stage) -> None:
    stage.servers(test=ours())
    messages = await stage.said(uses("test_add", a=2, b=3))
    assert (answer(messages).text, answer(messages).status) == ("5", "success")
    assert stage.seen() >= {"own", "test_add", "test_recall"}
    assert messages[-1].text == "done"


async def test_a_crash_is_an_error_message_and_the_run_goes_on(stage: Stage) -> None:
    stage.servers(test=ours())
    messages = await stage.said(uses("test_crash"))
    assert answer(messages).status == "error"
    assert 'The MCP server "test" ended during the call' in answer(messages).text
    assert messages[-1].text == "done"


async def test_a_hang_is_an_error_message_and_the_run_goes_on(stage: Stage) -> None:
    stage.servers(test=ours(timeout_seconds=0.3))
    messages = await stage.said(uses("test_hang"))
    assert "did not respond within 0.3 seconds" in answer(messages).text
    assert messages[-1].text == "done"


async def test_servers_come_and_go_without_a_restart(stage: Stage) -> None:
    await stage.said()
    assert not [name for name in stage.seen() if name.startswith("test")]
    stage.servers(test=ours())
    await stage.said()
    assert "test_add" in stage.seen()
    stage.servers(test=ours(enabled=False), other=ours())
    await stage.said()
    assert "test_add" not in stage.seen()
    assert "other_add" in stage.seen()


async def test_a_graph_is_kept_while_nothing_changes(stage: Stage) -> None:
    stage.servers(test=ours())
    graph = await stage.agent.get_graph(RunOptions())
    assert await stage.agent.get_graph(RunOptions()) is graph
    stage.servers(test=ours(timeout_seconds=7))
    assert await stage.agent.get_graph(RunOptions()) is not graph


async def test_a_bad_file_keeps_the_servers_that_were_good(stage: Stage) -> None:
    stage.servers(test=ours())
    await stage.said()
    (stage.folder / FILE_NAME).write_text("{")
    CHANGES.record()
    await stage.said(uses("test_add", a=1, b=1))
    assert "test_add" in stage.seen()


async def test_groups_of_an_agent_of_ones_own(stage: Stage) -> None:
    stage.servers(one=ours(), two=ours())
    for groups, wanted in (
        ("null", {"own", "one_add", "two_add"}),
        ("[words]", {"own"}),
        ("[mcp]", {"one_add", "two_add"}),
        ("['mcp:two', words]", {"own", "two_add"}),
        ("['mcp:none']", set()),
        ("[]", set()),
    ):
        stage.profile("coder", f"tool_groups: {groups}\n")
        await stage.said(switches=RunOptions(agent_name="coder"))
        assert stage.seen() & {"own", "one_add", "two_add"} == wanted, groups
    stage.profile("coder", "tool_groups: [mcps]\n")
    with pytest.raises(ProfileBroken, match="mcps is not configured"):
        await stage.said(switches=RunOptions(agent_name="coder"))


async def test_a_model_without_tools_starts_no_server(tmp_path: Path) -> None:
    async with pooled() as pool:
        stage = Stage(tmp_path, pool, ", supports_tools: false")
        stage.servers(test=ours())
        await stage.said()
        assert not pool.servers


async def test_many_tools_are_searched_for(stage: Stage) -> None:
    stage.servers(one=ours(), two=ours(), three=ours())
    messages = await stage.said(
        uses("three_add", a=1, b=1),
        uses("tool_search", query="three_add"),
        uses("three_add", a=1, b=1),
    )
    results = [message for message in messages if isinstance(message, ToolMessage)]
    assert "Find it with `tool_search` first" in results[0].text
    assert results[2].text == "2"
    first = set(stage.model.calls[0].tools)
    assert first >= {"own", "same", "tool_search", "one_add"}
    assert "three_add" not in first
    assert "three_add" in stage.seen()


async def test_a_few_tools_are_all_shown(stage: Stage) -> None:
    stage.servers(one=ours())
    await stage.said()
    assert "tool_search" not in stage.seen()


async def test_a_tool_of_the_configuration_comes_first(tmp_path: Path) -> None:
    async with pooled() as pool:
        stage = Stage(tmp_path, pool)
        text = (tmp_path / "config.yaml").read_text().replace("name: same", "name: test_add")
        (tmp_path / "config.yaml").write_text(text)
        stage.servers(test=ours())
        messages = await stage.said(uses("test_add", word="own"))
        assert answer(messages).text == "own"
        assert "test_recall" in stage.seen()


async def _elsewhere() -> McpPool | None:
    return current_pool()


async def test_the_process_has_one_pool(tmp_path: Path) -> None:
    assert current_pool() is None
    async with open_shared_pool():
        first = current_pool()
        assert first is not None
        assert current_pool() is first
        assert await asyncio.to_thread(asyncio.run, _elsewhere()) is None, "another loop has none"
    assert current_pool() is None


def test_names_that_every_provider_takes() -> None:
    taken: set[str] = set()
    for tool_name in ("plain", "with.dots/and spaces", "ä" * 5, "x" * 100, "x" * 101, "a.b", "a b"):
        name = _unique_tool_name("server", tool_name, taken)
        assert len(name) <= 64
        assert name.replace("_", "").replace("-", "").isalnum()
        assert name.isascii()
        assert name not in taken
        taken.add(name)
    assert "server_plain" in taken
