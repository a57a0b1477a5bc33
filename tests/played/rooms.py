"""What people do and see on each platform, in the same words everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.telegram import TelegramEmulator

E = TypeVar("E", TelegramEmulator, SlackEmulator, DiscordEmulator, FeishuEmulator)
ANN, BOB = "Ann", "Bob"
ROOMS_OF_ACCOUNT = 20
"""Numbers of chats with people of their own."""
BOT = "@bot"
"""Stands in what people write for a mention of the bot."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that somebody sends."""

    name: str
    data: bytes
    mime: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as it stands: its text, names of its files, and labels of its buttons."""

    id: Any
    text: str
    files: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()
    is_open: bool = False


class Room(Protocol):
    """A private chat with the bot or, with `group`, a chat of several people."""

    account: str
    """The account in the configuration."""
    owners: Sequence[str]
    """Everybody who is called Ann, as the configuration names them."""
    is_group: bool

    async def connect(self, url: str) -> None:
        """Learn the address of the service."""
        ...

    async def enter(self, number: int, *, group: bool = False) -> Room:
        """Open another chat of the same account, with other people."""
        ...

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message; its id."""
        ...

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Forward what somebody else wrote elsewhere, as Ann."""
        ...

    async def press(self, label: str) -> None:
        """Press the button of the newest message that has it, as Ann."""
        ...

    async def read(self) -> list[Shown]:
        """Return the messages of the bot."""
        ...

    def versions(self) -> list[str]:
        """Return every text that the bot ever showed, where the platform remembers."""
        ...


class EmulatedRoom(Generic[E]):
    """What rooms on emulated platforms have in common."""

    def __init__(self, emulator: E, *, group: bool, number: int = 0) -> None:
        self.is_group = group
        self.emulator = emulator

    async def connect(self, url: str) -> None:
        """Do nothing: the emulator is reached through its address in the configuration."""

    async def enter(self, number: int, *, group: bool = False) -> Self:
        """Open another chat with other people."""
        return type(self)(self.emulator, group=group, number=number)

    def versions(self) -> list[str]:
        """Return every text that the bot ever showed."""
        return [frame.text for frame in self.emulator.transcript.of() if frame.text]


class TelegramRoom(EmulatedRoom[TelegramEmulator]):
    """Private, or a group in which the bot is mentioned."""

    def __init__(
        self,
        emulator: TelegramEmulator,
        *,
        group: bool,
        title: str = "Launch team",
        bob: str = BOB,
        number: int = 0,
    ) -> None:
        super().__init__(emulator, group=group)
        self._people = {ANN: 1001 + 10 * number, BOB: 1002 + 10 * number}
        self._names = {ANN: ANN, BOB: bob}
        self._chat = emulator.people.make_group(title) if group else 0
        self.account = f'telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'
        self.owners = [f"telegram:{1001 + 10 * at}" for at in range(ROOMS_OF_ACCOUNT)]

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message, each file as a message of its own before the text."""
        place = self._place_of(by)
        written = self._mention(text)
        for file in files:
            last = file is files[-1]
            media = {"media": "document", "data": file.data, "filename": file.name, "mime": file.mime}
            sent = self.emulator.people.says(written if last else "", **place, **media)
        if not files:
            sent = self.emulator.people.says(written, reply_to=reply_to or 0, **place)
        return sent.id

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Forward; a comment is a message before it, as Telegram's apps send it."""
        if comment:
            self.emulator.people.says(self._mention(comment), **self._place_of(ANN))
        return self.emulator.people.forwards(text, author=author, **self._place_of(ANN)).id

    async def quote(self, text: str, quoted: str, *, reply_to: Any) -> Any:
        """Reply to a message, quoting a part of it, as Ann."""
        place = self._place_of(ANN)
        return self.emulator.people.quotes(self._mention(text), quoted, reply_to=reply_to, **place).id

    async def press(self, label: str) -> None:
        """Press it."""
        for message in reversed(self._messages()):
            for row in (message["markup"] or {}).get("inline_keyboard", []):
                for button in row:
                    if button["text"] == label:
                        data = button["callback_data"]
                        self.emulator.people.presses(
                            self._place(), message["message_id"], data, user=self._people[ANN]
                        )
                        return
        raise LookupError(label)

    async def read(self) -> list[Shown]:
        """Return the messages of the bot."""
        return [
            Shown(
                one["message_id"],
                one["text"],
                (one["filename"],) if one["filename"] else (),
                tuple(
                    button["text"]
                    for row in (one["markup"] or {}).get("inline_keyboard", [])
                    for button in row
                ),
            )
            for one in self._messages()
        ]

    def _place(self) -> int:
        return self._chat or self._people[ANN]

    def _place_of(self, person: str) -> dict[str, Any]:
        return {"user": self._people[person], "name": self._names[person], "chat": self._chat}

    def _mention(self, text: str) -> str:
        return text.replace(BOT, f"@{self.emulator.world.bot.username}")

    def _messages(self) -> list[dict[str, Any]]:
        if self._place() not in self.emulator.world.chats:
            return []
        return [one for one in self.emulator.view(self._place())["messages"] if one["from_bot"]]


class SlackRoom(EmulatedRoom[SlackEmulator]):
    """A direct message, or a public channel."""

    def __init__(self, emulator: SlackEmulator, *, group: bool, number: int = 0) -> None:
        super().__init__(emulator, group=group)
        self._people = {ANN: f"U{10 * number + 1:07}", BOB: f"U{10 * number + 2:07}"}
        self._channel = emulator.people.make_channel(f"launch{number or ''}") if group else ""
        self.account = (
            f'slack: {{bot_token: "{emulator.bot_token}", app_token: "{emulator.app_token}",'
            f' base_url: "{emulator.url}"}}'
        )
        self.owners = [f"slack:U{10 * at + 1:07}" for at in range(ROOMS_OF_ACCOUNT)]

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message; a reply is written in the thread of the other message."""
        sent = self.emulator.people.says(
            text.replace(BOT, "@roebot"),
            user=self._people[by],
            name=by,
            channel=self._channel,
            thread=self._root_of(reply_to) if reply_to else "",
            files=_sent(files),
        )
        return sent.ts

    def _root_of(self, ts: str) -> str:
        """Return the message that the thread of a message began with."""
        return self.emulator.world.known(self._place()).messages[ts].thread_ts or ts

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Share a message of somebody else."""
        shared = self.emulator.people.shares(
            text,
            comment.replace(BOT, "@roebot"),
            author_name=author,
            user=self._people[ANN],
            name=ANN,
            channel=self._channel,
        )
        return shared.ts

    async def press(self, label: str) -> None:
        """Press it."""
        for message in reversed(self._messages()):
            for element in _slack_buttons(message):
                if element["text"]["text"] == label:
                    self.emulator.people.clicks(
                        self._place(),
                        message["ts"],
                        element["value"],
                        user=self._people[ANN],
                        action_id=element["action_id"],
                    )
                    return
        raise LookupError(label)

    async def read(self) -> list[Shown]:
        """Return the messages of the bot."""
        return [
            Shown(
                one["ts"],
                one["text"],
                tuple(one["files"]),
                tuple(element["text"]["text"] for element in _slack_buttons(one)),
                one["streaming"],
            )
            for one in self._messages()
        ]

    def _place(self) -> str:
        return self._channel or self.emulator.world.known(self._people[ANN]).id

    def _messages(self) -> list[dict[str, Any]]:
        try:
            found = self.emulator.view(self._channel or self._people[ANN])
        except SlackApiError:  # Ann has not written yet
            return []
        return [one for one in found["messages"] if one["from_bot"]]


class DiscordRoom(EmulatedRoom[DiscordEmulator]):
    """A direct message, or a channel of a server."""

    def __init__(self, emulator: DiscordEmulator, *, group: bool, number: int = 0) -> None:
        super().__init__(emulator, group=group)
        self._group = emulator.people.make_group("launch") if group else 0
        first = emulator.people.says.__kwdefaults__["user"]
        self._people = {ANN: first + 10 * number, BOB: first + 10 * number + 1}
        self.account = f'discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'
        self.owners = [f"discord:{first + 10 * at}" for at in range(ROOMS_OF_ACCOUNT)]

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message."""
        written = text.replace(BOT, f"<@{self.emulator.world.bot.id}>")
        place = {"user": self._people[by], "name": by, "chat": self._group}
        return self.emulator.people.says(written, files=_sent(files), reply_to=reply_to or 0, **place).id

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Forward; Discord does not name the author."""
        return self.emulator.people.forwards(text, user=self._people[ANN], name=ANN, chat=self._group).id

    async def press(self, label: str) -> None:
        """Press it."""
        [*_, message] = [one for one in self._messages() if label in one["buttons"]]
        self.emulator.people.presses(self._place(), message["message_id"], label, user=self._people[ANN])

    async def read(self) -> list[Shown]:
        """Return the messages of the bot."""
        return [
            Shown(one["message_id"], one["text"], tuple(one["files"]), tuple(one["buttons"]))
            for one in self._messages()
        ]

    def _place(self) -> int:
        return self._group or self.emulator.people.dm(self._people[ANN], ANN)

    def _messages(self) -> list[dict[str, Any]]:
        return [one for one in self.emulator.view(self._place())["messages"] if one["from_bot"]]


class FeishuRoom(EmulatedRoom[FeishuEmulator]):
    """A private chat, or a group."""

    def __init__(self, emulator: FeishuEmulator, *, group: bool, number: int = 0) -> None:
        super().__init__(emulator, group=group)
        self._group = emulator.people.make_group("Launch") if group else ""
        first = emulator.people.says.__kwdefaults__["user"]
        self._people = {ANN: f"{first}{number or ''}", BOB: f"{first}{number}z"}
        self.account = (
            f'feishu: {{app_id: "{emulator.app_id}", app_secret: "{emulator.app_secret}",'
            f' base_url: "{emulator.url}"}}'
        )
        self.owners = [f"feishu:{first}{at or ''}" for at in range(ROOMS_OF_ACCOUNT)]

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message, each file as a message of its own before the text."""
        place: dict[str, Any] = {"user": self._people[by], "name": by, "chat": self._group}
        for file in files:
            self.emulator.people.says(kind="file", data=file.data, filename=file.name, **place)
        written = text.replace(BOT, f"@{self.emulator.world.bot.name}")
        return self.emulator.people.says(written, reply_to=reply_to or "", **place).id

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Forward."""
        place: dict[str, Any] = {"user": self._people[ANN], "name": ANN, "chat": self._group}
        return self.emulator.people.forwards([text], author_name=author, **place).id

    async def press(self, label: str) -> None:
        """Press it."""
        for message in reversed(self._messages()):
            for button in message["buttons"]:
                if button["text"]["content"] == label:
                    self.emulator.people.clicks(message["message_id"], button["behaviors"][0]["value"])
                    return
        raise LookupError(label)

    async def read(self) -> list[Shown]:
        """Return the messages of the bot."""
        return [
            Shown(
                one["message_id"],
                one["text"],
                (one["content"].get("file_name", one["kind"]),) if one["kind"] in ("file", "image") else (),
                tuple(button["text"]["content"] for button in one["buttons"]),
                one["streaming"],
            )
            for one in self._messages()
        ]

    def _messages(self) -> list[dict[str, Any]]:
        chat = self._group or self.emulator.people.private_chat(self._people[ANN])
        return [one for one in self.emulator.view(chat)["messages"] if one["from_bot"]]


ROOMS: dict[str, tuple[Callable[[], AbstractAsyncContextManager[Any]], Callable[..., Room]]] = {
    "telegram": (TelegramEmulator.serve, TelegramRoom),
    "slack": (SlackEmulator.serve, SlackRoom),
    "discord": (DiscordEmulator.serve, DiscordRoom),
    "feishu": (FeishuEmulator.serve, FeishuRoom),
}


@asynccontextmanager
async def open_room(platform: str, *, group: bool = False) -> AsyncIterator[Room]:
    """Open a chat on an emulated platform, or on the page."""
    if platform == "page":
        from tests.played.page_room import PageRoom

        async with PageRoom.open() as room:
            yield room
        return
    serve, make = ROOMS[platform]
    async with serve() as emulator:
        yield make(emulator, group=group)


def _sent(files: Sequence[File]) -> list[dict[str, Any]]:
    return [{"filename": file.name, "data": file.data, "mime": file.mime} for file in files]


def _slack_buttons(message: dict[str, Any]) -> list[dict[str, Any]]:
    actions = [block for block in message["blocks"] if block["type"] == "actions"]
    return [element for block in actions for element in block["elements"] if element["type"] == "button"]
