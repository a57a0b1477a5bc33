"""A request for a skill about a quoted message."""

from __future__ import annotations

from agent.shared.envelope import parse_envelopes
from agent.shared.schemas import SkillInfo, SkillList
from bot.bus.quotation_limits import MAX_CONTEXT_CHARACTERS
from bot.domain import (
    Quotation,
    QuotationKind,
)
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench


async def test_a_request_for_a_skill_about_a_long_message_quotes_it_shortened(at: Bench) -> None:
    path = "/mnt/skills/public/essay/SKILL.md"
    essay = SkillInfo(name="essay", description="Essays.", category="public", path=path, enabled=True)
    at.runtime.taught = SkillList(skills=[essay], problems=[])
    at.runtime.script = answer_with("ok")
    quotation = Quotation(QuotationKind.REPLY, "x" * 40_000, "Bob", "8")
    async with at.running():
        await at.adapter.hears("/essay summarize", quotations=(quotation,))
        await at.until(lambda: at.runtime.runs)
    [run] = at.runtime.runs.values()
    [envelope] = parse_envelopes(run.request.messages[0]["content"])
    assert [len(one.text) for one in envelope.quotations] == [MAX_CONTEXT_CHARACTERS]
