"""State of the emulated Discord: people, guilds, channels, messages, files, interactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

TEXT, DM, NEWS_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 10, 11, 12, 15
THREADS = frozenset({NEWS_THREAD, PUBLIC_THREAD, PRIVATE_THREAD})
"""Channel types (docs.discord.com/developers/resources/channel#channel-object-channel-types)."""

DEFAULT, REPLY, COMMAND_REPLY, PINNED, THREAD_CREATED, THREAD_STARTER = 0, 19, 20, 6, 18, 21
CONTEXT_COMMAND_REPLY = 23
"""Message types (docs.discord.com/developers/resources/message#message-object-message-types)."""

LOADING = 1 << 7
"""Flag of a deferred answer that has no content yet."""
EPHEMERAL = 1 << 6
"""Flag of an answer that only the user of the interaction sees."""


@dataclass(slots=True)
class DiscordUser:
    """A person or a bot."""

    id: int
    name: str
    is_bot: bool = False
    roles: list[int] = field(default_factory=list)
    """Roles of the user in every server."""
    nick: str = ""
    """Nickname in every server."""
    is_guest: bool = False
    """Whether the user is a guest of every server."""
    locale: str = "en-US"
    """Language of the user's app, which only interactions contain."""

    def wire(self) -> dict[str, Any]:
        """The user object."""
        wire: dict[str, Any] = {
            "id": str(self.id),
            "username": self.name.lower().replace(" ", "_"),
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
        }
        if self.is_bot:
            wire["bot"] = True
        return wire


@dataclass(slots=True)
class Guild:
    """A server; `present` is set if the bot is in it, `available` if Discord can serve it; `roles` are role
    objects besides @everyone.
    """

    id: int
    name: str
    present: bool = True
    available: bool = True
    roles: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DiscordFile:
    """An attachment's content; `about` contains further fields, such as `description`."""

    id: int
    name: str
    mime: str
    data: bytes = field(repr=False)
    url: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        """The name that people see: the title, with the suffix of the name."""
        title, suffix = str(self.about.get("title") or ""), PurePosixPath(self.name).suffix
        return f"{title.removesuffix(suffix)}{suffix}" if title else self.name

    def wire(self) -> dict[str, Any]:
        """The attachment object."""
        return {
            "id": str(self.id),
            "filename": self.name,
            "content_type": self.mime,
            "size": len(self.data),
            "url": self.url,
            "proxy_url": self.url,
            **self.about,
        }


@dataclass(slots=True)
class DiscordMessage:
    """A message; `edits` are its earlier texts, `edited_at` is the epoch time of its last change."""

    id: int
    channel: DiscordChatChannel
    sender: DiscordUser
    text: str = ""
    kind: int = DEFAULT
    reply_to: DiscordMessage | None = None
    files: list[DiscordFile] = field(default_factory=list)
    mentions: list[DiscordUser] = field(default_factory=list)
    flags: int = 0
    nonce: str = ""
    edits: list[str] = field(default_factory=list)
    edited_at: float = 0.0
    components: list[dict[str, Any]] = field(default_factory=list)
    deleted: bool = False
    reactions: set[str] = field(default_factory=set)
    """Those of the bot."""
    pinged: list[int] = field(default_factory=list)
    """Ids of the people whom a message of the bot notified."""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class DiscordChatChannel:
    """A channel; `parent` is set for threads, `person` for a DM. `tags` are a forum's tags by id, `applied` a
    post's.

    `barred` is the error code and text for the bot's calls (0 if it may read and write). `denied` and
    `granted` are bits of the bot's permissions that differ here.
    """

    id: int
    type: int
    name: str
    guild: Guild | None = None
    parent: DiscordChatChannel | None = None
    person: DiscordUser | None = None
    owner: int = 0
    archived: bool = False
    locked: bool = False
    deleted: bool = False
    barred: tuple[int, str] = (0, "")
    denied: int = 0
    granted: int = 0
    tags: dict[int, str] = field(default_factory=dict)
    applied: list[int] = field(default_factory=list)
    messages: dict[int, DiscordMessage] = field(default_factory=dict)

    @property
    def last_message_id(self) -> str | None:
        """The newest message, deleted ones included, as Discord counts."""
        return str(max(self.messages)) if self.messages else None


@dataclass(slots=True)
class Interaction:
    """A use of an application command, or of a button of the message `pressed`; `answer` is the message of
    its response."""

    id: int
    token: str
    channel: DiscordChatChannel
    user: DiscordUser
    command: str
    made_at: float
    acknowledged: bool = False
    answer: DiscordMessage | None = None
    pressed: DiscordMessage | None = None
