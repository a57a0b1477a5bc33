"""Names in both directions: the agent reads whom a message mentions, and can mention people of the chat."""

from __future__ import annotations

import pytest

from agent.shared.envelope import MentionedName, MessageEnvelope, parse_envelopes
from bot.domain import ChatKind, Mention, MentionKind
from bot.testing.runtime import answer_with
from tests.component.dispatch.bench import Bench

LENA = Mention(MentionKind.PERSON, "Lena Okoro", "U1")
DEPLOYS = Mention(MentionKind.CHANNEL, "deploys", "C1")
GROUP = {"chat": "g1", "kind": ChatKind.GROUP}


def read_by_agent(at: Bench) -> list[MessageEnvelope]:
    runs = at.runtime.runs.values()
    return [
        one
        for run in runs
        for message in run.request.messages
        for one in parse_envelopes(str(message["content"]))
    ]


async def test_the_agent_reads_whom_a_message_mentions(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        text = "ask @Lena Okoro in #deploys"
        await at.adapter.hears(text, mentions=(LENA, DEPLOYS), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
        await at.adapter.hears("and Lena?", mentions=(LENA,), **GROUP)
        await at.until(lambda: len(at.adapter.texts("g1")) == 2)
    first, second = read_by_agent(at)
    assert first.mentions == (
        MentionedName("@Lena Okoro", "recording:U1"),
        MentionedName("#deploys", "recording:C1"),
    )
    assert second.mentions == (), "the text does not name her, such as after an edit"


@pytest.mark.parametrize("text", ["/role @Lena Okoro member", "role @Lena Okoro member"])
async def test_a_role_is_granted_to_the_id_of_a_mention(at: Bench, text: str) -> None:
    async with at.running():
        await at.adapter.hears(text, mentions=(LENA,), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
    assert at.adapter.texts("g1") == ["`rec:U1` now has the role **member**."]


async def test_a_name_without_a_mention_is_nobody(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi", mentions=(LENA,), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
        await at.adapter.hears("/allow @Lena", **GROUP)
        await at.until(lambda: len(at.adapter.texts("g1")) == 2)
    assert at.adapter.texts("g1")[-1].startswith("`@Lena` is not a person or group.")
