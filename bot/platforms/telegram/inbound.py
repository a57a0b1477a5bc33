"""Updates of the Bot API become messages of the domain."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Sender,
)
from bot.platforms.payload import Json, integer, mapping, objects, optional_integer, optional_mapping, string
from bot.platforms.telegram.inline_keyboard import pressed_label
from bot.platforms.telegram.mentions import Identity, Reading, read_text

UPDATE_KINDS = ["message", "edited_message", "callback_query", "stopped_message_generation"]
"""What is asked of Telegram. It tells bots of no deletion."""
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
_ALBUMS = 256


@dataclass(frozen=True, slots=True)
class Click:
    """A button was pressed; `message` is what it means, None where it can no longer be told."""

    query: str
    chat: str
    message_id: str
    message: InboundMessage | None


@dataclass(frozen=True, slots=True)
class Migration:
    """A group has become a supergroup with another id."""

    old: str
    new: str


class Inbound:
    """Converts updates for one account. Holds nothing but which albums were meant for the bot."""

    def __init__(self, account: str, identity: Identity) -> None:
        self._account = account
        self._identity = identity
        self._albums: OrderedDict[str, None] = OrderedDict()
        self._others: Mapping[str, Callable[[Json, Json], InboundMessage | InboundChange | Click | None]] = {
            "edited_message": self._edit,
            "callback_query": self._click,
            "stopped_message_generation": self._stop,
        }

    def convert(self, update: Json) -> InboundMessage | InboundChange | Migration | Click | None:
        """The message of an update; None where it is nothing to act on. Raises Malformed."""
        if "message" in update:
            return self._said(update, mapping(update, "message"))
        for kind, read in self._others.items():
            if kind in update:
                return read(update, mapping(update, kind))
        return None

    def _said(self, update: Json, message: Json) -> InboundMessage | Migration | None:
        chat = mapping(message, "chat")
        moved = _migration(message, chat)
        if moved is not None:
            return moved
        kind = _CHAT_KINDS.get(string(chat, "type"))
        sender = optional_mapping(message, "from")
        if kind is None or not sender or sender.get("is_bot") or message.get("is_automatic_forward"):
            return None
        attachments, unsupported = _attachments(message), _unsupported(message)
        if not attachments and not unsupported and "text" not in message:
            return None
        return self._message(update, message, kind, attachments, unsupported)

    def _click(self, update: Json, query: Json) -> Click | None:
        """A click means that the person chose what the button says. The label stands in the message itself,
        so that it is known after any restart; a message that is too old comes without it.
        """
        pressed = optional_mapping(query, "message")
        kind = _CHAT_KINDS.get(string(optional_mapping(pressed, "chat"), "type"))
        if kind is None:
            return None
        chat = str(integer(mapping(pressed, "chat"), "id"))
        message_id = str(integer(pressed, "message_id"))
        label = pressed_label(pressed, string(query, "data"))
        person = mapping(query, "from")
        if not label or person.get("is_bot"):
            return Click(string(query, "id"), chat, message_id, None)
        sender = _sender(person)
        topic = _topic(pressed)
        origin = Origin(self._account, "telegram", chat, kind, message_id, sender, topic, message_id)
        event = str(integer(update, "update_id"))
        sent_at = float(optional_integer(pressed, "date"))
        clicked = InboundMessage(event, origin, label, sent_at, clicked=True)
        return Click(string(query, "id"), chat, message_id, clicked)

    def _stop(self, update: Json, stopped: Json) -> InboundMessage:
        """The stop button below a draft. Drafts are for private chats, which have the id of their person."""
        person = mapping(stopped, "chat")
        thread = optional_integer(stopped, "message_thread_id")
        origin = Origin(
            account=self._account,
            platform="telegram",
            chat=str(integer(person, "id")),
            chat_kind=ChatKind.PRIVATE,
            message_id="",
            sender=_sender(person),
            topic=str(thread) if thread else "",
        )
        return InboundMessage(str(integer(update, "update_id")), origin, "/stop", 0.0)

    def _edit(self, update: Json, message: Json) -> InboundChange | None:
        """What a message or caption says now. Live locations and the like change without a text."""
        kind = _CHAT_KINDS.get(string(mapping(message, "chat"), "type"))
        sender = optional_mapping(message, "from")
        if kind is None or not sender or sender.get("is_bot"):
            return None
        if "text" not in message and "caption" not in message:
            return None
        return InboundChange(
            event_id=str(integer(update, "update_id")),
            origin=self._origin(message, kind),
            text=read_text(message, self._identity).text,
            at=float(optional_integer(message, "edit_date") or integer(message, "date")),
        )

    def _message(
        self,
        update: Json,
        message: Json,
        kind: ChatKind,
        attachments: tuple[Attachment, ...],
        unsupported: str,
    ) -> InboundMessage:
        reading = read_text(message, self._identity)
        album = string(message, "media_group_id")
        replied = _replied(message)
        return InboundMessage(
            event_id=str(integer(update, "update_id")),
            origin=self._origin(message, kind),
            text=reading.text,
            sent_at=float(integer(message, "date")),
            addressed=kind is ChatKind.PRIVATE or self._addressed(reading, replied, album),
            attachments=attachments,
            group_key=album or _forwarded(message),
            unsupported=unsupported,
            link=_link(message),
        )

    def _origin(self, message: Json, kind: ChatKind) -> Origin:
        replied = _replied(message)
        return Origin(
            account=self._account,
            platform="telegram",
            chat=str(integer(mapping(message, "chat"), "id")),
            chat_kind=kind,
            message_id=str(integer(message, "message_id")),
            sender=_sender(mapping(message, "from")),
            topic=_topic(message),
            reply_to=str(integer(replied, "message_id")) if replied else "",
        )

    def _addressed(self, reading: Reading, replied: Json, album: str) -> bool:
        to_us = optional_mapping(replied, "from").get("id") == self._identity.id
        meant = not reading.other and (reading.named or reading.command or to_us)
        if not album:
            return meant
        if meant:
            self._albums[album] = None
            while len(self._albums) > _ALBUMS:
                self._albums.popitem(last=False)
        return album in self._albums


def _forwarded(message: Json) -> str:
    """What somebody forwards comes as one message after another, whatever was chosen together."""
    return "forwarded" if message.get("forward_origin") is not None else ""


def _migration(message: Json, chat: Json) -> Migration | None:
    new = optional_integer(message, "migrate_to_chat_id")
    if new:
        return Migration(str(integer(chat, "id")), str(new))
    old = optional_integer(message, "migrate_from_chat_id")
    return Migration(str(old), str(integer(chat, "id"))) if old else None


def _topic(message: Json) -> str:
    # Supergroups without topics number their reply threads in the same field: those are no topics.
    return str(integer(message, "message_thread_id")) if message.get("is_topic_message") else ""


def _replied(message: Json) -> Json:
    """The message that was answered; in a topic Telegram names the topic's first one where there is none."""
    replied = optional_mapping(message, "reply_to_message")
    if not replied or "forum_topic_created" in replied:
        return {}
    if message.get("is_topic_message") and replied.get("message_id") == message.get("message_thread_id"):
        return {}
    return replied


def _sender(person: Json) -> Sender:
    name = " ".join(part for part in (string(person, "first_name"), string(person, "last_name")) if part)
    return Sender(str(integer(person, "id")), name, string(person, "username"))


def _attachments(message: Json) -> tuple[Attachment, ...]:
    if message.get("photo"):
        largest = max(objects(message, "photo"), key=_weight)
        name = f"photo_{integer(message, 'message_id')}.jpg"
        return (_attachment(largest, AttachmentKind.IMAGE, name, "image/jpeg"),)
    for kind in _FILES:
        if message.get(kind) is not None:
            file = mapping(message, kind)
            name = string(file, "file_name") or f"{kind}_{integer(message, 'message_id')}"
            return (_attachment(file, AttachmentKind.FILE, name, string(file, "mime_type")),)
    return ()


def _attachment(file: Json, kind: AttachmentKind, name: str, mime: str) -> Attachment:
    ref = string(file, "file_id")
    return Attachment(kind, name, ref, optional_integer(file, "file_size", -1), mime)


def _weight(size: Json) -> tuple[int, int]:
    return optional_integer(size, "width") * optional_integer(size, "height"), optional_integer(
        size, "file_size"
    )


def _unsupported(message: Json) -> str:
    return next((kind for kind in _UNSUPPORTED if message.get(kind) is not None), "")


def _link(message: Json) -> str:
    """The address of a message of a supergroup (core.telegram.org/api/links#message-links), "" elsewhere."""
    chat, number = mapping(message, "chat"), integer(message, "message_id")
    if string(chat, "type") != "supergroup":
        return ""
    if name := string(chat, "username"):
        return f"https://t.me/{name}/{number}"
    return f"https://t.me/c/{str(integer(chat, 'id')).removeprefix('-100')}/{number}"
