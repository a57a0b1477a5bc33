"""Conversion of Bot API updates to domain messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bot.core.recent_values import RecentValues
from bot.domain import (
    ChatDescription,
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
)
from bot.platforms.payload import (
    Json,
    get_int,
    get_object,
    get_string,
    require_int,
    require_object,
)
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.inline_keyboard import TelegramClick, pressed_label
from bot.platforms.telegram.locations import is_live
from bot.platforms.telegram.message_reading import MessageContent, read_answered, read_content
from bot.platforms.telegram.names import person_sender, read_sender
from bot.platforms.telegram.quotations import (
    find_replied,
    is_by_others,
    read_topic_start,
)
from bot.platforms.telegram.reply_threads import ReplyThreads

UPDATE_KINDS = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "stopped_message_generation",
]
"""Update kinds requested from Telegram, which reports no deletions to bots."""
_CHAT_KINDS = {
    "private": ChatKind.PRIVATE,
    "group": ChatKind.GROUP,
    "supergroup": ChatKind.GROUP,
    "channel": ChatKind.GROUP,
}
_MAX_ALBUMS, _MAX_CHATS = 256, 4096

ConvertedEvent = InboundMessage | InboundChange | TelegramClick


@dataclass(frozen=True, slots=True)
class ChatMigration:
    """Conversion of a group to a supergroup with another id."""

    old: str
    new: str


class TelegramInbound:
    """Converts an account's updates. Its only state: albums addressed to the bot, chat titles, and the latest
    messages in chats that are not recorded (`is_recorded`).
    """

    def __init__(
        self,
        account: str,
        identity: TelegramIdentity,
        is_recorded: Callable[[str], bool] = lambda _chat: False,
        reaches_agent: Callable[[InboundMessage], bool] = lambda _message: True,
    ) -> None:
        self._account = account
        self._identity = identity
        self._albums: RecentValues[bool] = RecentValues(_MAX_ALBUMS)
        self._chats: RecentValues[ChatDescription] = RecentValues(_MAX_CHATS)
        self._is_recorded = is_recorded
        self._reaches_agent = reaches_agent
        self._threads = ReplyThreads()
        self._converters: Mapping[str, Callable[[Json, Json], ConvertedEvent | ChatMigration | None]] = {
            "message": self._convert_message,
            "channel_post": self._convert_message,
            "edited_message": self._convert_edit,
            "edited_channel_post": self._convert_edit,
            "callback_query": self._convert_click,
            "stopped_message_generation": self._convert_stop,
        }

    def convert(self, update: Json) -> ConvertedEvent | ChatMigration | None:
        """Convert an update; None if it has no effect. Raises Malformed."""
        for kind, read in self._converters.items():
            if kind in update:
                return read(update, require_object(update, kind))
        return None

    def describe_chat(self, chat: str) -> ChatDescription:
        """Return the description of a group that its last message contained."""
        return self._chats.get(chat) or ChatDescription()

    def forget_person(self, person: str) -> None:
        """Delete a person's group messages from memory."""
        self._threads.forget_person(person)

    def _convert_message(self, update: Json, message: Json) -> InboundMessage | ChatMigration | None:
        chat = require_object(message, "chat")
        moved = _read_migration(message, chat)
        if moved is not None:
            return moved
        kind = _CHAT_KINDS.get(get_string(chat, "type"))
        if kind is None or self._is_own(message):
            return None
        if kind is ChatKind.GROUP:
            # A group with a username can be found and read by anybody (core.telegram.org/bots/api#chat).
            visibility = "public" if chat.get("username") else "private"
            described = ChatDescription(get_string(chat, "title"), visibility=visibility)
            self._chats.put(str(require_int(chat, "id")), described)
        return self._add_earlier(self._build_message(update, message, kind))

    def _add_earlier(self, message: InboundMessage) -> InboundMessage:
        """Add the earlier messages in a group message's thread, and remember the message. Recorded chats use
        their record instead.
        """
        if message.origin.chat_kind is not ChatKind.GROUP or self._is_recorded(message.origin.chat):
            return message
        earlier = self._threads.find_earlier(message) if message.addressed else ()
        # Apps' messages to the bot are usually not answered, so the agent has not read them.
        is_told = message.addressed and not message.origin.sender.is_bot and self._reaches_agent(message)
        self._threads.remember(message, is_told=is_told)
        return replace(message, quotations=(*message.quotations, *earlier)) if earlier else message

    def _is_own(self, message: Json) -> bool:
        """Return whether the bot itself wrote a message, or its author is unknown."""
        author = get_object(message, "from")
        is_anonymous = not author and message.get("sender_chat") is None
        is_post = get_string(require_object(message, "chat"), "type") == "channel"
        return author.get("id") == self._identity.id or (is_anonymous and not is_post)

    def _convert_click(self, update: Json, query: Json) -> TelegramClick | None:
        """Convert a click to a message with the button's label.

        The label is part of the message itself, so that it survives a restart; Telegram omits messages that
        are too old.
        """
        pressed = get_object(query, "message")
        kind = _CHAT_KINDS.get(get_string(get_object(pressed, "chat"), "type"))
        if kind is None:
            return None
        chat = str(require_int(require_object(pressed, "chat"), "id"))
        message_id = str(require_int(pressed, "message_id"))
        label = pressed_label(pressed, get_string(query, "data"))
        person = require_object(query, "from")
        if not label or person.get("is_bot"):
            return TelegramClick(get_string(query, "id"), chat, message_id, None)
        sender = person_sender(person)
        topic = _read_topic(pressed)
        origin = Origin(self._account, "telegram", chat, kind, message_id, sender, topic, message_id)
        event = str(require_int(update, "update_id"))
        sent_at = float(get_int(pressed, "date"))
        clicked = InboundMessage(event, origin, label, sent_at, clicked=True)
        return TelegramClick(get_string(query, "id"), chat, message_id, clicked)

    def _convert_stop(self, update: Json, stopped: Json) -> InboundMessage:
        """Convert the stop button below a draft. Drafts only exist in private chats, whose id is the
        person's.
        """
        person = require_object(stopped, "chat")
        thread = get_int(stopped, "message_thread_id")
        origin = Origin(
            account=self._account,
            platform="telegram",
            chat=str(require_int(person, "id")),
            chat_kind=ChatKind.PRIVATE,
            message_id="",
            sender=person_sender(person),
            topic=str(thread) if thread else "",
        )
        return InboundMessage(str(require_int(update, "update_id")), origin, "/stop", 0.0)

    def _convert_edit(self, update: Json, message: Json) -> InboundChange | None:
        """Convert an edited message; if it mentions the bot for the first time, it starts a turn. A live
        location is edited with each movement; of these edits only the final one is converted.
        """
        kind = _CHAT_KINDS.get(get_string(require_object(message, "chat"), "type"))
        if kind is None or self._is_own(message) or is_live(message):
            return None
        now = self._add_earlier(self._build_message(update, message, kind))
        return InboundChange(
            event_id=now.event_id,
            origin=now.origin,
            text=now.text,
            at=float(get_int(message, "edit_date") or require_int(message, "date")),
            message=now if now.addressed else None,
            quotations=now.quotations,
            attachments=now.attachments,
            mentions=now.mentions,
        )

    def _build_message(self, update: Json, message: Json, kind: ChatKind) -> InboundMessage:
        found = read_content(message, self._identity)
        album = _read_album(message)
        addressed = self._is_addressed(message, kind, found, album)
        context = () if found.is_notice or is_by_others(message) else read_answered(message, self._identity)
        started = read_topic_start(message) if addressed and message.get("is_topic_message") else None
        return InboundMessage(
            event_id=str(require_int(update, "update_id")),
            origin=self._build_origin(message, kind),
            text=found.reading.text,
            sent_at=float(require_int(message, "date")),
            addressed=addressed,
            quotations=(*found.quotations, *context, *([started] if started is not None else [])),
            attachments=found.attachments,
            group_key=album or _group_forwarded(message),
            link=_message_link(message),
            mentions=found.reading.mentions,
            mentioned=found.reading.named,
        )

    def _build_origin(self, message: Json, kind: ChatKind) -> Origin:
        replied = find_replied(message)
        number = require_int(message, "message_id")
        return Origin(
            account=self._account,
            platform="telegram",
            chat=str(require_int(require_object(message, "chat"), "id")),
            chat_kind=kind,
            # An ephemeral message has no id that could be replied to.
            message_id=str(number) if number else "",
            sender=read_sender(message),
            topic=_read_topic(message),
            reply_to=str(require_int(replied, "message_id")) if replied else "",
        )

    def _is_addressed(self, message: Json, kind: ChatKind, found: MessageContent, album: str) -> bool:
        """Return whether a message addresses the bot. Channel posts and notices address no one in
        particular.
        """
        chat_type = get_string(require_object(message, "chat"), "type")
        if found.is_notice or chat_type == "channel" or message.get("is_automatic_forward") is True:
            return False
        if kind is ChatKind.PRIVATE:
            return True
        reading = found.reading
        to_us = get_object(find_replied(message), "from").get("id") == self._identity.id
        meant = not reading.other and (reading.named or reading.command or to_us)
        if not album:
            return meant
        if meant:
            self._albums.put(album, True)
        return album in self._albums


def _read_album(message: Json) -> str:
    """Return the id of a message's album, or "" if there is none; some servers write it as a number."""
    album = message.get("media_group_id")
    is_number = isinstance(album, int) and not isinstance(album, bool)
    return str(album) if is_number else get_string(message, "media_group_id")


def _group_forwarded(message: Json) -> str:
    """Return the key that groups forwarded messages, which arrive individually even if they were selected
    together.
    """
    return "forwarded" if is_by_others(message) and "forward_origin" in message else ""


def _read_migration(message: Json, chat: Json) -> ChatMigration | None:
    new = get_int(message, "migrate_to_chat_id")
    if new:
        return ChatMigration(str(require_int(chat, "id")), str(new))
    old = get_int(message, "migrate_from_chat_id")
    return ChatMigration(str(old), str(require_int(chat, "id"))) if old else None


def _read_topic(message: Json) -> str:
    # Supergroups without topics number their reply threads in the same field: those are no topics.
    return str(require_int(message, "message_thread_id")) if message.get("is_topic_message") else ""


def _message_link(message: Json) -> str:
    """Return the link to a message in a supergroup or channel, otherwise ""
    (core.telegram.org/api/links#message-links).
    """
    chat, number = require_object(message, "chat"), require_int(message, "message_id")
    if get_string(chat, "type") not in ("supergroup", "channel") or not number:
        return ""
    if name := get_string(chat, "username"):
        return f"https://t.me/{name}/{number}"
    return f"https://t.me/c/{str(require_int(chat, 'id')).removeprefix('-100')}/{number}"
