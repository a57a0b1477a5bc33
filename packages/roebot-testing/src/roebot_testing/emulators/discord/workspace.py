"""In-memory store of the emulated Discord, and creation of ids."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from roebot_testing.emulators.discord.errors import DiscordApiError, DiscordRefusal
from roebot_testing.emulators.discord.state import (
    DM,
    TEXT,
    DiscordChatChannel,
    DiscordFile,
    DiscordMessage,
    DiscordUser,
    Guild,
    Interaction,
)
from roebot_testing.emulators.link_previews import LinkPreviews

DEFAULT_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.emulated.token-for-loopback-only"  # noqa: S105 - no secret
BOT_ID = 123456789012345678
EPOCH_MS = 1_420_070_400_000
"""Discord's epoch: the first second of 2015 (docs.discord.com/developers/reference#snowflakes)."""
FIRST_PERSON = 200_000_000_000_000_000
_MENTION = re.compile(r"<@!?(\d+)>")
_SIGNS = re.compile(r"[^\w.-]", re.ASCII)


def clean_name(name: str, otherwise: str) -> str:
    """Return the name that Discord gives to a file: the signs of ASCII words of it, as werkzeug's
    `secure_filename` picks them (discord-api-docs#7754), or something else where none is left (#6945).
    """
    path = PurePosixPath(name)
    words = unicodedata.normalize("NFKD", path.stem).encode("ascii", "ignore").decode().split()
    stem = _SIGNS.sub("", "_".join(words)).strip("._")
    return f"{stem or otherwise}{_SIGNS.sub('', path.suffix)}"


@dataclass(slots=True)
class DiscordWorkspace:
    """A bot with its users and servers. `base` is the origin of attachments; with `titles` False, the server
    stores only the file names that it generates.
    """

    wall: Callable[[], float] = time.time
    base: str = ""
    titles: bool = True
    bot: DiscordUser = field(default_factory=lambda: DiscordUser(BOT_ID, "Roebot", is_bot=True))
    users: dict[int, DiscordUser] = field(default_factory=dict)
    guilds: dict[int, Guild] = field(default_factory=dict)
    channels: dict[int, DiscordChatChannel] = field(default_factory=dict)
    files: dict[str, DiscordFile] = field(default_factory=dict)
    interactions: dict[str, Interaction] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    previews: LinkPreviews = field(default_factory=LinkPreviews)
    _last_id: int = 0

    def snowflake(self) -> int:
        """Return the next id: the time, always rising."""
        wanted = (int(self.wall() * 1000) - EPOCH_MS) << 22
        self._last_id = max(wanted, self._last_id + 1)
        return self._last_id

    def user(self, user_id: int, name: str = "", *, is_bot: bool = False) -> DiscordUser:
        """Return the person with an id, created on first use."""
        if user_id == self.bot.id:
            return self.bot
        user = self.users.get(user_id)
        if user is None:
            user = self.users[user_id] = DiscordUser(user_id, name or f"Person {user_id % 10000}", is_bot)
        elif name:
            user.name = name
        return user

    def make_guild(self, name: str) -> Guild:
        """Create a server with the bot in it."""
        guild = Guild(self.snowflake(), name)
        self.guilds[guild.id] = guild
        return guild

    def make_channel(self, guild: Guild, name: str, kind: int = TEXT) -> DiscordChatChannel:
        """Create a channel of a server."""
        return self._keep(DiscordChatChannel(self.snowflake(), kind, name, guild))

    def make_thread(
        self, parent: DiscordChatChannel, name: str, owner: int, kind: int, *, id_: int = 0
    ) -> DiscordChatChannel:
        """Create a thread; one below a message has the id of the message."""
        return self._keep(
            DiscordChatChannel(id_ or self.snowflake(), kind, name, parent.guild, parent, owner=owner)
        )

    def private(self, person: DiscordUser) -> DiscordChatChannel:
        """Return the DM channel with a person, created on first use."""
        for channel in self.channels.values():
            if channel.type == DM and channel.person is person:
                return channel
        return self._keep(DiscordChatChannel(self.snowflake(), DM, "", person=person))

    def add(
        self,
        channel: DiscordChatChannel,
        sender: DiscordUser,
        text: str = "",
        *,
        id_: int = 0,
        **content: Any,
    ) -> DiscordMessage:
        """Add a message to a channel; mentions are read from its text."""
        mentioned = self.mentioned(text)
        message = DiscordMessage(
            id_ or self.snowflake(), channel, sender, text, mentions=mentioned, **content
        )
        replied = message.reply_to
        if replied is not None and replied.sender is not sender and replied.sender not in mentioned:
            message.mentions.append(replied.sender)
        channel.messages[message.id] = message
        return message

    def mentioned(self, text: str) -> list[DiscordUser]:
        """Return the people mentioned in a text."""
        return [self.user(int(found)) for found in dict.fromkeys(_MENTION.findall(text))]

    def store(self, name: str, mime: str, data: bytes, about: dict[str, Any] | None = None) -> DiscordFile:
        """Store a file; its URL has a signature, as Discord's do.

        A name with other signs than those of ASCII words is changed, and stays as the file's title
        (discord-api-docs#6945, #7754).
        """
        number = self.snowflake()
        plain, told = clean_name(name, f"{number:x}"), dict(about or {})
        if plain != name and self.titles:
            told.setdefault("title", PurePosixPath(name).stem)
        path = f"/attachments/1/{number}/{plain}"
        file = DiscordFile(number, plain, mime, data, f"{self.base}{path}?ex=1&is=1&hm={number:x}", told)
        self.files[f"/attachments/1/{number}"] = file
        return file

    def place(self, channel_id: int) -> DiscordChatChannel:
        """Return a channel that the bot may use. Raises ApiRefusal 403 or 404 as Discord would."""
        channel = self.channels.get(channel_id)
        if channel is None or channel.deleted:
            raise DiscordRefusal.UNKNOWN_CHANNEL.error()
        if channel.guild is not None and not channel.guild.present:
            raise DiscordRefusal.MISSING_ACCESS.error()
        code, reason = channel.barred
        if code:
            raise DiscordApiError(403, code, reason)
        return channel

    def guild(self, guild_id: int) -> Guild:
        """Return a server that the bot is in. Raises DiscordApiError 404."""
        guild = self.guilds.get(guild_id)
        if guild is None or not guild.present:
            raise DiscordRefusal.UNKNOWN_GUILD.error()
        return guild

    def message(self, channel: DiscordChatChannel, message_id: int) -> DiscordMessage:
        """Return a message that was not deleted. Raises ApiRefusal 404."""
        message = channel.messages.get(message_id)
        if message is None or message.deleted:
            raise DiscordRefusal.UNKNOWN_MESSAGE.error()
        return message

    def threads(self, guild: Guild) -> list[DiscordChatChannel]:
        """Return the active threads of a server."""
        return [c for c in self._of(guild) if c.parent is not None and not c.archived]

    def channels_of(self, guild: Guild) -> list[DiscordChatChannel]:
        """Return the channels of a server, without threads."""
        return [channel for channel in self._of(guild) if channel.parent is None]

    def _of(self, guild: Guild) -> list[DiscordChatChannel]:
        return [c for c in self.channels.values() if c.guild is guild and not c.deleted]

    def _keep(self, channel: DiscordChatChannel) -> DiscordChatChannel:
        self.channels[channel.id] = channel
        return channel
