"""Messages of Discord become messages of the domain; the same for the gateway's and for those read later."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from bot import content
from bot.core.recent_values import RecentValues
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.platforms.discord.channel_cache import PRIVATE_THREAD, CachedChannel, ChannelCache
from bot.platforms.discord.components import STOP, DiscordClick, pressed_label
from bot.platforms.discord.snapshots import list_files, list_snapshots, read_embeds
from bot.platforms.discord.snowflake import optional_snowflake, snowflake, snowflake_time
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    get_strings,
)
from bot.platforms.unreadable import mark_unreadable

DEFAULT, REPLY, THREAD_STARTER = 0, 19, 21
"""Message types (docs.discord.com/developers/resources/message#message-object-message-types)."""
VOICE = 1 << 13
FORWARD = 1
OURS = 200
_USER, _ROLE = re.compile(r"<@!?(\d+)>"), re.compile(r"<@&(\d+)>")


@dataclass(frozen=True, slots=True)
class DiscordIdentity:
    """The bot's own id and name."""

    id: str
    name: str


class DiscordInbound:
    """Converts messages for one account. `ours` are the threads that grew from a message of the bot."""

    def __init__(self, account: str, identity: DiscordIdentity, places: ChannelCache) -> None:
        self.own_threads: RecentValues[bool] = RecentValues(OURS)
        self._account = account
        self._identity = identity
        self._places = places

    def convert(self, message: Json, place: CachedChannel) -> InboundMessage | None:
        """Convert a message; None for one that is not from a person. Raises Malformed."""
        author = get_object(message, "author")
        kind = get_int(message, "type")
        if kind == THREAD_STARTER:
            self._note_starter(message, place)
        if kind not in (DEFAULT, REPLY) or author.get("bot") or "webhook_id" in message:
            return None
        text = self._read_text(message, place)
        attachments, unsupported = _read_attachments(message, place), _find_unsupported(message)
        forwarded = _is_forward(message)
        quoted = self._read_snapshots(message, place) if forwarded else []
        return InboundMessage(
            event_id=snowflake(message, "id"),
            origin=self._build_origin(message, place, author, "" if forwarded else _find_answered(message)),
            text=text,
            sent_at=snowflake_time(snowflake(message, "id")),
            addressed=place.guild == "" or self._is_addressed(message, place),
            attachments=(*attachments, *(file for _, files in quoted for file in files)),
            group_key="forwarded" if forwarded else "",
            quotations=(
                *(tuple(quotation for quotation, _ in quoted) or self._quote_replied(message, place)),
                *([content.unsupported(unsupported)] if unsupported else []),
            ),
            link=f"https://discord.com/channels/{place.guild}/{place.id}/{snowflake(message, 'id')}"
            if place.guild
            else "",
        )

    def convert_edit(self, message: Json, place: CachedChannel) -> InboundChange | None:
        """Convert the new text of a person's message; None for changes of others. Raises Malformed.

        Discord sends the same event when it adds a link preview: then no edit time is given.
        """
        author = get_object(message, "author")
        edited = get_string(message, "edited_timestamp")
        kind = get_int(message, "type")
        written = kind in (DEFAULT, REPLY) and author and not author.get("bot")
        if not edited or not written or "webhook_id" in message or "content" not in message:
            return None
        return InboundChange(
            event_id=f"{snowflake(message, 'id')}:{edited}",
            origin=self._build_origin(message, place, author, ""),
            text=self._read_text(message, place),
            at=_parse_time(edited),
        )

    def convert_deletion(self, number: str, place: CachedChannel, now: float) -> InboundChange:
        """Convert a deletion; Discord does not say whose message it was."""
        origin = self._build_origin({"id": number}, place, {"id": "0"}, "")
        return InboundChange(f"{number}:deleted", replace(origin, sender=Sender("")), None, now)

    def convert_click(self, interaction: Json, place: CachedChannel) -> DiscordClick:
        """Convert a click on a choice or the stop button. Raises Malformed.

        The label is read from the message in the event, so it is known after a restart too.
        """
        member = get_object(interaction, "member")
        person = get_object(member, "user") or get_object(interaction, "user")
        pressed = get_object(interaction, "message")
        number, token = snowflake(interaction, "id"), get_string(interaction, "token")
        name = get_string(get_object(interaction, "data"), "custom_id")
        label = pressed_label(pressed, name)
        if not label or not person or person.get("bot"):
            return DiscordClick(number, token, None)
        question = snowflake(pressed, "id")
        origin = self._build_origin({"id": question, "member": member}, place, person, question)
        text, chosen = ("/stop", False) if name == STOP else (label, True)
        return DiscordClick(
            number, token, InboundMessage(number, origin, text, snowflake_time(number), clicked=chosen)
        )

    def convert_command(self, interaction: Json, place: CachedChannel) -> InboundMessage | None:
        """Convert a use of one of our commands to a written message. Raises Malformed."""
        member = get_object(interaction, "member")
        author = get_object(member, "user") or get_object(interaction, "user")
        data = get_object(interaction, "data")
        name = get_string(data, "name")
        if not name or not author:
            return None
        words = [str(option.get("value", "")) for option in get_objects(data, "options")]
        interaction = {**interaction, "member": member}
        return InboundMessage(
            event_id=snowflake(interaction, "id"),
            origin=self._build_origin(interaction, place, author, ""),
            text=" ".join([f"/{name}", *(word for word in words if word)]),
            sent_at=snowflake_time(snowflake(interaction, "id")),
        )

    def note_own_thread(self, thread: str) -> None:
        """Record a thread that belongs to the bot."""
        self.own_threads.put(thread, True)

    def _build_origin(self, event: Json, place: CachedChannel, author: Json, reply_to: str) -> Origin:
        member = get_object(event, "member")
        name = get_string(member, "nick") or _read_name(author)
        thread = place.thread and bool(place.parent)
        return Origin(
            account=self._account,
            platform="discord",
            chat=place.parent if thread else place.id,
            chat_kind=ChatKind.GROUP if place.guild else ChatKind.PRIVATE,
            message_id=snowflake(event, "id"),
            sender=Sender(
                snowflake(author, "id"),
                name,
                get_string(author, "username"),
                belongs=tuple(f"role:{role}" for role in get_strings(member, "roles")),
            ),
            topic=place.id if thread else "",
            private_topic=thread and place.type == PRIVATE_THREAD,
            reply_to=reply_to,
        )

    def _read_snapshots(
        self, message: Json, place: CachedChannel
    ) -> list[tuple[Quotation, tuple[Attachment, ...]]]:
        """Return the forwarded messages with their files. Discord does not tell who wrote them
        (docs.discord.com/developers/resources/message#message-snapshot-object), and their sender can't add
        words in the same message.
        """
        found: list[tuple[Quotation, tuple[Attachment, ...]]] = []
        try:
            for inner in list_snapshots(message):
                files = _read_attachments({**inner, "id": message.get("id")}, place)
                text = self._read_text(inner, place) or read_embeds(inner)
                quotation = Quotation(QuotationKind.FORWARD, text, files=tuple(one.filename for one in files))
                found.append((quotation, files))
        except Malformed as problem:
            found.append((mark_unreadable(QuotationKind.FORWARD, problem), ()))
        return found or [(Quotation(QuotationKind.FORWARD, ""), ())]

    def _quote_replied(self, message: Json, place: CachedChannel) -> tuple[Quotation, ...]:
        try:
            return self._read_replied(message, place)
        except Malformed as problem:
            return (mark_unreadable(QuotationKind.REPLY, problem),)

    def _read_replied(self, message: Json, place: CachedChannel) -> tuple[Quotation, ...]:
        """Return the message of somebody else that is replied to. The bot's own are in its conversation, and
        a deleted one is not told (docs.discord.com/developers/resources/message#message-object). Raises
        Malformed.
        """
        optional_snowflake(get_object(message, "message_reference"), "message_id")
        replied = get_object(message, "referenced_message")
        author = get_object(replied, "author")
        if get_int(message, "type") != REPLY or not author or author.get("id") == self._identity.id:
            return ()
        contained = [replied, *list_snapshots(replied)]
        texts = [self._read_text(one, place) or read_embeds(one) for one in contained]
        kind = _find_unsupported(replied)
        text = "\n".join(filter(None, texts)) or (f"[{kind}]" if kind else "")
        files = tuple(get_string(file, "filename") for file in list_files(replied))
        if not text and not files:
            return ()
        name, number = _read_name(author), snowflake(replied, "id")
        author_id = snowflake(author, "id")
        return (Quotation(QuotationKind.REPLY, text, name, author_id, files, snowflake_time(number)),)

    def _is_addressed(self, message: Json, place: CachedChannel) -> bool:
        me = self._identity.id
        own_thread = place.thread and (place.owner == me or place.id in self.own_threads)
        if _is_forward(message):
            return own_thread  # a mention in it calls the bot in the name of its author
        if any(user.get("id") == me for user in get_objects(message, "mentions")):
            return True
        role = self._places.find_bot_role(place.guild)
        if role and role in get_strings(message, "mention_roles"):
            return True
        if get_int(message, "type") == REPLY and _find_answered_author(message) == me:
            return True
        return own_thread

    def _note_starter(self, message: Json, place: CachedChannel) -> None:
        """Record a thread that grew from one of the bot's messages."""
        first = get_object(get_object(message, "referenced_message"), "author")
        if first.get("id") == self._identity.id:
            self.note_own_thread(place.id)

    def _read_text(self, message: Json, place: CachedChannel) -> str:
        """Return the text without the bot's name, and with other people's names in place of their ids."""
        text = get_string(message, "content")
        if "<@" not in text:
            return text
        names = {
            str(user.get("id")): get_string(user, "global_name") or get_string(user, "username")
            for user in get_objects(message, "mentions")
        }
        role, me = self._places.find_bot_role(place.guild), self._identity.id
        text = _ROLE.sub(lambda found: "" if found[1] == role else found[0], text)
        text = _USER.sub(lambda found: "" if found[1] == me else f"@{names.get(found[1]) or found[1]}", text)
        return text.lstrip(" ,:\n").rstrip()


def _is_forward(message: Json) -> bool:
    """Return whether a message only holds others; what it refers to is checked where it is read."""
    reference = message.get("message_reference")
    return isinstance(reference, dict) and reference.get("type") == FORWARD


def _find_answered(message: Json) -> str:
    """Return the id of the message that is replied to, "" if there is none or it can't be read."""
    try:
        return optional_snowflake(get_object(message, "message_reference"), "message_id")
    except Malformed:
        return ""


def _find_answered_author(message: Json) -> str:
    """Return the id of the author of the message that is replied to, "" if it can't be read."""
    try:
        return get_string(get_object(get_object(message, "referenced_message"), "author"), "id")
    except Malformed:
        return ""


def _read_name(user: Json) -> str:
    return get_string(user, "global_name") or get_string(user, "username")


def _parse_time(timestamp: str) -> float:
    """Parse an ISO 8601 time to epoch seconds. Raises Malformed."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        raise Malformed("edited_timestamp is no time") from None


def _read_attachments(message: Json, place: CachedChannel) -> tuple[Attachment, ...]:
    if get_int(message, "flags") & VOICE:
        return ()
    where = f"{place.id}/{snowflake(message, 'id')}"
    return tuple(_build_attachment(file, where) for file in get_objects(message, "attachments"))


def _build_attachment(file: Json, where: str) -> Attachment:
    mime = get_string(file, "content_type").partition(";")[0]
    kind = AttachmentKind.IMAGE if mime.startswith("image/") else AttachmentKind.FILE
    number_, name = snowflake(file, "id"), get_string(file, "filename")
    return Attachment(kind, name or f"file_{number_}", f"{where}/{number_}", get_int(file, "size", -1), mime)


def _find_unsupported(message: Json) -> str:
    if get_int(message, "flags") & VOICE:
        return "voice"
    if message.get("poll") is not None:
        return "poll"
    has_text = bool(message.get("content") or message.get("attachments"))
    if message.get("sticker_items") and not has_text:
        return "sticker"
    try:
        return next(filter(None, map(_find_unsupported, list_snapshots(message))), "")
    except Malformed:
        return ""
