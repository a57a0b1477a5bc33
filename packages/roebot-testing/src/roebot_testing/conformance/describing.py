"""Chat descriptions: the name of a group, or nothing if unknown."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import ChatDescription
from bot.platforms.base import DescribesChats
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import ANN_IN_TEAM, BEN_IN_TEAM, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

VISIBILITIES = ("", "public", "private")


class Describing(Suite):
    @needs(DescribesChats, Ability.GROUPS)
    async def test_a_group_has_the_same_name_for_everybody(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, DescribesChats)
        address = await stage.reply_address("hello", ANN_IN_TEAM)
        found = await stage.adapter.describe_chat(address)
        assert found.title.strip() == found.title != ""
        assert found.people >= 0
        assert found.visibility in VISIBILITIES
        again = await stage.reply_address("and me", BEN_IN_TEAM)
        assert await stage.adapter.describe_chat(again) == found

    @needs(DescribesChats, Ability.GROUPS)
    async def test_of_an_unknown_group_nothing_is_told(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, DescribesChats)
        address = replace(await stage.reply_address("hello", ANN_IN_TEAM), chat="0")
        assert await stage.adapter.describe_chat(address) == ChatDescription()
        assert not stage.running.ended

    @needs(DescribesChats, Ability.GROUPS)
    async def test_the_next_life_tells_the_same(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, DescribesChats)
        found = await stage.adapter.describe_chat(await stage.reply_address("hello", ANN_IN_TEAM))
        await stage.restart()
        assert isinstance(stage.adapter, DescribesChats)
        address = await stage.reply_address("hello again", ANN_IN_TEAM)
        assert await stage.adapter.describe_chat(address) == found
