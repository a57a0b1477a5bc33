"""Discord by its gateway."""

from __future__ import annotations

from typing import Any, ClassVar

from bot.platforms.discord.components import STOP_LABEL
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.errors import DiscordRefusal
from roebot_testing.emulators.discord.people import PERSON
from tests.harness.wires.base import Standing, Wire


class DiscordWire(Wire):
    platform: ClassVar[str] = "discord"
    posts: ClassVar[tuple[str, ...]] = ("createMessage",)
    changes: ClassVar[tuple[str, ...]] = ("editMessage",)
    uploads: ClassVar[tuple[str, ...]] = ("createMessage",)
    rules: ClassVar[frozenset[str]] = frozenset(
        text
        for status, _, text in (one.value for one in DiscordRefusal)
        if status in (400, 403, 413) and text != DiscordRefusal.ALREADY_ACKNOWLEDGED.value[2]
    )
    emulator: DiscordEmulator

    @classmethod
    def emulated(cls, scale: float, options: dict[str, Any]) -> Any:
        return DiscordEmulator.serve(scale=scale, **options)

    @property
    def entry(self) -> str:
        served = self.emulator
        return f'bot_token: "{served.token}", base_url: "{served.url}", rate_scale: {self.scale}'

    def connected(self) -> bool:
        session = self.emulator.gateway.session
        return session is not None and session.send is not None

    def asks(self, text: str, *, person: int = 1, group: str = "") -> str:
        said = f"<@{self.emulator.world.bot.id}> {text}" if group else text
        user = int(self.person(person))
        message = self.emulator.people.says(said, user=user, chat=int(group) if group else 0)
        return str(message.channel.id)

    def person(self, number: int) -> str:
        return str(PERSON + number - 1)

    def group(self) -> str:
        return str(self.emulator.people.make_group("team"))

    def standing(self, place: str) -> list[Standing]:
        found = [m for m in self.emulator.view(int(place))["messages"] if m["from_bot"]]
        return [_standing(m) for m in found]

    def cut(self) -> None:
        self.emulator.close_sockets()

    def twice(self) -> None:
        self.emulator.duplicate()

    def again(self, count: int) -> None:
        self.emulator.redeliver(count)

    def hold(self, count: int) -> None:
        self.emulator.hold()

    def let_go(self) -> None:
        self.emulator.let_go(reverse=True)

    def penalize(self, place: str, seconds: float) -> None:
        self.emulator.penalize(int(place), seconds)

    def removes_bot(self, group: str) -> None:
        self.emulator.people.bars(int(group))

    def deletes(self, place: str, message_id: str) -> None:
        self.emulator.people.deletes(int(place), int(message_id))

    def bot_says(self, text: str, group: str) -> None:
        mention = f"<@{self.emulator.world.bot.id}>"
        self.emulator.people.says(f"{mention} {text}", user=PERSON + 900, chat=int(group), is_bot=True)

    def nonsense(self) -> int:
        broken: list[Any] = [{"id": "x"}, {"id": "1", "channel_id": [], "author": None}, {}]
        self.emulator.inject("SOMETHING_NEW", {"a": 1})
        for message in broken:
            self.emulator.inject("MESSAGE_CREATE", {**message, "mentions": [], "author": {"id": "5"}})
        return len(broken) + 1


def _standing(message: dict[str, Any]) -> Standing:
    name = message["filename"]
    grows = message["thinking"] or STOP_LABEL in message["buttons"]
    return Standing(
        str(message["message_id"]), name or message["text"].strip(), grows, bool(name), message["ephemeral"]
    )
