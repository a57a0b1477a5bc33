"""Discord: by its gateway."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from bot.platforms.base import Adapter
from bot.platforms.discord.adapter import create
from bot.platforms.discord.components import STOP_LABEL
from roebot_testing.conformance import ANN, Ability, Seen, Where
from roebot_testing.conformance.viewer import read_markdown
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.components import labels
from roebot_testing.emulators.discord.people import PERSON
from roebot_testing.emulators.discord.state import DiscordMessage
from tests.conformance.drivers.emulated import Emulated, pick, pressable, signs
from tests.harness.platforms import dead_address, discord_account

BEN_ID = PERSON + 1
DISCORD = {
    Ability.CONFIRMS: "Discord is told nothing; what was missed is read from its channels",
    Ability.REPEATS: "Discord sends an event once",
    Ability.SILENCE: "a test of its own moves its clock by hand",
    Ability.EXPIRES: "an edited message stays open for ever",
    Ability.REQUESTS: "the gateway: nobody calls us",
}

_MENTION = re.compile(r"<(?:@[!&]?|#)(\d+)>")


class DiscordDriver(Emulated):
    account = "dc"
    emulator: DiscordEmulator
    methods: ClassVar[Mapping[str, Sequence[str]]] = {
        "post": ["createMessage"],
        "edit": ["editMessage"],
        "frame": ["editMessage"],
        "final": ["editMessage"],
        "file": ["createMessage"],
    }

    def __init__(self, emulator: DiscordEmulator) -> None:
        super().__init__(emulator)
        self.cannot = DISCORD
        self._penalty = 0.0
        self.secrets = [emulator.token]
        self._team = emulator.people.make_group("team")
        for user, name in ((PERSON, "Ann"), (BEN_ID, "Ben")):
            emulator.world.user(user, name)

    def make(self, **changes: Any) -> Adapter:
        return create("dc", discord_account(self.emulator, **{"reaction": "👀", **changes}))

    def refused_adapter(self) -> Adapter:
        return self.make(bot_token="another.token.that-is-wrong")

    def lost_adapter(self) -> Adapter:
        return self.make(base_url=f"{dead_address()}/api/v10")

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        named = f"<@{self.emulator.world.bot.id}> {text}" if at.team and addressed else text
        return str(self.emulator.people.says(named, user=_id(at), chat=self._team if at.team else 0).id)

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        said = self.emulator.people.says(
            text, reply_to=int(message_id), user=_id(at), chat=self._team if at.team else 0
        )
        return str(said.id)

    async def app_writes(self, text: str, at: Where) -> str:
        return str(self.emulator.people.posts(text, chat=self._team).id)

    async def forwards(self, text: str, at: Where = ANN) -> str:
        people = self.emulator.people
        return str(people.forwards(text, user=_id(at), chat=self._team if at.team else 0).id)

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        chat = self._team if at.team else 0
        said = self.emulator.people.says(user=_id(at), chat=chat, data=data, filename=filename, mime=mime)
        return str(said.id)

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        self.emulator.people.presses(self._channel(at), int(message_id), choice, user=_id(at))

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        self.emulator.people.deletes(self._channel(at), int(message_id))

    async def expels(self) -> None:
        self.emulator.people.bars(self._team)

    async def breaks(self) -> None:
        self.emulator.close_sockets()

    async def revokes(self) -> None:
        self.emulator.revoke_token()

    def limits(self, at: Where, seconds: float) -> None:
        self._penalty = seconds
        self.emulator.penalize(self._channel(at), seconds)

    def lifts(self, at: Where) -> None:
        super().lifts(at)
        self.clock.ahead += self._penalty  # the adapter has its own books of the limits

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        found = self.emulator.world.channels[self._channel(at)].messages.values()
        bot = self.emulator.world.bot
        return [self._seen(one) for one in found if one.sender is bot and not one.deleted]

    def menu(self) -> Sequence[str]:
        return [command["name"] for command in self.emulator.world.commands]

    def _seen(self, one: DiscordMessage) -> Seen:
        file = one.files[0] if one.files else None
        return self.message(
            str(one.id),
            read_markdown(one.text),
            filename=file.display_name if file else "",
            data=file.data if file else b"",
            choices=tuple(label for label in pressable(labels(one.components)) if label != STOP_LABEL),
            chosen=signs([button.get("label", "") for row in one.components for button in row["components"]]),
            mentions=tuple(_MENTION.findall(one.text)),
            growing=STOP_LABEL in labels(one.components),
        )

    def _channel(self, at: Where) -> int:
        return self._team if at.team else self.emulator.people.dm(_id(at))


def _id(at: Where) -> int:
    return int(pick(at, PERSON, BEN_ID))


@asynccontextmanager
async def discord_by_gateway() -> AsyncIterator[DiscordDriver]:
    async with DiscordEmulator.serve(limits=False) as emulator:
        yield DiscordDriver(emulator)
