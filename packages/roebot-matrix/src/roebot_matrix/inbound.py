"""Conversion of room events: messages, edits, deletions and other content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

import structlog

from bot.clock import Clock
from bot.content import Card, card, location, sticker
from bot.core.recent_values import RecentValues
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundEvent,
    InboundMessage,
    Mention,
    MentionKind,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_string, require_string
from roebot_matrix.homeserver import Homeserver

log = structlog.get_logger(__name__)

PRIVATE_PEOPLE = 2
"""A room of the bot and one person is a private chat."""
MAX_KNOWN = 512
_FILES = {
    "m.image": AttachmentKind.IMAGE,
    "m.video": AttachmentKind.VIDEO,
    "m.audio": AttachmentKind.FILE,
    "m.file": AttachmentKind.FILE,
}
_VOICE = ("org.matrix.msc3245.voice", "m.voice")
_MESSAGES = frozenset({"m.room.message", "m.sticker", "m.poll.start", "org.matrix.msc3381.poll.start"})
_REPLIED = re.compile(r"\A(?:> <[^\n]*\n)(?:>[^\n]*\n)*\n?")
"""The words that older clients put before a reply (spec: "fallbacks for rich replies", removed in v1.13)."""
_GONE = frozenset(
    {
        DeliveryCategory.NOT_FOUND,
        DeliveryCategory.PERMISSION,
        DeliveryCategory.INVALID_PAYLOAD,
        DeliveryCategory.UNKNOWN,
    }
)
"""A lookup refused for one of these reasons is refused every time, so the message is read without it."""
MAX_EVENT_ID = 255
"""Bytes of an event id (spec.matrix.org/latest/appendices/#event-ids)."""


@dataclass(frozen=True, slots=True)
class Place:
    """A room's current state."""

    room: str
    kind: ChatKind


@dataclass(frozen=True, slots=True)
class _Known:
    """Remembered data of a message that others may reply to."""

    sender: str
    text: str
    sent_at: float
    relation: Json = field(default_factory=dict)


class EventReader:
    """Reads room events of an account."""

    def __init__(self, account: str, server: Homeserver, clock: Clock) -> None:
        self._account = account
        self._server = server
        self._clock = clock
        self._known: RecentValues[_Known] = RecentValues(MAX_KNOWN)
        self._deleted: RecentValues[bool] = RecentValues(MAX_KNOWN)

    def is_deleted(self, event_id: str) -> bool:
        """Return whether one of the bot's own messages is known to be deleted."""
        return event_id in self._deleted

    async def place(self, room: str) -> Place:
        """Return a room's kind of chat. Raises DeliveryError."""
        people = await self._server.count_members(room)
        return Place(room, ChatKind.PRIVATE if people <= PRIVATE_PEOPLE else ChatKind.GROUP)

    async def read(self, place: Place, events: Sequence[Json]) -> list[InboundEvent]:
        """Return the events relevant to the bot, in order. Raises DeliveryError if a lookup fails."""
        found: list[InboundEvent] = []
        for event in events:
            try:
                read = await self._read(place, event)
            except Malformed as problem:
                log.warning("event_unreadable", account=self._account, reason=str(problem))
            else:
                found += [read] if read is not None else []
        return found

    async def _read(self, place: Place, event: Json) -> InboundEvent | None:
        kind = get_string(event, "type")
        if kind == "m.room.redaction":
            return self._read_deletion(place, event)
        if kind not in _MESSAGES or "redacted_because" in get_object(event, "unsigned"):
            return None
        content = get_object(event, "content")
        relation = get_object(content, "m.relates_to")
        if get_string(relation, "rel_type") == "m.replace":
            return await self._read_edit(place, event, _event_id(relation))
        self._remember(event)
        if require_string(event, "sender") == self._server.user:
            return None
        return await self._read_message(place, event, content, relation)

    async def _read_message(
        self, place: Place, event: Json, content: Json, relation: Json
    ) -> InboundMessage | None:
        event_id = require_string(event, "event_id")
        body, attachments, quotations = _read_content(event, content)
        reply_to = _event_id(get_object(relation, "m.in_reply_to"))
        topic = _event_id(relation) if get_string(relation, "rel_type") == "m.thread" else ""
        if relation.get("is_falling_back") is True:
            reply_to = ""
        replied = await self._find(place, reply_to) if reply_to else None
        if reply_to:
            body = _REPLIED.sub("", body, count=1)
        if replied is not None:
            quotations = (*quotations, self._quote(place, reply_to, replied))
        names = self._names_of_bot(place)
        called = _is_called(body, content, self._server.user, names)
        started = await self._find(place, topic) if topic and not called else None
        is_to_bot = any(one is not None and one.sender == self._server.user for one in (replied, started))
        return InboundMessage(
            event_id=event_id,
            origin=self._origin(place, event, event_id, topic, reply_to),
            text=(_without_call(body, names) if called else body).strip(),
            sent_at=self._time_of(event),
            addressed=place.kind is ChatKind.PRIVATE or called or is_to_bot,
            attachments=attachments,
            link=f"https://matrix.to/#/{quote(place.room)}/{quote(event_id)}",
            quotations=quotations,
            mentions=self._mentions(place, content, body),
        )

    async def _read_edit(self, place: Place, event: Json, message_id: str) -> InboundChange | None:
        """Read an edit (spec: m.replace), which only a message's author can make."""
        original = await self._find(place, message_id) if message_id else None
        if original is None or original.sender != require_string(event, "sender"):
            return None
        # The new content has no relation: thread and reply stay those of the original.
        new = get_object(get_object(event, "content"), "m.new_content")
        content = {**new, "m.relates_to": original.relation}
        edited = {**event, "event_id": message_id, "content": content}
        self._remember(edited)
        if original.sender == self._server.user:
            return None
        now = await self._read_message(place, edited, content, original.relation)
        if now is None:
            return None
        return InboundChange(
            event_id=require_string(event, "event_id"),
            origin=now.origin,
            text=now.text,
            at=self._time_of(event),
            message=replace(now, sent_at=original.sent_at) if now.addressed else None,
            mentions=now.mentions,
        )

    def _read_deletion(self, place: Place, event: Json) -> InboundChange | None:
        """Read a redaction; the location of the deleted event's id depends on the room version."""
        message_id = _event_id(event, "redacts") or _event_id(get_object(event, "content"), "redacts")
        if not message_id:
            return None
        known = self._known.pop(message_id)
        if known is not None and known.sender == self._server.user:
            self._deleted.put(message_id, True)
            return None
        sender = Sender(known.sender if known else "")
        origin = Origin(self._account, "matrix", place.room, place.kind, message_id, sender)
        at = self._time_of(event)
        return InboundChange(require_string(event, "event_id"), origin, None, at)

    def _time_of(self, event: Json) -> float:
        """Return when an event was sent (s since the epoch), or now if its homeserver's time is implausible.

        A homeserver may write any time into its events, also one that no calendar has.
        """
        at, now = get_int(event, "origin_server_ts"), self._clock.now()
        return at / 1000 if 0 <= at <= now * 1000 else now

    def _remember(self, event: Json) -> None:
        content = get_object(event, "content")
        text = _REPLIED.sub("", get_string(content, "body"), count=1)
        at = self._time_of(event)
        known = _Known(require_string(event, "sender"), text, at, get_object(content, "m.relates_to"))
        self._known.put(require_string(event, "event_id"), known)

    async def _find(self, place: Place, event_id: str) -> _Known | None:
        """Return a message, from the homeserver if unknown. Raises DeliveryError."""
        if event_id not in self._known:
            try:
                event = await self._server.event(place.room, event_id)
                self._remember({**event, "event_id": event_id})
            except DeliveryError as error:
                if error.category not in _GONE:
                    raise
            except Malformed:
                return None
        return self._known.get(event_id)

    def _quote(self, place: Place, event_id: str, known: _Known) -> Quotation:
        name = self._server.name_of(place.room, known.sender) or known.sender
        return Quotation(
            QuotationKind.REPLY, known.text, name, known.sender, sent_at=known.sent_at, message_id=event_id
        )

    def _origin(self, place: Place, event: Json, event_id: str, topic: str, reply_to: str) -> Origin:
        sender = require_string(event, "sender")
        # Spec, m.notice: what bots send, which other bots never answer.
        is_bot = get_string(get_object(event, "content"), "msgtype") == "m.notice"
        who = Sender(sender, self._server.name_of(place.room, sender), sender, is_bot)
        return Origin(self._account, "matrix", place.room, place.kind, event_id, who, topic, reply_to)

    def _names_of_bot(self, place: Place) -> tuple[str, ...]:
        user = self._server.user
        local = user[1:].partition(":")[0]
        names = {user, f"@{local}", local, self._server.name_of(place.room, user)}
        return tuple(sorted(filter(None, names), key=len, reverse=True))

    def _mentions(self, place: Place, content: Json, body: str) -> tuple[Mention, ...]:
        found = []
        for user in _mentioned(content):
            name = self._server.name_of(place.room, user)
            if user != self._server.user and name and name in body:
                found.append(Mention(MentionKind.PERSON, name, user))
        return tuple(found)


def _event_id(parent: Json, key: str = "event_id") -> str:
    """Return the event id in a relation or redaction, or "" if it is missing or invalid.

    Homeservers check neither, so the author writes what they like.
    """
    found = get_string(parent, key)
    # A NUL was replaced by U+FFFD.
    is_possible = found.startswith("$") and len(found.encode()) <= MAX_EVENT_ID and "\ufffd" not in found
    return found if is_possible else ""


def _mentioned(content: Json) -> list[str]:
    users = get_object(content, "m.mentions").get("user_ids")
    return [user for user in users if isinstance(user, str)] if isinstance(users, list) else []


def _is_called(body: str, content: Json, user: str, names: Sequence[str]) -> bool:
    """Return whether a message mentions the bot. Clients from before 2023 send no `m.mentions`."""
    if "m.mentions" in content:
        return user in _mentioned(content)
    if user in body:
        return True
    return any(re.match(rf"@?{re.escape(name)}(?:[:,]|\s|$)", body, re.I) for name in names)


def _without_call(body: str, names: Sequence[str]) -> str:
    """Return the text without the bot's name at its beginning, or after an @ anywhere."""
    for name in names:
        start = re.match(rf"\s*@?{re.escape(name)}(?:[:,]\s*|\s+|$)", body, re.I)
        if start:
            return body[start.end() :]
    for name in names:
        sign = "" if name.startswith("@") else "@"
        body = re.sub(rf"(?<!\w){sign}{re.escape(name)}(?!\w)", "", body, flags=re.I)
    return body


def _read_content(event: Json, content: Json) -> tuple[str, tuple[Attachment, ...], tuple[Quotation, ...]]:
    """Return the author's own text, the files, and other content."""
    body = get_string(content, "body")
    kind = get_string(event, "type")
    if kind == "m.sticker":
        return "", (), (sticker(body),)
    if kind != "m.room.message":
        return "", (), (_poll(content),)
    msgtype = get_string(content, "msgtype")
    if msgtype in ("m.text", "m.emote", "m.notice"):
        return body, (), ()
    if msgtype in _FILES:
        return _read_file(content, msgtype, body)
    if msgtype == "m.location":
        return "", (), (_location(content, body),)
    return "", (), (Quotation(QuotationKind.UNSUPPORTED, msgtype or kind),)


def _read_file(
    content: Json, msgtype: str, body: str
) -> tuple[str, tuple[Attachment, ...], tuple[Quotation, ...]]:
    """Read a file (spec: m.file); `body` is a caption if there is a separate file name."""
    info, address = get_object(content, "info"), get_string(content, "url")
    if not address.startswith("mxc://"):
        return "", (), (Quotation(QuotationKind.UNSUPPORTED, "encrypted file"),)
    filename = get_string(content, "filename") or body or "file"
    caption = body if body != filename else ""
    is_voice = msgtype == "m.audio" and any(key in content for key in _VOICE)
    kind = AttachmentKind.VOICE if is_voice else _FILES[msgtype]
    size = get_int(info, "size", -1)
    return caption, (Attachment(kind, filename, address, size, get_string(info, "mimetype")),), ()


def _location(content: Json, body: str) -> Quotation:
    found = re.match(r"geo:(-?[\d.]{1,20}),(-?[\d.]{1,20})", get_string(content, "geo_uri"))
    try:
        return location(float(found[1]), float(found[2]), body) if found else card(Card(body))
    except ValueError:
        return card(Card(body))


def _poll(content: Json) -> Quotation:
    """Read a poll in either format (MSC3381), using its plain text."""
    start = get_object(content, "org.matrix.msc3381.poll.start") or get_object(content, "m.poll")
    question = get_object(start, "question")
    text = get_string(question, "org.matrix.msc1767.text") or get_string(question, "body")
    return Quotation(QuotationKind.POLL, text or get_string(content, "org.matrix.msc1767.text"))
