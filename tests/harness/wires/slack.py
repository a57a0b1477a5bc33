"""Slack by Socket Mode."""

from __future__ import annotations

from typing import Any, ClassVar

from roebot_testing.emulators.slack import SlackEmulator
from tests.harness.wires.base import Standing, Wire, own


class SlackWire(Wire):
    platform: ClassVar[str] = "slack"
    posts: ClassVar[tuple[str, ...]] = ("chat.startStream", "chat.postMessage")
    changes: ClassVar[tuple[str, ...]] = ("chat.appendStream", "chat.stopStream")
    uploads: ClassVar[tuple[str, ...]] = ("files.completeUploadExternal",)
    rules: ClassVar[frozenset[str]] = frozenset(
        {
            "cannot_provide_both_markdown_text_and_chunks",
            "invalid_arguments",
            "invalid_attachments",
            "invalid_blocks",
            "invalid_blocks_format",
            "invalid_chunks",
            "invalid_cursor",
            "invalid_metadata_format",
            "invalid_metadata_schema",
            "invalid_ts_latest",
            "invalid_ts_oldest",
            "markdown_text_conflict",
            "missing_argument",
            "missing_recipient_team_id",
            "missing_recipient_user_id",
            "missing_scope",
            "msg_blocks_too_long",
            "msg_blocks_too_many",
            "msg_too_long",
            "no_text",
            "streaming_mode_mismatch",
            "user_not_in_channel",
        }
    )
    emulator: SlackEmulator

    @classmethod
    def emulated(cls, scale: float, options: dict[str, Any]) -> Any:
        return SlackEmulator.serve(scale=scale, **options)

    @property
    def entry(self) -> str:
        served = self.emulator
        tokens = f'bot_token: "{served.bot_token}", app_token: "{served.app_token}"'
        return f'{tokens}, base_url: "{served.url}", rate_scale: {self.scale}'

    def connected(self) -> bool:
        return self.emulator.socket.connections > 0

    def asks(self, text: str, *, person: int = 1, group: str = "") -> str:
        said = f"@roebot {text}" if group else text
        return self.emulator.people.says(said, user=self.person(person), channel=group).channel

    def person(self, number: int) -> str:
        return f"U{number:07d}"

    def group(self) -> str:
        return self.emulator.people.make_channel("team")

    def standing(self, place: str) -> list[Standing]:
        me = self.emulator.world.bot.id
        return [_standing(m) for m in self.emulator.view(place)["messages"] if m["user"] == me]

    def cut(self) -> None:
        self.emulator.close_sockets()

    def twice(self) -> None:
        self.emulator.duplicate()

    def again(self, count: int) -> None:
        self.emulator.redeliver(count)

    def hold(self, count: int) -> None:
        """See Wire: the emulator turns the order by itself once so many wait."""
        self.emulator.reorder(count)

    def let_go(self) -> None:
        """See Wire."""

    def penalize(self, place: str, seconds: float) -> None:
        self.emulator.penalize(place, seconds)

    def removes_bot(self, group: str) -> None:
        self.emulator.people.removes_bot(group)

    def deletes(self, place: str, message_id: str) -> None:
        del self.emulator.world.known(place).messages[message_id]

    def bot_says(self, text: str, group: str) -> None:
        self.emulator.people.other_bot_says(f"@roebot {text}", channel=group)

    def nonsense(self) -> int:
        events: list[Any] = [
            {"type": "something_new"},
            {"type": "message", "channel": 7, "ts": []},
            {"type": "message"},
            "text",
        ]
        for number, event in enumerate(events):
            self.emulator.inject(
                {"type": "event_callback", "event_id": f"Ev9{number}", "team_id": "T", "event": event}
            )
        return len(events)


def _standing(message: dict[str, Any]) -> Standing:
    files = message["files"]
    text = files[0] if files else message["text"].strip()
    if ": " in text and text.startswith("Person "):
        text = own(text, text.partition(": ")[0] + ": ")
    return Standing(
        message["ts"], text, open=message["streaming"], file=bool(files), private=bool(message["visible_to"])
    )
