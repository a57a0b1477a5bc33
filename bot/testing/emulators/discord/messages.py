"""Handlers for messages, typing indicators and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.testing.emulators.api import CallResult
from bot.testing.emulators.discord.calls import DiscordCall
from bot.testing.emulators.discord.components import components_of
from bot.testing.emulators.discord.errors import (
    DiscordApiError,
    empty_message,
    invalid,
    not_found,
    not_the_author,
    unknown_message,
)
from bot.testing.emulators.discord.state import (
    DEFAULT,
    LOADING,
    PUBLIC_THREAD,
    REPLY,
    DiscordChatChannel,
    DiscordMessage,
)
from bot.testing.emulators.discord.wire import channel_wire, message_wire
from bot.testing.emulators.discord.workspace import DiscordWorkspace

TEXT_LIMIT = 2000
"""Characters of a message (docs.discord.com/developers/resources/message#create-message)."""
UPLOAD_LIMIT = 10 * 1024 * 1024
"""Bytes of a request's files (docs.discord.com/developers/reference#uploading-files)."""
NONCE_LIMIT = 25
NONCE_SECONDS = 300.0
PAGE = 100
NO_EMBEDS = 1 << 2
"""SUPPRESS_EMBEDS, the only flag of these that an edit can change."""

Emit = Callable[[str, dict[str, Any]], None]


class Messages:
    """Handlers of channels; `emit` sends an event to the bot's gateway session."""

    def __init__(self, world: DiscordWorkspace, emit: Emit) -> None:
        self._world = world
        self._emit = emit
        self._nonces: dict[tuple[int, str], tuple[DiscordMessage, float]] = {}

    def create(self, call: DiscordCall) -> CallResult:
        """Create Message; a repeated nonce within five minutes returns the existing message."""
        channel = self._world.place(call.number("channel"))
        body = call.json
        text = content_of(body, call)
        nonce = str(body.get("nonce") or "")
        if len(nonce) > NONCE_LIMIT:
            raise invalid(nonce="Must be 25 or fewer in length.")
        known = self._known(channel, nonce) if body.get("enforce_nonce") else None
        if known is not None:
            return done(known)
        replied = self._replied(channel, body.get("message_reference"))
        kind, components = REPLY if replied else DEFAULT, components_of(body)
        flags = int(body.get("flags", 0)) & NO_EMBEDS
        message = self.post(
            channel, text, call, kind=kind, reply_to=replied, components=components, flags=flags
        )
        message.nonce = nonce
        if nonce:
            self._nonces[channel.id, nonce] = (message, self._world.wall())
        self._emit("MESSAGE_CREATE", message_wire(message, event=True))
        return done(message)

    def post(
        self, channel: DiscordChatChannel, text: str, call: DiscordCall, **content: Any
    ) -> DiscordMessage:
        """Put a message of the bot into a channel."""
        if sum(len(file.data) for file in call.files) > UPLOAD_LIMIT:
            raise DiscordApiError(413, 40005, "Request entity too large")
        files = [self._world.store(file.name, file.mime, file.data) for file in call.files]
        message = self._world.add(channel, self._world.bot, text, files=files, **content)
        self._embed(message)
        return message

    def edit(self, call: DiscordCall) -> CallResult:
        """Edit Message: only the bot's own."""
        channel = self._world.place(call.number("channel"))
        message = self._world.message(channel, call.number("message"))
        if message.sender is not self._world.bot:
            raise not_the_author()
        return self.change(message, call)

    def change(self, message: DiscordMessage, call: DiscordCall) -> CallResult:
        """Replace the fields that the call names, and send the event."""
        keeps = "content" not in call.json and message.text and not message.flags & LOADING
        text = message.text if keeps else content_of(call.json, call)
        if "components" in call.json:
            message.components = components_of(call.json)
        message.edited_at = self._world.wall()
        files = [self._world.store(file.name, file.mime, file.data) for file in call.files]
        if message.flags & LOADING:
            message.flags &= ~LOADING
        else:
            message.edits.append(message.text)
        message.text, message.files = text, message.files + files
        if "flags" in call.json:
            message.flags = message.flags & ~NO_EMBEDS | int(call.json["flags"]) & NO_EMBEDS
        self._embed(message)
        self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return done(message)

    def _embed(self, message: DiscordMessage) -> None:
        """Fetch the links of a message for embeds, unless its flag suppresses them."""
        if not message.flags & NO_EMBEDS:
            self._world.previews.show(message.text)

    def delete(self, call: DiscordCall) -> CallResult:
        """Delete Message: the bot's own."""
        channel = self._world.place(call.number("channel"))
        message = self._world.message(channel, call.number("message"))
        if message.sender is not self._world.bot:
            raise DiscordApiError(403, 50013, "Missing Permissions")
        self.remove(message)
        return CallResult(None, message_id=str(message.id), text=message.text)

    def remove(self, message: DiscordMessage) -> None:
        """Delete a message and send the event."""
        message.deleted = True
        gone = {"id": str(message.id), "channel_id": str(message.channel.id)}
        if message.channel.guild is not None:
            gone["guild_id"] = str(message.channel.guild.id)
        self._emit("MESSAGE_DELETE", gone)

    def get(self, call: DiscordCall) -> CallResult:
        """Get Channel Message."""
        channel = self._world.place(call.number("channel"))
        return CallResult(message_wire(self._world.message(channel, call.number("message"))))

    def list(self, call: DiscordCall) -> CallResult:
        """Get Channel Messages: newest first; `after` selects the oldest page behind an id."""
        channel = self._world.place(call.number("channel"))
        limit = min(max(int(call.query.get("limit", 50)), 1), PAGE)
        standing = sorted(number for number, message in channel.messages.items() if not message.deleted)
        if "after" in call.query:
            chosen = [number for number in standing if number > int(call.query["after"])][:limit]
        else:
            before = int(call.query.get("before", 2**63))
            chosen = [number for number in standing if number < before][-limit:]
        return CallResult([message_wire(channel.messages[number]) for number in reversed(chosen)])

    def typing(self, call: DiscordCall) -> CallResult:
        """Trigger Typing Indicator."""
        self._world.place(call.number("channel"))
        return CallResult(text="typing")

    def channel(self, call: DiscordCall) -> CallResult:
        """Get Channel."""
        return CallResult(channel_wire(self._world.place(call.number("channel"))))

    def start_thread(self, call: DiscordCall) -> CallResult:
        """Start Thread from Message: the thread has the message's id."""
        parent = self._world.place(call.number("channel"))
        message = self._world.message(parent, call.number("message"))
        if parent.guild is None:
            raise DiscordApiError(400, 50024, "Cannot execute action on this channel type")
        if message.id in self._world.channels:
            raise DiscordApiError(400, 160004, "A thread has already been created for this message")
        name = str(call.json.get("name", ""))
        if not 1 <= len(name) <= 100:
            raise invalid(name="Must be between 1 and 100 in length.")
        thread = self._world.make_thread(parent, name, self._world.bot.id, PUBLIC_THREAD, id_=message.id)
        self._emit("THREAD_CREATE", {**channel_wire(thread), "newly_created": True})
        return CallResult(channel_wire(thread), message_id=str(thread.id), text=name)

    def _known(self, channel: DiscordChatChannel, nonce: str) -> DiscordMessage | None:
        found = self._nonces.get((channel.id, nonce)) if nonce else None
        if found is None or self._world.wall() - found[1] > NONCE_SECONDS:
            return None
        if found[0].deleted:
            raise unknown_message()  # discord/discord-api-docs#6647
        return found[0]

    def _replied(self, channel: DiscordChatChannel, reference: Any) -> DiscordMessage | None:
        if not isinstance(reference, dict):
            return None
        message = channel.messages.get(int(reference.get("message_id", 0)))
        if message is not None and not message.deleted:
            return message
        if reference.get("fail_if_not_exists", True):
            raise invalid(message_reference="Unknown message")
        return None


def content_of(body: dict[str, Any], call: DiscordCall) -> str:
    """Return the text of a new message. Raises ApiRefusal 400 if it is too long or the message empty."""
    text = body.get("content") or ""
    if not isinstance(text, str):
        raise invalid(content="Could not interpret as string.")
    if len(text) > TEXT_LIMIT:
        raise invalid(content="Must be 2000 or fewer in length.")
    if not text.strip() and not call.files:
        raise empty_message()
    return text.strip()


def done(message: DiscordMessage) -> CallResult:
    """Return the result of a call that answers with a message."""
    return CallResult(message_wire(message), message_id=str(message.id), text=message.text)


def nowhere(call: DiscordCall) -> CallResult:
    """A route that there is not."""
    raise not_found()
