"""Subagents of the lead agent as the configuration and the switches have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.core.run_context import RunOptions
from roebot_testing.agent import Script, ToolUse
from tests.component.agent.test_lead_tools import ONE, Models, entry, lead, said

TOOL = f"tools: [{entry('lookup', 'lookup')}]\n"
TASK = {"description": "look ab up", "prompt": "what is ab?"}
HANDED = (
    Script(tools=(ToolUse("task", TASK),)),
    Script(tools=(ToolUse("lookup", {"word": "ab"}),)),
    Script(reply="the subagent's result"),
    Script(reply="done"),
)


BARE = "sandbox: {enabled: false}\n"
IN_THE_SANDBOX = {"bash", "ls", "read_file", "write_file", "str_replace"}


@pytest.mark.parametrize(
    ("text", "switch", "there"),
    [
        (TOOL, None, True),
        (TOOL, True, True),
        (TOOL, False, False),
        (TOOL + "subagents: {enabled: false}\n", None, False),
        (TOOL + "subagents: {enabled: false}\n", True, False),
        (BARE, None, False),
        (BARE, True, True),
        ("", None, True),
    ],
)
async def test_they_are_there_where_they_have_tools_or_are_asked_for(
    tmp_path: Path, text: str, switch: bool | None, there: bool
) -> None:
    models = Models(m=(Script(reply="ok"),))
    await said(lead(tmp_path, ONE + text, models), switches=RunOptions(subagents=switch))
    [heard] = models.made["m"].calls
    assert ("task" in heard.tools) is there
    assert ("to subagents with the tool" in heard.texts[0]) is there


async def test_a_subagent_works_with_the_configured_tools_and_the_runs_model(tmp_path: Path) -> None:
    models = Models(m=HANDED)
    values = await said(lead(tmp_path, ONE + TOOL + "subagents: {max_concurrent: 2}\n", models))
    assert [one.text for one in values["messages"] if one.type == "tool"] == ["the subagent's result"]
    heard = models.made["m"].calls
    assert set(heard[1].tools) == {"lookup", *IN_THE_SANDBOX}
    assert "2 subagents work at once" in heard[0].texts[0]
    assert "work at once" not in heard[1].texts[0]


async def test_the_configured_guardrail_decides_about_their_calls(tmp_path: Path) -> None:
    use = "agent.middleware.guardrail:AllowlistProvider"
    guard = f"guardrails: {{enabled: true, provider: {{use: '{use}', denied: [lookup]}}}}\n"
    models = Models(m=HANDED)
    await said(lead(tmp_path, ONE + TOOL + guard, models))
    told = models.made["m"].calls[2].texts[-1]
    assert told.startswith("Not allowed: the tool lookup is not allowed here")


async def test_a_provider_that_fails_is_named_as_for_the_lead_agent(tmp_path: Path) -> None:
    models = Models(m=(HANDED[0], Script(fail="auth"), Script(reply="done")))
    values: Any = await said(lead(tmp_path, ONE + TOOL, models))
    [result] = [one for one in values["messages"] if one.type == "tool"]
    assert result.text.startswith('It failed: The model "m" failed: its provider rejected the API key')
    assert values["messages"][-1].text == "done"


async def test_a_model_without_tools_hands_nothing_over(tmp_path: Path) -> None:
    text = "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel', supports_tools: false}]\n"
    models = Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, text + "title: {enabled: false}\nallow_degradation: false\n" + TOOL, models)
    await said(agent)
    assert models.made["m"].calls[0].tools == ()
    assert "subagents" not in models.made["m"].calls[0].texts[0]
