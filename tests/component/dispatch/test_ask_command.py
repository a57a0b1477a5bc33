"""`/ask` hands its text to the agent, as any other message."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench, authored


@pytest.mark.parametrize(
    "text", ["/ask Why is it red?", "/roebot ask Why is it red?", "/ASK  Why is it red?"]
)
async def test_the_agent_reads_the_text_alone(at: Bench, text: str) -> None:
    at.runtime.script = answer_with("An answer.")
    async with at.running():
        await at.adapter.hears(text)
        await at.until(lambda: at.adapter.texts() == ["An answer."])
    [run] = at.runtime.runs.values()
    assert authored(run.request.messages[-1]["content"]) == "P7: Why is it red?"


async def test_nothing_is_asked_without_a_text(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/roebot ask")
        await at.until(lambda: at.adapter.texts())
    assert at.adapter.texts() == ["Add what you want to ask: `/ask TEXT`."]
    assert at.runtime.runs == {}


async def test_in_a_group_the_bot_is_called_by_its_slash_command(at: Bench) -> None:
    at.runtime.script = answer_with("An answer.")
    async with at.running():
        await at.adapter.hears("/roebot nonsense", kind=ChatKind.GROUP, addressed=False)
        await at.adapter.hears("@bot help", kind=ChatKind.GROUP, addressed=False)
        await at.adapter.hears("/roebot ask why?", kind=ChatKind.GROUP, addressed=False)
        await at.until(lambda: at.adapter.texts())
        await at.rest(2.0)
    assert at.adapter.texts() == ["An answer."]


@pytest.mark.parametrize(("mentioned", "said"), [(True, "**Commands**"), (False, "An answer.")])
async def test_in_a_private_chat_a_mention_makes_a_command(at: Bench, mentioned: bool, said: str) -> None:
    at.runtime.script = answer_with("An answer.")
    async with at.running():
        await at.adapter.hears("help", mentioned=mentioned)
        await at.until(lambda: at.adapter.texts())
    assert at.adapter.texts()[0].startswith(said)
