"""Reactions on each platform: what people see, what may be repeated, and which refusals are told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from telegram.constants import ReactionEmoji

from bot.domain import InboundMessage
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import Reacts
from bot.platforms.telegram.account import TELEGRAM_REACTIONS
from roebot_testing.conformance.bench import Stage, address_of
from roebot_testing.conformance.driver import ANN_IN_TEAM
from tests.conformance.drivers.emulated import Emulated
from tests.platforms.discord.driver import discord_by_gateway
from tests.platforms.feishu.driver import feishu_by_socket
from tests.platforms.slack.driver import slack_by_socket
from tests.platforms.telegram.driver import telegram_by_polling


def _in_chat(said: InboundMessage, chats: Any) -> Any:
    """Return the message of an emulator whose chats have numbers."""
    return chats[int(said.origin.chat)].messages[int(said.origin.message_id)]


@dataclass(frozen=True)
class Place:
    """A platform: its driver, a message there, and the reactions on it."""

    name: str
    serve: Callable[[], AbstractAsyncContextManager[Emulated]]
    find: Callable[[Any, InboundMessage], Any]
    read: Callable[[Any], list[str]]
    unknown: str
    """A reaction that the configuration takes, and the platform does not know."""


PLACES = (
    Place(
        "telegram",
        telegram_by_polling,
        lambda world, said: _in_chat(said, world.chats),
        lambda message: [message.reaction] if message.reaction else [],
        "",
    ),
    Place(
        "slack",
        slack_by_socket,
        lambda world, said: world.channels[said.origin.chat].messages[said.origin.message_id],
        lambda message: list(message.reactions),
        "no_such_emoji",
    ),
    Place(
        "discord",
        discord_by_gateway,
        lambda world, said: _in_chat(said, world.channels),
        lambda message: sorted(message.reactions),
        "party:123456789012345678",
    ),
    Place(
        "feishu",
        feishu_by_socket,
        lambda world, said: world.messages[said.origin.message_id],
        lambda message: list(message.reactions.values()),
        "NoSuchType",
    ),
)
SHOWN = {"telegram": "👀", "slack": "eyes", "discord": "👀", "feishu": "OnIt"}


@dataclass
class Room:
    """A started account and a message of a person to it, in a group."""

    place: Place
    driver: Emulated
    stage: Stage
    said: InboundMessage

    @property
    def adapter(self) -> Reacts:
        assert isinstance(self.stage.adapter, Reacts)
        return self.stage.adapter

    @property
    def message(self) -> Any:
        return self.place.find(self.driver.emulator.world, self.said)

    @property
    def shown(self) -> list[str]:
        return self.place.read(self.message)

    async def reacts(self) -> None:
        await self.adapter.react(address_of(self.said), self.said.origin.message_id)

    async def unreacts(self) -> None:
        await self.adapter.unreact(address_of(self.said), self.said.origin.message_id)

    async def refused(self) -> DeliveryError:
        with pytest.raises(DeliveryError) as error:
            await self.reacts()
        return error.value


@pytest.fixture(params=PLACES, ids=lambda place: place.name)
async def room(request: pytest.FixtureRequest) -> AsyncIterator[Room]:
    place: Place = request.param
    async with place.serve() as driver:
        stage = Stage(driver)
        await stage.running.start()
        yield Room(place, driver, stage, await stage.receive("go", ANN_IN_TEAM))
        await stage.stop()


async def test_a_reaction_is_seen_and_taken_back(room: Room) -> None:
    for _ in range(2):
        await room.reacts()
    assert room.shown == [SHOWN[room.place.name]]
    for _ in range(2):
        await room.unreacts()
    assert room.shown == []


async def test_a_message_that_is_gone_gets_none(room: Room) -> None:
    if room.place.name == "slack":
        world = room.driver.emulator.world
        del world.channels[room.said.origin.chat].messages[room.said.origin.message_id]
    else:
        room.message.deleted = True
    await room.reacts()
    await room.unreacts()


@pytest.mark.parametrize(
    "room", [place for place in PLACES if place.unknown], indirect=True, ids=lambda place: place.name
)
async def test_an_unknown_reaction_is_refused(room: Room) -> None:
    """Not on Telegram, whose reactions are all in the configuration's list."""
    await room.stage.stop()
    room.stage = Stage(room.driver, room.driver.make(reaction=room.place.unknown))
    await room.stage.running.start()
    assert (await room.refused()).category is DeliveryCategory.INVALID_PAYLOAD
    assert room.shown == []
    await room.stage.stop()


async def test_a_limit_is_told_with_its_pause(room: Room) -> None:
    room.driver.emulator.penalize(room.said.origin.chat, 3.0)
    refused = await room.refused()
    assert isinstance(refused, RateLimited) and 1.0 <= refused.retry_after <= 3.0
    assert not refused.account_wide


async def test_without_a_configured_reaction_there_is_none(room: Room) -> None:
    adapter = room.driver.make(reaction="")
    assert isinstance(adapter, Reacts)
    assert not adapter.reacts_in(address_of(room.said))


def test_telegrams_list_is_that_of_the_bot_api() -> None:
    assert {str(emoji) for emoji in ReactionEmoji} == TELEGRAM_REACTIONS
