"""Feishu by its long connection."""

from __future__ import annotations

from typing import Any, ClassVar

from roebot_testing.emulators.feishu import FeishuEmulator
from tests.harness.wires.base import Standing, Wire


class FeishuWire(Wire):
    platform: ClassVar[str] = "feishu"
    posts: ClassVar[tuple[str, ...]] = ("card.create", "message.create")
    changes: ClassVar[tuple[str, ...]] = ("element.content", "card.settings", "card.update")
    uploads: ClassVar[tuple[str, ...]] = ("file.create", "message.create")
    emulator: FeishuEmulator

    @classmethod
    def emulated(cls, scale: float, options: dict[str, Any]) -> Any:
        return FeishuEmulator.serve(scale=scale, **options)

    @property
    def entry(self) -> str:
        served = self.emulator
        app = f'app_id: {served.app_id}, app_secret: "{served.app_secret}"'
        return f'{app}, base_url: "{served.url}", rate_scale: {self.scale}'

    def connected(self) -> bool:
        return self.emulator.socket.count > 0

    def asks(self, text: str, *, person: int = 1, group: str = "") -> str:
        user = self.person(person)
        said = f"@Roebot {text}" if group else text
        return self.emulator.people.says(said, user=user, chat=group).chat.id

    def person(self, number: int) -> str:
        return f"ou_person{number:013d}"

    def group(self) -> str:
        return self.emulator.people.make_group("team")

    def standing(self, place: str) -> list[Standing]:
        me = self.emulator.world.bot.open_id
        return [_standing(m) for m in self.emulator.view(place)["messages"] if m["sender"] == me]

    def cut(self) -> None:
        self.emulator.close_sockets()

    def twice(self) -> None:
        self.emulator.duplicate()

    def again(self, count: int) -> None:
        self.emulator.redeliver(count)

    def hold(self, count: int) -> None:
        self.emulator.stall()

    def let_go(self) -> None:
        self.emulator.release(backwards=True)

    def penalize(self, place: str, seconds: float) -> None:
        self.emulator.penalize(place, seconds)

    def removes_bot(self, group: str) -> None:
        self.emulator.people.removes_bot(group)

    def deletes(self, place: str, message_id: str) -> None:
        self.emulator.world.message(message_id).deleted = True

    def bot_says(self, text: str, group: str) -> None:
        self.emulator.people.other_bot_says(text, chat=group)

    def nonsense(self) -> int:
        kinds = ("im.something.new_v9", "im.message.receive_v1", "card.action.trigger")
        for number, kind in enumerate(kinds):
            header = {"event_id": f"nonsense{number}", "event_type": kind, "app_id": self.emulator.app_id}
            self.emulator.inject({"schema": "2.0", "header": header, "event": {"message": [number]}})
        self.emulator.inject({})
        return len(kinds) + 1


def _standing(message: dict[str, Any]) -> Standing:
    is_file = message["kind"] in ("file", "image")
    grows = message["streaming"] or bool(message["buttons"])
    return Standing(message["message_id"], message["text"].strip(), open=grows, file=is_file)
