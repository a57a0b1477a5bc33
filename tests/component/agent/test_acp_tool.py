"""The tool in the lead agent: from a configuration file to a program, its answer, its events, its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.acp.tool import NAME
from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.errors import ProfileBroken
from agent.lead import LeadAgent
from agent.middleware.run_limits import MODEL_CALLS
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.acp import entry, steps

HERE = "tests.component.agent.test_acp_tool"
ONE = """config_version: 1
models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]
title: {enabled: false}
sandbox: {isolation: none}
"""
NO_SANDBOX = ONE.replace("isolation: none", "enabled: false")


@tool
async def invoke_acp_agent(prompt: str) -> str:
    """A tool of the configuration with the same name."""
    return f"not handed over: {prompt}"


def configured(**agents: Any) -> str:
    return f"acp_agents: {json.dumps(agents)}\n"


class Stage:
    """A lead agent that a test writes the answers of."""

    def __init__(self, folder: Path, text: str) -> None:
        (folder / "config.yaml").write_text(text)
        self.home = folder / "home"
        self.model = ScriptedChatModel(environ={})
        self.agent = LeadAgent(
            ModelSource(folder / "config.yaml", environ={}, cwd=folder),
            self.home,
            make_model=lambda *_, **__: self.model,
        )

    async def said(self, *given: Script, name: str | None = None) -> tuple[list[Any], list[Any]]:
        """The results of the tools, and the custom events of tasks."""
        self.model = ScriptedChatModel(steps=(*given, Script(reply="done")), environ={})
        self.agent.reset()
        graph = (await self.agent.get_graph(RunOptions(agent_name=name))).copy(
            {"checkpointer": InMemorySaver()}
        )
        config: Any = {"configurable": {"thread_id": "t-1"}}
        events, values = [], {}
        message = {"messages": [HumanMessage("go")]}
        async for mode, part in graph.astream(message, config, stream_mode=["custom", "values"]):
            if mode == "custom":
                events += [part] if part["type"] != MODEL_CALLS else []
            else:
                values = part
        return [one for one in values["messages"] if one.type == "tool"], events

    @property
    def offered(self) -> tuple[str, ...]:
        return self.model.calls[0].tools

    @property
    def prompt(self) -> str:
        return self.model.calls[0].texts[0]


def hands(*each: Any, agent: str = "helper", **more: Any) -> Script:
    """A step that hands a task over."""
    return Script(tools=(ToolUse(NAME, {"agent": agent, "prompt": steps(*each), **more}, "call-1"),))


async def test_a_task_is_handed_over_and_its_result_is_read_from_the_folder(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE + configured(helper=entry(description="Counts things")))
    made, read = "/mnt/acp-workspace/out/a.md", "/mnt/user-data/outputs/a.md"
    results, events = await stage.said(
        hands(["tool", "Count"], ["write", "out/a.md", "42"], ["say", "Counted."], description="count them"),
        Script(tools=(ToolUse("bash", {"command": f"cp {made} {read}"}),)),
        Script(tools=(ToolUse("read_file", {"path": made}), ToolUse("present_files", {"paths": [read]}))),
        Script(tools=(ToolUse("write_file", {"path": made, "content": "x"}),)),
    )
    assert results[0].text == f"Counted.\n\nFiles that it created or changed: {made}."
    assert (results[0].status, results[0].tool_call_id, results[0].name) == ("success", "call-1", NAME)
    assert results[2].text.startswith("42")
    assert results[3].text == f"Presented: {read}."
    assert "is read-only" in results[4].text
    about = {"task_id": "call-1", "description": "count them"}
    assert events == [
        {"type": "task_started", **about, "subagent_type": "acp:helper"},
        {"type": "task_running", **about, "turn": 1, "tools": ["Count"]},
        {"type": "task_completed", **about},
    ]


async def test_a_failure_is_an_error_that_the_model_reads_and_the_run_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE + configured(helper=entry(), gone={"command": "codex"}))
    results, events = await stage.said(hands(["exit", 7]), hands("never", agent="gone"))
    assert [one.status for one in results] == ["error", "error"]
    assert "exited (code 7) during the task" in results[0].text
    assert "use codex-acp" in results[1].text
    assert [one["type"] for one in events] == ["task_started", "task_failed"] * 2
    assert events[1]["error"].startswith('The ACP agent "helper" exited')
    assert events[0]["description"].startswith('helper: [["exit", 7]]')
    assert stage.model.calls[-1].texts[-1] == results[1].text


async def test_one_that_took_too_long_is_told_as_such(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE + configured(helper=entry(timeout_seconds=0.5)))
    results, events = await stage.said(hands("hang"))
    assert results[0].status == "error"
    assert results[0].text.startswith("It was stopped after 0.5 seconds.")
    assert [one["type"] for one in events] == ["task_started", "task_timed_out"]


async def test_an_agent_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    off = entry(enabled=False)
    stage = Stage(tmp_path, ONE + configured(helper=entry(), other=entry(), off=off))
    results, events = await stage.said(hands(agent="off"))
    assert results[0].text == "There is no agent 'off'. Available: helper, other."
    assert results[0].status == "error"
    assert events == []


async def test_the_prompt_tells_of_them_only_where_there_are_some(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE)
    await stage.said()
    assert NAME not in stage.offered
    assert "acp" not in stage.prompt.lower()
    stage = Stage(tmp_path, ONE + configured(helper=entry(description="Counts"), off=entry(enabled=False)))
    await stage.said()
    assert NAME in stage.offered
    assert "Give a self-contained task" in stage.prompt
    assert "Copy results from there" in stage.prompt
    assert "/mnt/acp-workspace" in stage.prompt
    assert "(helper)" in stage.prompt
    stage = Stage(tmp_path, ONE + configured(off=entry(enabled=False)))
    await stage.said()
    assert NAME not in stage.offered
    assert "<acp>" not in stage.prompt


async def test_without_a_sandbox_nothing_is_said_of_the_folder(tmp_path: Path) -> None:
    stage = Stage(tmp_path, NO_SANDBOX + configured(helper=entry()))
    results, _ = await stage.said(hands(["say", "42"]))
    assert results[0].text == "42"
    assert "Give a self-contained task" in stage.prompt
    assert "/mnt/acp-workspace" not in stage.prompt


async def test_a_configured_tool_of_the_same_name_stands_for_it(tmp_path: Path) -> None:
    own = f"tools: [{{name: {NAME}, group: words, use: '{HERE}:{NAME}'}}]\n"
    stage = Stage(tmp_path, ONE + own + configured(helper=entry()))
    results, _ = await stage.said(Script(tools=(ToolUse(NAME, {"prompt": "x"}),)))
    assert results[0].text == "not handed over: x"
    assert stage.offered.count(NAME) == 1


@pytest.mark.parametrize(("groups", "there"), [("[acp]", True), ("[bash]", False), ("null", True)])
async def test_an_agent_of_ones_own_takes_it_by_its_group(tmp_path: Path, groups: str, there: bool) -> None:
    stage = Stage(tmp_path, ONE + configured(helper=entry()))
    folder = stage.home / "agents" / "own"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"tool_groups: {groups}\n")
    await stage.said(name="own")
    assert (NAME in stage.offered) is there


async def test_the_group_is_known_only_where_agents_are_configured(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE)
    folder = stage.home / "agents" / "own"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("tool_groups: [acp]\n")
    with pytest.raises(ProfileBroken, match="the tool group acp is not configured"):
        await stage.said(name="own")


async def test_subagents_may_hand_tasks_over_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE + configured(helper=entry()))
    task = {"description": "count", "prompt": "count them"}
    results, _ = await stage.said(
        Script(tools=(ToolUse("task", task),)), hands(["say", "42"]), Script(reply="It is 42.")
    )
    assert results[0].text == "It is 42."
    assert NAME in stage.model.calls[1].tools


async def test_the_guardrail_decides_about_it(tmp_path: Path) -> None:
    use = "agent.middleware.guardrail:AllowlistProvider"
    guard = f"guardrails: {{enabled: true, provider: {{use: '{use}', denied: [{NAME}]}}}}\n"
    stage = Stage(tmp_path, ONE + guard + configured(helper=entry()))
    results, events = await stage.said(hands(["say", "42"]))
    assert results[0].text.startswith("Not allowed")
    assert events == []
