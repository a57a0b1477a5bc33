"""Long conversations of subagents: their summaries, their budgets after one, and their progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from agent.core.interfaces import SubagentStatus, SubagentTask
from agent.core.run_context import RunContext
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from agent.subagents.runner import GraphSubagents
from agent.tools.images import show_image
from roebot_testing.agent import Script, ScriptedChatModel
from tests.component.agent.test_subagent_types import FINE, Delegation
from tests.harness.agents import calls, says, scripted

PNG = b"\x89PNG\r\n\x1a\none"
SUMMARIES = (
    "summarization: {enabled: true, model_name: 'spare', keep: {type: messages, value: 4},\n"
    "  trigger: [{type: messages, value: 9}]}\n"
)


@tool
async def read_part(number: int) -> str:
    """Read a part."""
    return f"part {number} says {number * number}"


def reading(parts: int, *more: Script) -> tuple[Script, ...]:
    return (*(calls("read_part", number=number) for number in range(parts)), *more)


def runner(model: ScriptedChatModel, writer: ScriptedChatModel, **options: Any) -> GraphSubagents:
    """Subagents whose conversations are summarized from nine messages on."""
    summaries = SummarizationMiddleware(model=writer, trigger=("messages", 9), keep=("messages", 4))
    chain = [summaries, TokenUsageMiddleware()]
    return GraphSubagents(SubagentGraphs(SubagentParts(SubagentModel(model, **options), [read_part], chain)))


async def test_a_long_task_is_summarized_and_never_forgotten() -> None:
    model, writer = scripted(*reading(12, says("144 parts"))), scripted(says("SUMMARY"))
    steps = []
    task = SubagentTask("call-1", "reads", "Read all parts of the book.")
    result = await runner(model, writer).run(task, RunContext(thread_id="t"), steps.append)
    assert (result.status, result.text) == (SubagentStatus.COMPLETED, "144 parts")
    assert len(writer.calls) >= 2, "the summary is itself summarized later"
    assert "part 0 says 0" in writer.calls[0].texts[0]
    assert max(len(heard.messages) for heard in model.calls) <= 10
    assert all("Read all parts of the book." in heard.texts for heard in model.calls)
    assert "SUMMARY" in " ".join(model.calls[-1].texts)
    assert [step.turn for step in steps] == list(range(14)), "a summary does not set the turns back"


@pytest.mark.guard(
    "turns are counted across summaries",
    "agent/harness/subagent_budget.py",
    'turns = state.get("turns") or sum(',
    "turns = sum(",
    against="endless subagents",
)
@pytest.mark.parametrize("asked", [7, 11])
async def test_a_summary_does_not_reset_the_budget(asked: int) -> None:
    model, writer = scripted(*reading(40)), scripted(says("SUMMARY"))
    task = SubagentTask("call-1", "reads", "Read.", max_turns=asked)
    result = await runner(model, writer).run(task, RunContext(thread_id="t"))
    assert result.text == f"It used up its {asked} turns. Its output so far: (nothing yet)"
    assert len(model.calls) == asked
    assert writer.calls
    assert [at for at, heard in enumerate(model.calls) if "last turn" in heard.texts[-1]] == [asked - 1]
    few = [at for at, heard in enumerate(model.calls) if "turns left, with this one" in heard.texts[-1]]
    assert few == [asked - 3, asked - 2]
    assert len({heard.texts[0] for heard in model.calls}) == 1, "notices don't change the system prompt"


async def test_what_it_said_before_the_summary_is_in_the_result_of_a_spent_budget() -> None:
    begin = Script(reply="The first part says 0.", tools=calls("read_part", number=0).tools)
    model, writer = scripted(begin, *reading(40)), scripted(says("SUMMARY"))
    task = SubagentTask("call-1", "reads", "Read.", max_turns=9)
    result = await runner(model, writer).run(task, RunContext(thread_id="t"))
    assert result.text == "It used up its 9 turns. Its output so far: The first part says 0."


async def test_summaries_count_for_the_tokens_of_the_task() -> None:
    model = scripted(
        *(Script(tools=step.tools, usage=(100, 10)) for step in reading(4)),
        Script(reply="done", usage=(100, 10)),
    )
    writer = scripted(Script(reply="SUMMARY", usage=(1_000, 50)))
    result = await runner(model, writer).run(SubagentTask("c", "d", "Read."), RunContext(thread_id="t"))
    assert result.usage is not None
    assert result.usage["total_tokens"] == 5 * 110 + 1_050


@pytest.mark.parametrize(
    ("settings", "written"), [(SUMMARIES, True), ("summarization: {enabled: false}\n", False)]
)
async def test_the_settings_of_the_lead_agent_hold_for_its_subagents(
    tmp_path: Path, settings: str, written: bool
) -> None:
    delegation = Delegation(tmp_path, settings, (*_lookups(8), *FINE))
    delegation.models.made["spare"].steps = (Script(reply="SUMMARY"),)
    assert await delegation.run() == "fine"
    heard = delegation.models.made["m"].calls[-2].texts
    assert ("SUMMARY" in " ".join(heard)) is written
    assert "check" in heard


def _lookups(number: int) -> tuple[Script, ...]:
    return tuple(calls("lookup", word=f"w{at}") for at in range(number))


async def test_images_of_tools_are_seen_without_a_sandbox() -> None:
    @tool
    async def screenshot() -> str:
        """Take a screenshot."""
        show_image("screen.png", PNG)
        return "taken"

    model = scripted(calls("screenshot"), says("a page"))
    parts = SubagentParts(SubagentModel(model, sees_images=True), [screenshot], has_sandbox=False)
    subagents = GraphSubagents(SubagentGraphs(parts))
    result = await subagents.run(SubagentTask("c", "d", "Look."), RunContext(thread_id="t"))
    assert result.text == "a page"
    first, second = model.calls
    assert first.tools == ("screenshot",), "view_image opens files of the sandbox"
    assert [block["type"] for block in second.messages[-1].content] == ["text", "text", "image"]
