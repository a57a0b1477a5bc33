"""Actions of people: messages in DMs, channels and threads, files, commands and buttons."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from roebot_testing.emulators.discord.components import press
from roebot_testing.emulators.discord.messages import Emit
from roebot_testing.emulators.discord.permissions import BotPermission, permissions_of
from roebot_testing.emulators.discord.state import (
    DEFAULT,
    FORUM,
    PRIVATE_THREAD,
    PUBLIC_THREAD,
    REPLY,
    TEXT,
    DiscordChatChannel,
    DiscordMessage,
    DiscordUser,
    Interaction,
)
from roebot_testing.emulators.discord.wire import (
    channel_wire,
    guild_wire,
    member_wire,
    message_wire,
)
from roebot_testing.emulators.discord.workspace import FIRST_PERSON, DiscordWorkspace

PERSON = FIRST_PERSON + 1001
SOURCE = FIRST_PERSON + 7000
"""Channel from which messages are forwarded; the bot is not in it."""
FORWARD = 1
"""Type of a reference (docs.discord.com/developers/resources/message#message-reference-types)."""
Record = Callable[[DiscordMessage, str], None]


class DiscordPeople:
    """Performs actions and sends the events that a bot would get; `record` writes the transcript."""

    def __init__(self, world: DiscordWorkspace, emit: Emit, record: Record) -> None:
        self._world = world
        self._emit = emit
        self._record = record

    def says(
        self,
        text: str = "",
        *,
        user: int = PERSON,
        name: str = "",
        chat: int = 0,
        reply_to: int = 0,
        files: Sequence[dict[str, Any]] = (),
        filename: str = "",
        data: bytes = b"",
        mime: str = "",
        is_bot: bool = False,
        kind: int = DEFAULT,
        id_: int = 0,
        extra: dict[str, Any] | None = None,
    ) -> DiscordMessage:
        """Send a message as a person or another bot; `chat` 0 is their DM. `<@id>` mentions somebody.

        `files` holds objects with `filename`, `data`, `mime` and `about` (further fields of the attachment);
        `extra` is merged into the message.
        """
        sender = self._world.user(user, name, is_bot=is_bot)
        place = self._world.channels[chat] if chat else self._world.private(sender)
        given = [*files, {"filename": filename, "data": data, "mime": mime}] if filename else files
        stored = [
            self._world.store(
                file["filename"],
                file.get("mime") or "application/octet-stream",
                _bytes(file["data"]),
                file.get("about"),
            )
            for file in given
        ]
        replied = place.messages.get(reply_to)
        message = self._world.add(
            place,
            sender,
            text,
            kind=REPLY if replied else kind,
            reply_to=replied,
            files=stored,
            extra=dict(extra or {}),
            id_=id_,
        )
        self._record(message, "says")
        self._emit("MESSAGE_CREATE", message_wire(message, event=True))
        return message

    def forwards(
        self, text: str = "", *, filename: str = "", data: bytes = b"", mime: str = "", **message: Any
    ) -> DiscordMessage:
        """Forward a message from another channel as a person; `message` are further arguments of `says`.

        The message itself has no content, and its snapshot no author, as on Discord.
        """
        stored = [self._world.store(filename, mime or "application/octet-stream", data)] if filename else []
        snapshot = {
            "type": DEFAULT,
            "content": text,
            "embeds": [],
            "attachments": [file.wire() for file in stored],
            "timestamp": "2026-11-25T09:00:00.000000+00:00",
            "edited_timestamp": None,
            "flags": 0,
            "components": [],
            "mentions": [],
            "mention_roles": [],
        }
        reference = {"type": FORWARD, "channel_id": str(SOURCE), "message_id": str(SOURCE + 1)}
        extra = {
            "message_reference": reference,
            "message_snapshots": [{"message": snapshot}],
            "flags": 1 << 14,
        }
        return self.says(extra=extra, **message)

    def says_many(self, messages: Sequence[dict[str, Any]]) -> list[DiscordMessage]:
        """Send several messages without a pause; each is a dict of arguments of `says`."""
        return [self.says(**message) for message in messages]

    def edits(self, chat: int, message_id: int, text: str) -> DiscordMessage:
        """Change the text of a message as its author."""
        message = self._world.channels[chat].messages[message_id]
        message.edits.append(message.text)
        message.text, message.edited_at = text, self._world.wall()
        message.mentions = self._world.mentioned(text)
        self._record(message, "edits")
        self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return message

    def previews(self, chat: int, message_id: int) -> None:
        """Add the preview of a link, which Discord sends as an edit although nobody edited."""
        message = self._world.channels[chat].messages[message_id]
        embed = {"type": "link", "url": "https://example.org/", "title": "Example"}
        self._emit("MESSAGE_UPDATE", {**message_wire(message, event=True), "embeds": [embed]})

    def marks_pinned(self, chat: int, message_id: int) -> None:
        """Send the update of a pinned message, which has the time when its author edited it last."""
        message = self._world.channels[chat].messages[message_id]
        self._emit("MESSAGE_UPDATE", {**message_wire(message, event=True), "pinned": True})

    def presses(self, chat: int, message_id: int, label: str, *, user: int = PERSON, name: str = "") -> int:
        """Press the button or choose the option with a label, or press the button with an id; return the id
        of the interaction.
        """
        place = self._world.channels[chat]
        message, person = place.messages[message_id], self._world.user(user, name)
        number, token = self._world.snowflake(), secrets.token_urlsafe(24)
        self._world.interactions[token] = Interaction(
            number, token, place, person, "", self._world.wall(), pressed=message
        )
        data = press(message.components, label)
        wire = self._interaction(number, token, person, place, data)
        self._emit("INTERACTION_CREATE", {**wire, "type": 3, "message": message_wire(message)})
        return number

    def deletes_many(self, chat: int, message_ids: Sequence[int]) -> None:
        """Delete several messages at once, as a moderator."""
        place = self._world.channels[chat]
        for number in message_ids:
            place.messages[number].deleted = True
        gone = {"ids": [str(number) for number in message_ids], "channel_id": str(chat)}
        guild = {"guild_id": str(place.guild.id)} if place.guild is not None else {}
        self._emit("MESSAGE_DELETE_BULK", {**gone, **guild})

    def deletes(self, chat: int, message_id: int) -> None:
        """Delete any message, also one of the bot."""
        message = self._world.channels[chat].messages[message_id]
        message.deleted = True
        gone = {"id": str(message_id), "channel_id": str(chat)}
        if message.channel.guild is not None:
            gone["guild_id"] = str(message.channel.guild.id)
        self._emit("MESSAGE_DELETE", gone)

    def uses(
        self, command: str, words: str = "", *, user: int = PERSON, name: str = "", chat: int = 0
    ) -> int:
        """Use an application command of the bot; return the id of the interaction."""
        options = [{"name": "text", "type": 3, "value": words}] if words else []
        return self._interact(chat, user, {"name": command, "type": 1, "options": options}, name)

    def dm(self, user: int = PERSON, name: str = "") -> int:
        """Return the id of a person's DM channel with the bot."""
        return self._world.private(self._world.user(user, name)).id

    def make_guild(self, title: str = "Guild") -> int:
        """Create a server that the bot joins; return its id."""
        guild = self._world.make_guild(title)
        self._emit("GUILD_CREATE", guild_wire(self._world, guild))
        return guild.id

    def make_channel(self, guild: int, title: str = "general", *, forum: bool = False) -> int:
        """Create a channel; return its id."""
        channel = self._world.make_channel(self._world.guilds[guild], title, FORUM if forum else TEXT)
        self._emit("CHANNEL_CREATE", channel_wire(channel))
        return channel.id

    def make_group(self, title: str = "general") -> int:
        """Create a server with one channel; return the id of the channel."""
        return self.make_channel(self.make_guild(), title)

    def make_thread(
        self,
        chat: int,
        title: str = "thread",
        *,
        message_id: int = 0,
        user: int = PERSON,
        by_bot: bool = False,
        private: bool = False,
    ) -> int:
        """Create a thread, below a message if one is named; return its id. Only those whom it was opened to
        can read a `private` one.
        """
        owner = self._world.bot.id if by_bot else self._world.user(user).id
        parent = self._world.channels[chat]
        kind = PRIVATE_THREAD if private else PUBLIC_THREAD
        thread = self._world.make_thread(parent, title, owner, kind, id_=message_id)
        self._emit("THREAD_CREATE", {**channel_wire(thread), "newly_created": True})
        return thread.id

    def removes_bot(self, guild: int) -> None:
        """Remove the bot from a server."""
        self._world.guilds[guild].present = False
        self._emit("GUILD_DELETE", {"id": str(guild)})

    def bars(self, chat: int, code: int = 50013, reason: str = "Missing Permissions") -> None:
        """Refuse the bot's calls in a channel with an error code (0: allow them again)."""
        self._world.channels[chat].barred = (code, reason)

    def denies(self, chat: int, permissions: Sequence[str]) -> None:
        """Take permissions from the bot in a channel and its threads, by the names of Discord's documents."""
        place = self._world.channels[chat]
        place.denied, place.granted = place.denied | _bits(permissions), place.granted & ~_bits(permissions)

    def permits(self, chat: int, permissions: Sequence[str]) -> None:
        """Grant the bot permissions in a channel and its threads, by the names of Discord's documents."""
        place = self._world.channels[chat]
        place.denied, place.granted = place.denied & ~_bits(permissions), place.granted | _bits(permissions)

    def archives(self, thread: int, *, locked: bool = False) -> None:
        """Archive a thread; a `locked` one can't be opened again by writing to it."""
        place = self._world.channels[thread]
        place.archived, place.locked = True, locked
        self._emit("THREAD_UPDATE", channel_wire(place))

    def removes_channel(self, chat: int) -> None:
        """Delete a channel or thread."""
        channel = self._world.channels[chat]
        channel.deleted = True
        event = "THREAD_DELETE" if channel.parent else "CHANNEL_DELETE"
        self._emit(event, channel_wire(channel))

    def _interact(self, chat: int, user: int, data: dict[str, Any], name: str = "") -> int:
        person, command = self._world.user(user, name), data["name"]
        place = self._world.channels[chat] if chat else self._world.private(person)
        number, token = self._world.snowflake(), secrets.token_urlsafe(24)
        self._world.interactions[token] = Interaction(
            number, token, place, person, command, self._world.wall()
        )
        wire = {"id": self._command_id(command), **data}
        self._emit("INTERACTION_CREATE", self._interaction(number, token, person, place, wire))
        return number

    def _interaction(
        self, number: int, token: str, person: DiscordUser, place: DiscordChatChannel, data: dict[str, Any]
    ) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "id": str(number),
            "application_id": str(self._world.bot.id),
            "type": 2,
            "data": data,
            "channel_id": str(place.id),
            "channel": channel_wire(place),
            "token": token,
            "version": 1,
            "locale": person.locale,
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10 * 1024 * 1024,
            "app_permissions": str(int(permissions_of(place))),
        }
        if place.guild is None:
            return {**wire, "user": person.wire(), "context": 1}
        member = {**member_wire(place.guild, person), "user": person.wire(), "permissions": "0"}
        return {**wire, "guild_id": str(place.guild.id), "member": member, "context": 0}

    def _command_id(self, name: str) -> str:
        known = [command["id"] for command in self._world.commands if command["name"] == name]
        return known[0] if known else str(self._world.bot.id)


def _bits(permissions: Sequence[str]) -> int:
    return sum(BotPermission[name] for name in permissions)


def _bytes(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
