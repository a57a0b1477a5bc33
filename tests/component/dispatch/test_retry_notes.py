"""A retry gets the same notes as the turn that it repeats."""

from __future__ import annotations

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import ChatKind, InboundChange, Origin, Sender
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_chat_record import GROUP, overhears, says
from tests.component.dispatch.test_exchanges import HEAD, asks


def contents(at: Bench) -> list[str]:
    """What each run was told."""
    runs = at.runtime.runs.values()
    return ["\n".join(without_envelopes(one["content"]) for one in run.request.messages) for run in runs]


async def edits(at: Bench, message_id: str, text: str) -> None:
    assert at.adapter.context is not None
    origin = Origin("rec", "recording", "group", ChatKind.GROUP, message_id, Sender("7", "P7"), "t9")
    await at.adapter.context.inbox.accept([InboundChange(f"edit-{text}", origin, text, 1e9)])


@pytest.mark.parametrize("status", ["success", "error"])
async def test_what_others_wrote_and_edited_before_it_is_told_again(at: Bench, status: str) -> None:
    at.runtime.script = answer_with("Fine.")
    async with at.running():
        await says(at, "/record on 30")
        await says(at, "blue", topic="t9")
        await overhears(at, "lunch?", person="8", topic="t9")
        await edits(at, "u3", "red")
        at.runtime.script = answer_with("Fine.", status=status)
        await says(at, "well?", topic="t9")
        at.runtime.checkpoints["run-2"] = "cp-1"
        await overhears(at, "pizza", person="9", topic="t9")
        for number in (3, 4):
            await says(at, "/retry", topic="t9")
            await at.until(lambda number=number: len(at.runtime.runs) == number)
            at.runtime.checkpoints[f"run-{number}"] = "cp-1"
            await at.rest(2.0)
        await says(at, "and now?", topic="t9")
        told = contents(at)
    assert "lunch?" in told[1]
    assert 'Now: "red"' in told[1]
    assert told[2:4] == [told[1]] * 2
    assert "pizza" in told[4]
    assert "lunch?" not in told[4]


async def test_exchanges_of_other_conversations_are_told_again(at: Bench) -> None:
    at.runtime.script = answer_with("Tuesday at nine.")
    async with at.running():
        await asks(at, "when?", "t1")
        first = await asks(at, "the slot you proposed?", "t2")
        await asks(at, "another", "t3")
        await at.adapter.hears("/retry", **GROUP, topic="t2")
        await at.until(lambda: len(at.runtime.runs) == 4)
        again = [*at.runtime.runs.values()][-1].request.messages[0]["content"]
    assert HEAD in first
    assert again == first
