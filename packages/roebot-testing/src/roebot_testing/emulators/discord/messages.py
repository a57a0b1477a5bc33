"""Handlers for messages, typing indicators and threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.discord.calls import DiscordCall
from roebot_testing.emulators.discord.components import IS_COMPONENTS_V2, check_components
from roebot_testing.emulators.discord.errors import DiscordApiError, DiscordRefusal
from roebot_testing.emulators.discord.forms import FormError, check, refuse
from roebot_testing.emulators.discord.permissions import BotPermission, check_permissions, permissions_of
from roebot_testing.emulators.discord.rules import DIRECT, MESSAGE, PAGE, THREAD
from roebot_testing.emulators.discord.state import (
    COMMAND_REPLY,
    CONTEXT_COMMAND_REPLY,
    DEFAULT,
    EPHEMERAL,
    FORUM,
    LOADING,
    PUBLIC_THREAD,
    REPLY,
    TEXT,
    DiscordChatChannel,
    DiscordFile,
    DiscordMessage,
)
from roebot_testing.emulators.discord.wire import channel_wire, message_wire
from roebot_testing.emulators.discord.workspace import DiscordWorkspace
from roebot_testing.emulators.fields import Path

FILES = 10
FILE_LIMIT, REQUEST_LIMIT = 10 * 1024 * 1024, 25 * 1024 * 1024
"""Bytes of each file and of a request (docs.discord.com/developers/reference#uploading-files and
…/resources/message#create-message-limitations)."""
NONCE_SECONDS = 300.0
WRITTEN = frozenset({DEFAULT, REPLY, COMMAND_REPLY, CONTEXT_COMMAND_REPLY})
"""Types of messages that can be replied to; all others are system messages."""
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
        channel = self._place(call)
        body = call.json
        text = read_content(call)
        if channel.type == FORUM:
            raise DiscordRefusal.NOT_A_TEXT_CHANNEL.error()
        nonce = str(body.get("nonce") or "")
        known = self._known(channel, nonce) if body.get("enforce_nonce") else None
        if known is not None:
            return done(known)
        replied = self._replied(channel, body.get("message_reference"))
        self._reopen(channel)
        message = self.post(
            channel,
            text,
            call,
            kind=REPLY if replied else DEFAULT,
            reply_to=replied,
            components=body.get("components") or [],
            flags=int(body.get("flags") or 0) & (NO_EMBEDS | IS_COMPONENTS_V2),
        )
        message.nonce = nonce
        self._ping(message, body.get("allowed_mentions"))
        if nonce:
            self._nonces[channel.id, nonce] = (message, self._world.wall())
        self._emit("MESSAGE_CREATE", message_wire(message, event=True))
        return done(message)

    def post(
        self, channel: DiscordChatChannel, text: str, call: DiscordCall, **content: Any
    ) -> DiscordMessage:
        """Put a message of the bot into a channel."""
        files = self._store_files(call)
        message = self._world.add(channel, self._world.bot, text, files=files, **content)
        self._embed(message)
        return message

    def _ping(self, message: DiscordMessage, allowed: Any) -> None:
        """Notify the people mentioned in a new message, according to `allowed_mentions` (default: all), and
        the author of the replied-to message. If the latter is not pinged, they are not among the mentions
        (docs.discord.com/developers/resources/message#allowed-mentions-object).
        """
        unset = {"parse": ["users"], "replied_user": True}
        rules: dict[str, Any] = allowed if isinstance(allowed, dict) else unset
        everybody, chosen = "users" in (rules.get("parse") or []), rules.get("users") or []
        named = self._world.mentioned(message.text)
        pinged = [user.id for user in named if everybody or str(user.id) in chosen]
        replied = message.reply_to.sender if message.reply_to is not None else None
        if replied is not None and rules.get("replied_user"):
            pinged.append(replied.id)
        elif replied is not None and replied not in named:
            message.mentions.remove(replied)
        message.pinged = list(dict.fromkeys(pinged))

    def edit(self, call: DiscordCall) -> CallResult:
        """Edit Message: only the bot's own."""
        message = self._find(call)
        if message.sender is not self._world.bot:
            raise DiscordRefusal.OTHER_AUTHOR.error()
        self._check_open(message.channel)
        return self.change(message, call)

    def change(self, message: DiscordMessage, call: DiscordCall) -> CallResult:
        """Replace the fields that the call names, and send the event."""
        body = call.json
        flags = message.flags & IS_COMPONENTS_V2 | int(body.get("flags") or 0)
        keeps = "content" not in body and message.text and not message.flags & LOADING
        left = keeps or message.files or (message.components and "components" not in body)
        text = read_content(call, flags=flags, is_empty=not left)
        message.edited_at = self._world.wall()
        if "components" in body:
            message.components = body["components"] or []
        files = self._store_files(call)
        if message.flags & LOADING:
            message.flags &= ~LOADING
        else:
            message.edits.append(message.text)
        message.text, message.files = message.text if keeps else text, message.files + files
        if "flags" in body:
            message.flags = message.flags & ~NO_EMBEDS | flags & (NO_EMBEDS | IS_COMPONENTS_V2)
        self._embed(message)
        self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return done(message)

    def _store_files(self, call: DiscordCall) -> list[DiscordFile]:
        """Store a call's files with their descriptions in its body, by part number."""
        listed = call.body.get("attachments") or [] if isinstance(call.body, dict) else []
        told = {f"files[{one.get('id')}]": one for one in listed if isinstance(one, dict)}
        stored = []
        for part, file in zip(call.parts, call.files, strict=True):
            kept = ("title", "description") if self._world.titles else ("description",)
            about = {key: value for key in kept if (value := told.get(part, {}).get(key))}
            stored.append(self._world.store(file.name, file.mime, file.data, about))
        return stored

    def _embed(self, message: DiscordMessage) -> None:
        """Fetch the links of a message for embeds, unless its flag suppresses them."""
        if not message.flags & NO_EMBEDS:
            self._world.previews.show(message.text)

    def delete(self, call: DiscordCall) -> CallResult:
        """Delete Message: the bot's own, or with Manage Messages any."""
        message = self._find(call)
        manages = permissions_of(message.channel) & BotPermission.MANAGE_MESSAGES
        if message.sender is not self._world.bot and not (message.channel.guild and manages):
            raise DiscordRefusal.MISSING_PERMISSIONS.error()
        if message.channel.archived:
            raise DiscordRefusal.THREAD_ARCHIVED.error()
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
        return CallResult(message_wire(self._find(call)))

    def list(self, call: DiscordCall) -> CallResult:
        """Get Channel Messages: newest first; `after` selects the oldest page behind an id.

        Without Read Message History there are none (…/resources/message#get-channel-messages).
        """
        channel = self._place(call)
        refuse(check(PAGE, call.query))
        if channel.guild is not None and not permissions_of(channel) & BotPermission.READ_MESSAGE_HISTORY:
            return CallResult([])
        limit = int(call.query.get("limit", 50))
        standing = sorted(
            number
            for number, message in channel.messages.items()
            if not (message.deleted or message.flags & EPHEMERAL)
        )
        if "after" in call.query:
            chosen = [number for number in standing if number > int(call.query["after"])][:limit]
        else:
            before = int(call.query.get("before", 2**63))
            chosen = [number for number in standing if number < before][-limit:]
        return CallResult([message_wire(channel.messages[number]) for number in reversed(chosen)])

    def typing(self, call: DiscordCall) -> CallResult:
        """Trigger Typing Indicator."""
        self._place(call)
        return CallResult(text="typing")

    def add_reaction(self, call: DiscordCall) -> CallResult:
        """Create Reaction: an emoji of Unicode's; the same once more changes nothing."""
        message, emoji = self._find(call), call.path["emoji"]
        if emoji.isascii() or any(char.isalnum() or char.isspace() for char in emoji):
            raise DiscordRefusal.UNKNOWN_EMOJI.error()
        message.reactions.add(emoji)
        return CallResult(None, message_id=str(message.id), text=emoji)

    def remove_reaction(self, call: DiscordCall) -> CallResult:
        """Delete Own Reaction."""
        message = self._find(call)
        message.reactions.discard(call.path["emoji"])
        return CallResult(None, message_id=str(message.id))

    def channel(self, call: DiscordCall) -> CallResult:
        """Get Channel."""
        return CallResult(channel_wire(self._place(call)))

    def modify_channel(self, call: DiscordCall) -> CallResult:
        """Modify Channel, only for a thread's `archived`: any member may open it unless it is locked
        (docs.discord.com/developers/topics/threads#editing--deleting-threads).
        """
        thread = self._place(call)
        if thread.parent is None or set(call.json) - {"archived"}:
            raise DiscordApiError(501, 0, "The emulator archives and opens threads.")
        manages = permissions_of(thread) & BotPermission.MANAGE_THREADS or thread.owner == self._world.bot.id
        if (thread.locked or call.json["archived"]) and not manages:
            raise DiscordRefusal.MISSING_PERMISSIONS.error()
        thread.archived = bool(call.json["archived"])
        self._emit("THREAD_UPDATE", channel_wire(thread))
        return CallResult(channel_wire(thread))

    def open_direct(self, call: DiscordCall) -> CallResult:
        """Create DM, with a known person other than the bot."""
        refuse(check(DIRECT, call.json))
        person = self._world.users.get(int(call.json["recipient_id"]))
        if person is None:
            raise DiscordRefusal.INVALID_RECIPIENT.error()
        return CallResult(channel_wire(self._world.private(person)))

    def start_thread(self, call: DiscordCall) -> CallResult:
        """Start Thread from Message: the thread has the message's id."""
        parent = self._place(call)
        refuse(check(THREAD, call.json))
        if parent.type != TEXT:
            raise DiscordRefusal.WRONG_CHANNEL_TYPE.error()
        message = self._world.message(parent, call.number("message"))
        if message.id in self._world.channels:
            raise DiscordRefusal.THREAD_EXISTS.error()
        name = str(call.json["name"])
        thread = self._world.make_thread(parent, name, self._world.bot.id, PUBLIC_THREAD, id_=message.id)
        self._emit("THREAD_CREATE", {**channel_wire(thread), "newly_created": True})
        return CallResult(channel_wire(thread), message_id=str(thread.id), text=name)

    def _place(self, call: DiscordCall) -> DiscordChatChannel:
        """Return the channel of a call that the bot may make."""
        channel = self._world.place(call.number("channel"))
        body = call.body if isinstance(call.body, dict) else {}
        check_permissions(call.name, channel, body, files=bool(call.files))
        return channel

    def _find(self, call: DiscordCall) -> DiscordMessage:
        """Return a call's message, except private ones, which the channel does not contain."""
        message = self._world.message(self._place(call), call.number("message"))
        if message.flags & EPHEMERAL:
            raise DiscordRefusal.UNKNOWN_MESSAGE.error()
        return message

    def _check_open(self, channel: DiscordChatChannel) -> None:
        """Check that the messages of a thread may be changed."""
        if channel.locked and not permissions_of(channel) & BotPermission.MANAGE_THREADS:
            raise DiscordRefusal.THREAD_LOCKED.error()
        if channel.archived:
            raise DiscordRefusal.THREAD_ARCHIVED.error()

    def _reopen(self, channel: DiscordChatChannel) -> None:
        """Unarchive a thread that is written to, as Discord does
        (docs.discord.com/developers/topics/threads#active--archived-threads).
        """
        if channel.locked and not permissions_of(channel) & BotPermission.MANAGE_THREADS:
            raise DiscordRefusal.THREAD_LOCKED.error()
        if channel.archived:
            channel.archived = False
            self._emit("THREAD_UPDATE", channel_wire(channel))

    def _known(self, channel: DiscordChatChannel, nonce: str) -> DiscordMessage | None:
        found = self._nonces.get((channel.id, nonce)) if nonce else None
        if found is None or self._world.wall() - found[1] > NONCE_SECONDS:
            return None
        if found[0].deleted:
            raise DiscordRefusal.UNKNOWN_MESSAGE.error()  # discord/discord-api-docs#6647
        return found[0]

    def _replied(self, channel: DiscordChatChannel, reference: Any) -> DiscordMessage | None:
        if not isinstance(reference, dict):
            return None
        number = int(reference.get("message_id") or 0)
        message = channel.messages.get(number)
        if message is not None and not message.deleted:
            if message.kind not in WRITTEN:
                refuse([REPLY_TO_SYSTEM])
            return message
        elsewhere = int(reference.get("channel_id") or channel.id) != channel.id
        if elsewhere:
            refuse([REPLY_ELSEWHERE])
        if reference.get("fail_if_not_exists", True):
            refuse([REPLY_TO_NOTHING])
        return None


REPLY_TO_NOTHING = FormError(("message_reference",), "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
"""TripSit/TripBot#997"""
REPLY_TO_SYSTEM = FormError(
    ("message_reference",), "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message"
)
"""…/resources/message#create-message-limitations; text: discordjs/discord.js#6487"""
REPLY_ELSEWHERE = FormError(
    ("message_reference",),
    "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL",
    "Cannot reply to a message in a different channel",
)
"""aoijs/aoi.js#209"""
ATTACHMENT_MISSING = FormError(("attachments",), "ATTACHMENT_NOT_FOUND", "Attachment data not found")
"""docs.discord.com/developers/resources/message#attachment-object; text: Cogmasters/concord#78"""
STATE_RULES = (REPLY_TO_NOTHING, REPLY_TO_SYSTEM, REPLY_ELSEWHERE, ATTACHMENT_MISSING)
"""Form errors that depend on more than the body."""
FIRST_ID = 1 << 22
"""Ids of stored attachments are above it, numbers of new ones below."""


def read_content(
    call: DiscordCall,
    body: Any = None,
    *,
    at: Path = (),
    flags: int | None = None,
    is_empty: bool = True,
) -> str:
    """Return the text of a message after checking all its fields.

    `body` is the message if it is a part of the call's body, at the place `at`; `flags` are those that the
    message has after the call. `is_empty`: the message has no text yet. Raises DiscordApiError.
    """
    body = call.json if body is None else body
    flags = int(body.get("flags") or 0) if flags is None else flags
    found = [
        *check(MESSAGE, body, at),
        *check_components(body, flags, at),
        *_check_attachments(call, body, at),
    ]
    refuse(found)
    _check_files(call)
    text = str(body.get("content") or "").strip()
    rich = body.get("embeds") or body.get("components")
    if is_empty and not (text or rich or call.files):
        raise DiscordRefusal.EMPTY_MESSAGE.error()
    return text


def _check_attachments(call: DiscordCall, body: Any, at: Path) -> list[FormError]:
    """Return which attachments of a body have no file: the id of a new one is the number of its part."""
    found = []
    for index, one in enumerate(body.get("attachments") or []):
        number = int(one.get("id", 0))
        if number < FIRST_ID and f"files[{number}]" not in call.parts:
            found.append(replace(ATTACHMENT_MISSING, path=(*at, *ATTACHMENT_MISSING.path, index)))
    return found


def _check_files(call: DiscordCall) -> None:
    sizes = [len(file.data) for file in call.files]
    if len(sizes) > FILES:
        raise DiscordRefusal.TOO_MANY_ATTACHMENTS.error()
    if any(size > FILE_LIMIT for size in sizes) or sum(sizes) > REQUEST_LIMIT:
        raise DiscordRefusal.TOO_LARGE.error()


def done(message: DiscordMessage) -> CallResult:
    """Return the result of a call that answers with a message."""
    return CallResult(message_wire(message), message_id=str(message.id), text=message.text)
