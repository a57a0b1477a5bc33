"""State of the emulated Telegram: people, chats, messages, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from roebot_testing.emulators.telegram.rules import TelegramRule

PRIVATE = "private"
GROUP = "group"
SUPERGROUP = "supergroup"


@dataclass(slots=True)
class TelegramUser:
    """A person or a bot."""

    id: int
    name: str
    username: str = ""
    is_bot: bool = False
    language_code: str = ""

    def wire(self) -> dict[str, Any]:
        """The `User` object of the Bot API."""
        user: dict[str, Any] = {"id": self.id, "is_bot": self.is_bot, "first_name": self.name}
        if self.username:
            user["username"] = self.username
        if self.language_code:
            user["language_code"] = self.language_code
        return user


@dataclass(slots=True)
class TelegramFile:
    """A file on the server; `path` is its `file_path` in `getFile`."""

    file_id: str
    unique_id: str
    path: str
    name: str
    mime: str
    data: bytes = field(repr=False)


@dataclass(slots=True)
class Media:
    """The file of a message: `kind` is the key of the Bot API (photo, document, voice …)."""

    kind: str
    file: TelegramFile | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def wire(self) -> Any:
        """The value under `kind` in a `Message`."""
        if self.file is None:
            return self.extra
        common = {"file_id": self.file.file_id, "file_unique_id": self.file.unique_id}
        if self.kind == "photo":
            small = {
                **common,
                "file_id": common["file_id"] + "-s",
                "file_unique_id": common["file_unique_id"] + "s",
            }
            return [
                {**small, "width": 90, "height": 60, "file_size": min(1200, len(self.file.data))},
                {**common, "width": 1280, "height": 853, "file_size": len(self.file.data)},
            ]
        document = {**common, "file_size": len(self.file.data), "mime_type": self.file.mime}
        if self.kind in ("document", "video", "audio"):
            document["file_name"] = self.file.name
        return {**document, **self.extra}


@dataclass(frozen=True, slots=True)
class Edit:
    """An earlier text of a message and the time of its replacement (epoch seconds)."""

    text: str
    until: float


@dataclass(slots=True)
class TelegramMessage:
    """A message; `text` is the caption if there is media, `extra` are further fields of its `Message`."""

    id: int
    chat: TelegramChat
    sender: TelegramUser
    date: int
    text: str = ""
    entities: list[dict[str, Any]] = field(default_factory=list)
    media: Media | None = None
    thread_id: int = 0
    in_topic: bool = False
    reply_to: TelegramMessage | None = None
    album: str = ""
    markup: dict[str, Any] | None = None
    rich: bool = False
    edit_date: int = 0
    edits: list[Edit] = field(default_factory=list)
    deleted: bool = False
    reaction: str = ""
    service: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class TelegramChat:
    """A chat; `barred` is the rule that keeps the bot from calling methods for it, None if there is none.

    `denied` are the kinds of messages that the bot has no right to send, unless it administers the group.
    """

    id: int
    kind: str
    title: str
    username: str = ""
    is_forum: bool = False
    barred: TelegramRule | None = None
    denied: frozenset[str] = frozenset()
    is_administered: bool = False
    migrated_to: int = 0
    next_id: int = 1
    messages: dict[int, TelegramMessage] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    closed_topics: set[int] = field(default_factory=set)
    draft: str = ""
    draft_until: float = 0.0
    draft_id: int = 0
    can_stop: bool = False

    def has_topic(self, thread_id: int) -> bool:
        """Return whether the chat has a topic: forums do, and private chats (Bot API 9.3)."""
        return (self.is_forum or self.kind == PRIVATE) and thread_id in self.topics

    def wire(self) -> dict[str, Any]:
        """The `Chat` object of the Bot API."""
        chat: dict[str, Any] = {"id": self.id, "type": self.kind}
        chat["first_name" if self.kind == PRIVATE else "title"] = self.title
        if self.username:
            chat["username"] = self.username
        if self.is_forum:
            chat["is_forum"] = True
        return chat
