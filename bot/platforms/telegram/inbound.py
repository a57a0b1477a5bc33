"""Converts updates of the Bot API to messages of the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot import content
from bot.core.recent_values import RecentValues
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatDescription,
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_int,
    require_object,
)
from bot.platforms.telegram.inline_keyboard import TelegramClick, pressed_label
from bot.platforms.telegram.quotations import is_by_others, read_quotations, read_reply
from bot.platforms.unreadable import mark_unreadable

UPDATE_KINDS = ["message", "edited_message", "callback_query", "stopped_message_generation"]
"""Update kinds requested from Telegram, which reports no deletions to bots."""
_CHAT_KINDS = {"private": ChatKind.PRIVATE, "group": ChatKind.GROUP, "supergroup": ChatKind.GROUP}
_FILES = ("document", "video", "audio", "animation")
_UNSUPPORTED = (
    "voice",
    "video_note",
    "sticker",
    "location",
    "venue",
    "poll",
    "contact",
    "dice",
    "game",
    "story",
    "checklist",
    "paid_media",
    "invoice",
    "giveaway",
    "rich_message",
)
_MAX_ALBUMS, _MAX_CHATS = 256, 4096


@dataclass(frozen=True, slots=True)
class TelegramIdentity:
    """The bot's own id and username."""

    id: int
    username: str

    @property
    def tag(self) -> str:
        """Return the bot's mention in lower case."""
        return f"@{self.username}".casefold()


@dataclass(frozen=True, slots=True)
class TelegramReceivedText:
    """A text without the bot's name.

    `named`: the bot was mentioned; `command`: the text starts with a command; `other`: that command is
    addressed to another bot.
    """

    text: str
    named: bool = False
    command: bool = False
    other: bool = False


ConvertedEvent = InboundMessage | InboundChange | TelegramClick


@dataclass(frozen=True, slots=True)
class ChatMigration:
    """A group became a supergroup with another id."""

    old: str
    new: str


class TelegramInbound:
    """Converts updates for one account. Its only state is which albums were addressed to the bot, and what
    the chats are called.
    """

    def __init__(self, account: str, identity: TelegramIdentity) -> None:
        self._account = account
        self._identity = identity
        self._albums: RecentValues[bool] = RecentValues(_MAX_ALBUMS)
        self._chats: RecentValues[ChatDescription] = RecentValues(_MAX_CHATS)
        self._converters: Mapping[str, Callable[[Json, Json], ConvertedEvent | None]] = {
            "edited_message": self._convert_edit,
            "callback_query": self._convert_click,
            "stopped_message_generation": self._convert_stop,
        }

    def convert(self, update: Json) -> ConvertedEvent | ChatMigration | None:
        """Convert an update; None where there is nothing to act on. Raises Malformed."""
        if "message" in update:
            return self._convert_message(update, require_object(update, "message"))
        for kind, read in self._converters.items():
            if kind in update:
                return read(update, require_object(update, kind))
        return None

    def describe_chat(self, chat: str) -> ChatDescription:
        """Return what the last message of a group told about it."""
        return self._chats.get(chat) or ChatDescription()

    def _convert_message(self, update: Json, message: Json) -> InboundMessage | ChatMigration | None:
        chat = require_object(message, "chat")
        moved = _read_migration(message, chat)
        if moved is not None:
            return moved
        kind = _CHAT_KINDS.get(get_string(chat, "type"))
        sender = get_object(message, "from")
        if kind is None or not sender or sender.get("is_bot") or message.get("is_automatic_forward"):
            return None
        if kind is ChatKind.GROUP:
            # A group with a username can be found and read by anybody (core.telegram.org/bots/api#chat).
            visibility = "public" if chat.get("username") else "private"
            described = ChatDescription(get_string(chat, "title"), visibility=visibility)
            self._chats.put(str(require_int(chat, "id")), described)
        attachments, unsupported = _read_attachments(message), _find_unsupported(message)
        if not attachments and not unsupported and "text" not in message:
            return None
        return self._build_message(update, message, kind, attachments, unsupported)

    def _convert_click(self, update: Json, query: Json) -> TelegramClick | None:
        """Convert a click to a message with the label of the button.

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
        sender = _build_sender(person)
        topic = _read_topic(pressed)
        origin = Origin(self._account, "telegram", chat, kind, message_id, sender, topic, message_id)
        event = str(require_int(update, "update_id"))
        sent_at = float(get_int(pressed, "date"))
        clicked = InboundMessage(event, origin, label, sent_at, clicked=True)
        return TelegramClick(get_string(query, "id"), chat, message_id, clicked)

    def _convert_stop(self, update: Json, stopped: Json) -> InboundMessage:
        """Convert the stop button below a draft. Drafts are only shown in private chats, whose id is the
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
            sender=_build_sender(person),
            topic=str(thread) if thread else "",
        )
        return InboundMessage(str(require_int(update, "update_id")), origin, "/stop", 0.0)

    def _convert_edit(self, update: Json, message: Json) -> InboundChange | None:
        """Convert the new text or caption. Live locations and the like change without a text."""
        kind = _CHAT_KINDS.get(get_string(require_object(message, "chat"), "type"))
        sender = get_object(message, "from")
        if kind is None or not sender or sender.get("is_bot") or is_by_others(message):
            return None
        if "text" not in message and "caption" not in message:
            return None
        return InboundChange(
            event_id=str(require_int(update, "update_id")),
            origin=self._build_origin(message, kind),
            text=read_text(message, self._identity).text,
            at=float(get_int(message, "edit_date") or require_int(message, "date")),
        )

    def _build_message(
        self,
        update: Json,
        message: Json,
        kind: ChatKind,
        attachments: tuple[Attachment, ...],
        unsupported: str,
    ) -> InboundMessage:
        # The words of somebody else neither call the bot nor give it commands.
        others = is_by_others(message)
        reading = TelegramReceivedText("") if others else read_text(message, self._identity)
        album = get_string(message, "media_group_id")
        replied = _find_replied(message)
        files = tuple(one.filename for one in attachments)
        return InboundMessage(
            event_id=str(require_int(update, "update_id")),
            origin=self._build_origin(message, kind),
            text=reading.text,
            sent_at=float(require_int(message, "date")),
            addressed=kind is ChatKind.PRIVATE or self._is_addressed(reading, replied, album),
            quotations=(
                *self._read_quotations(message, files),
                *([content.unsupported(unsupported)] if unsupported else []),
            ),
            attachments=attachments,
            group_key=album or _group_forwarded(message),
            link=_message_link(message),
        )

    def _read_quotations(self, message: Json, files: tuple[str, ...]) -> tuple[Quotation, ...]:
        """Return what the message quotes: what it holds of others, else the message that it answers."""
        try:
            return read_quotations(message, files) or self._quote_replied(_read_replied(message))
        except Malformed as problem:
            kind = QuotationKind.REPLY
            if is_by_others(message):
                kind = QuotationKind.FORWARD if "forward_origin" in message else QuotationKind.SHARED
            return (mark_unreadable(kind, problem, files if is_by_others(message) else ()),)

    def _quote_replied(self, replied: Json) -> tuple[Quotation, ...]:
        """Return the message of somebody else that is replied to. The bot's own are in its conversation."""
        if not replied or get_object(replied, "from").get("id") == self._identity.id:
            return ()
        files = [one.filename for one in _read_attachments(replied)]
        quotation = read_reply(replied, files, _find_unsupported(replied))
        return (quotation,) if quotation is not None else ()

    def _build_origin(self, message: Json, kind: ChatKind) -> Origin:
        replied = _find_replied(message)
        return Origin(
            account=self._account,
            platform="telegram",
            chat=str(require_int(require_object(message, "chat"), "id")),
            chat_kind=kind,
            message_id=str(require_int(message, "message_id")),
            sender=_build_sender(require_object(message, "from")),
            topic=_read_topic(message),
            reply_to=str(require_int(replied, "message_id")) if replied else "",
        )

    def _is_addressed(self, reading: TelegramReceivedText, replied: Json, album: str) -> bool:
        to_us = get_object(replied, "from").get("id") == self._identity.id
        meant = not reading.other and (reading.named or reading.command or to_us)
        if not album:
            return meant
        if meant:
            self._albums.put(album, True)
        return album in self._albums


def _group_forwarded(message: Json) -> str:
    """Forwarded messages arrive one by one, even if they were selected together."""
    return "forwarded" if message.get("forward_origin") is not None else ""


def _read_migration(message: Json, chat: Json) -> ChatMigration | None:
    new = get_int(message, "migrate_to_chat_id")
    if new:
        return ChatMigration(str(require_int(chat, "id")), str(new))
    old = get_int(message, "migrate_from_chat_id")
    return ChatMigration(str(old), str(require_int(chat, "id"))) if old else None


def _read_topic(message: Json) -> str:
    # Supergroups without topics number their reply threads in the same field: those are no topics.
    return str(require_int(message, "message_thread_id")) if message.get("is_topic_message") else ""


def _find_replied(message: Json) -> Json:
    """Return the replied-to message, empty if there is none or it can't be read."""
    try:
        return _read_replied(message)
    except Malformed:
        return {}


def _read_replied(message: Json) -> Json:
    """Return the replied-to message. In a topic Telegram names its first message where there is none. Raises
    Malformed.
    """
    replied = get_object(message, "reply_to_message")
    if not replied or "forum_topic_created" in replied:
        return {}
    require_int(replied, "message_id")
    get_object(replied, "from")
    if message.get("is_topic_message") and replied.get("message_id") == message.get("message_thread_id"):
        return {}
    return replied


def _build_sender(person: Json) -> Sender:
    name = " ".join(
        part for part in (get_string(person, "first_name"), get_string(person, "last_name")) if part
    )
    return Sender(str(require_int(person, "id")), name, get_string(person, "username"))


def _read_attachments(message: Json) -> tuple[Attachment, ...]:
    if message.get("photo"):
        largest = max(get_objects(message, "photo"), key=_photo_size)
        name = f"photo_{require_int(message, 'message_id')}.jpg"
        return (_build_attachment(largest, AttachmentKind.IMAGE, name, "image/jpeg"),)
    for kind in _FILES:
        if message.get(kind) is not None:
            file = require_object(message, kind)
            name = get_string(file, "file_name") or f"{kind}_{require_int(message, 'message_id')}"
            return (_build_attachment(file, AttachmentKind.FILE, name, get_string(file, "mime_type")),)
    return ()


def _build_attachment(file: Json, kind: AttachmentKind, name: str, mime: str) -> Attachment:
    ref = get_string(file, "file_id")
    return Attachment(kind, name, ref, get_int(file, "file_size", -1), mime)


def _photo_size(size: Json) -> tuple[int, int]:
    return get_int(size, "width") * get_int(size, "height"), get_int(size, "file_size")


def _find_unsupported(message: Json) -> str:
    return next((kind for kind in _UNSUPPORTED if message.get(kind) is not None), "")


def _message_link(message: Json) -> str:
    """Return the link to a message of a supergroup (core.telegram.org/api/links#message-links), else ""."""
    chat, number = require_object(message, "chat"), require_int(message, "message_id")
    if get_string(chat, "type") != "supergroup":
        return ""
    if name := get_string(chat, "username"):
        return f"https://t.me/{name}/{number}"
    return f"https://t.me/c/{str(require_int(chat, 'id')).removeprefix('-100')}/{number}"


def read_text(message: Json, identity: TelegramIdentity) -> TelegramReceivedText:
    """Read the text or caption of a message, without the bot's name. Raises Malformed."""
    key, entity_key = ("text", "entities") if "text" in message else ("caption", "caption_entities")
    text = get_string(message, key)
    entities = get_objects(message, entity_key)
    if not entities:
        return TelegramReceivedText(text)
    return _EntityReader(text, identity).read(entities)


class _EntityReader:
    """Applies the entities of one text; offsets count UTF-16 units."""

    def __init__(self, text: str, identity: TelegramIdentity) -> None:
        self._units = text.encode("utf-16-le")
        self._identity = identity
        self._cuts: list[tuple[int, int]] = []
        self._named = self._command = self._other = False

    def read(self, entities: list[Json]) -> TelegramReceivedText:
        for entity in entities:
            self._read_entity(entity)
        text = self._join_rest()
        return TelegramReceivedText(text, self._named, self._command, self._other)

    def _read_entity(self, entity: Json) -> None:
        kind = get_string(entity, "type")
        start, end = (
            require_int(entity, "offset"),
            require_int(entity, "offset") + require_int(entity, "length"),
        )
        if not 0 <= start < end <= len(self._units) // 2:
            return
        if kind == "bot_command":
            self._read_command(start, end)
        elif self._is_own_mention(kind, entity, start, end):
            self._cut_mention(start, end)

    def _is_own_mention(self, kind: str, entity: Json, start: int, end: int) -> bool:
        if kind == "mention":
            return self._slice_text(start, end).casefold() == self._identity.tag
        return kind == "text_mention" and get_object(entity, "user").get("id") == self._identity.id

    def _read_command(self, start: int, end: int) -> None:
        if start != 0 and not self._named:
            return
        self._command = True
        name, _, tag = self._slice_text(start, end).partition("@")
        if not tag:
            return
        if f"@{tag}".casefold() == self._identity.tag:
            self._cut_mention(start + len(name), end)
        else:
            self._other = True

    def _cut_mention(self, start: int, end: int) -> None:
        self._named = True
        self._cuts.append((start, end))

    def _slice_text(self, start: int, end: int) -> str:
        return self._units[start * 2 : end * 2].decode("utf-16-le", "replace")

    def _join_rest(self) -> str:
        rest, at = "", 0
        for start, end in sorted(self._cuts):
            before = self._slice_text(at, start)
            rest += before
            at = end
            while (not rest or rest[-1].isspace()) and self._slice_text(at, at + 1) in (" ", ",", ":"):
                at += 1
        rest += self._slice_text(at, len(self._units) // 2)
        return rest.strip() if self._cuts else rest
