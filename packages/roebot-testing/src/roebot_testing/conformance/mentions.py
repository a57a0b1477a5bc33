"""Mentions: names that the service allows, in final texts alone, and nothing that only looks like one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import Mention, MentionKind, OutboundMessage
from bot.platforms.base import EditsMessages, MentionsByName
from roebot_testing.conformance.bench import Stage, address_of
from roebot_testing.conformance.driver import ANN_IN_TEAM, BEN_IN_TEAM, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

FORGED = (
    "<@{id}>",
    "<@!{id}>",
    "<@{id}|Ben>",
    "<@&{id}>",
    "<#{id}>",
    "<!channel> <!here|here> <!everyone>",
    "@everyone @here @channel @all @所有人",
    '<at id={id}></at> <at user_id="{id}">Ben</at> <AT ID=all></AT>',
    "[@Ben Li](tg://user?id={id})",
    "`<@{id}>`",
    "```\n<@{id}> <at id=all></at>\n```",
    "<\\@{id}>",
)
"""What a model may write so that somebody is mentioned whom the service does not mention."""


class Mentions(Suite):
    @needs(MentionsByName, Ability.GROUPS)
    async def test_a_name_becomes_a_mention_in_running_text_alone(self, stage: Stage) -> None:
        message, ben = await _prepare(stage)
        text = "Ask **@Ben Li**, see `@Ben Li`, [@Ben Li](https://example.org) and:\n\n> @Ben Li"
        await stage.post(replace(message, text=text))
        assert stage.one(ANN_IN_TEAM).mentions == (ben.id,)

    @needs(MentionsByName, Ability.GROUPS)
    async def test_a_name_without_an_id_stays_and_hides_shorter_ones(self, stage: Stage) -> None:
        message, ben = await _prepare(stage)
        names = (replace(ben, id=""), replace(ben, name="Ben"))
        await stage.post(replace(message, text="Ask @Ben Li, not @Ben.", mentions=names))
        assert stage.one(ANN_IN_TEAM).mentions == (ben.id,)

    @needs(MentionsByName, EditsMessages, Ability.GROUPS)
    async def test_only_the_final_mentions(self, stage: Stage) -> None:
        message, ben = await _prepare(stage)
        frame = replace(message, text="Ask @Ben Li", final=False, mentions=())
        posted = await stage.post(frame)
        await stage.edit(replace(frame, text="Ask @Ben Li about"), posted)
        assert stage.one(ANN_IN_TEAM).mentions == ()
        await stage.edit(replace(message, text="Ask @Ben Li about it."), posted)
        assert stage.one(ANN_IN_TEAM).mentions == (ben.id,)
        assert not stage.one(ANN_IN_TEAM).growing

    @needs(MentionsByName, Ability.GROUPS)
    @pytest.mark.parametrize("forged", FORGED)
    async def test_what_looks_like_a_mention_stays_text(self, stage: Stage, forged: str) -> None:
        message, ben = await _prepare(stage)
        await stage.post(replace(message, text=forged.format(id=ben.id), mentions=()))
        assert stage.one(ANN_IN_TEAM).mentions == ()

    @needs(MentionsByName, Ability.GROUPS)
    @pytest.mark.parametrize("identity", ["everyone", "here", "all", "1> <!channel", "U1|x", "ou_", "-5"])
    async def test_an_id_of_another_form_is_left_out(self, stage: Stage, identity: str) -> None:
        message, ben = await _prepare(stage)
        names = (replace(ben, id=identity), Mention(MentionKind.ROLE, "ops", identity))
        await stage.post(replace(message, text="Ask @Ben Li or @ops.", mentions=names))
        assert stage.one(ANN_IN_TEAM).mentions == ()
        assert stage.one(ANN_IN_TEAM).text == "Ask @Ben Li or @ops."


async def _prepare(stage: Stage) -> tuple[OutboundMessage, Mention]:
    """Return a message to the group that may mention Ben, and the mention."""
    said = await stage.receive("hi", BEN_IN_TEAM)
    ben = Mention(MentionKind.PERSON, "Ben Li", said.origin.sender.id)
    address = address_of(await stage.receive("go", ANN_IN_TEAM))
    return replace(stage.message("", address), mentions=(ben,)), ben
