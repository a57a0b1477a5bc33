"""Telegram by long polling."""

from __future__ import annotations

from typing import Any, ClassVar

from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.limit_table import LIMITS
from tests.harness.wires.base import REASON, Standing, Wire

FIRST_PERSON = 1000
_BEGINNINGS = (one.error.partition("{")[0] for one in LIMITS)
_REASONS = frozenset(f"Bad Request: {begin}"[:REASON] for begin in _BEGINNINGS if begin)


class TelegramWire(Wire):
    platform: ClassVar[str] = "telegram"
    repeats: ClassVar[bool] = True
    posts: ClassVar[tuple[str, ...]] = ("sendMessage",)
    changes: ClassVar[tuple[str, ...]] = ("editMessageText",)
    uploads: ClassVar[tuple[str, ...]] = ("sendDocument",)
    rules: ClassVar[frozenset[str]] = _REASONS
    emulator: TelegramEmulator

    @classmethod
    def emulated(cls, scale: float, options: dict[str, Any]) -> Any:
        return TelegramEmulator.serve(scale=scale, **options)

    @property
    def entry(self) -> str:
        served = self.emulator
        return f'bot_token: "{served.token}", base_url: "{served.url}", rate_scale: {self.scale}'

    def connected(self) -> bool:
        return self.emulator.queue.polled

    def asks(self, text: str, *, person: int = 1, group: str = "") -> str:
        user = int(self.person(person))
        if group:
            self.emulator.people.says(
                f"@{self.emulator.world.bot.username} {text}", user=user, chat=int(group)
            )
            return group
        self.emulator.people.says(text, user=user)
        return str(user)

    def person(self, number: int) -> str:
        return str(FIRST_PERSON + number)

    def group(self) -> str:
        return str(self.emulator.people.make_group("team"))

    def standing(self, place: str) -> list[Standing]:
        chat = int(place)
        found = self.emulator.view(chat)["messages"] if chat in self.emulator.world.chats else []
        return [
            Standing(str(m["message_id"]), m["filename"] or m["text"], file=bool(m["filename"]))
            for m in found
            if m["from_bot"]
        ]

    def cut(self) -> None:
        """See Wire: the long poll ends without an answer."""
        self.emulator.cut_poll()

    def twice(self) -> None:
        self.emulator.duplicate()

    def again(self, count: int) -> None:
        self.emulator.repeat(count)

    def hold(self, count: int) -> None:
        self.emulator.hold()

    def let_go(self) -> None:
        self.emulator.let_go(reverse=True)

    def penalize(self, place: str, seconds: float) -> None:
        self.emulator.penalize(int(place), seconds)

    def removes_bot(self, group: str) -> None:
        self.emulator.people.blocks(int(group))

    def deletes(self, place: str, message_id: str) -> None:
        self.emulator.world.chats[int(place)].messages[int(message_id)].deleted = True

    def bot_says(self, text: str, group: str) -> None:
        """See Wire: Telegram shows a bot what others say only as a group's business, so it is injected."""
        bot = {"id": 777, "is_bot": True, "first_name": "Other", "username": "other_bot"}
        mention = f"@{self.emulator.world.bot.username}"
        entity = {"type": "mention", "offset": 0, "length": len(mention)}
        chat = {"id": int(group), "type": "supergroup", "title": "team"}
        message = {"message_id": 990, "date": 1, "chat": chat, "from": bot, "text": f"{mention} {text}"}
        self.emulator.inject({"message": {**message, "entities": [entity]}})

    def nonsense(self) -> int:
        broken: list[Any] = [{"something_new": {"a": 1}}, {"message": "text"}, {"message": {"chat": []}}, {}]
        for update in broken:
            self.emulator.inject(update)
        return len(broken)
