"""Conversion of Discord messages to domain messages, both from the gateway and from the history."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import orjson

from bot import content
from bot.core.recent_values import RecentValues
from bot.domain import (
    Attachment,
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.platforms.discord.attachments import read_attachments
from bot.platforms.discord.channel_cache import PRIVATE_THREAD, CachedChannel
from bot.platforms.discord.contents import quote, read_contents
from bot.platforms.discord.names import (
    KnownNames,
    MessageNames,
    account_name,
    is_forward,
    list_snapshots,
    one_line,
    refers_to,
)
from bot.platforms.discord.notices import (
    COMMAND_USED,
    CONTEXT_COMMAND,
    PINNED,
    REPLY,
    THREAD_STARTER,
    WRITTEN,
    read_notice,
)
from bot.platforms.discord.snowflake import snowflake, snowflake_time
from bot.platforms.discord.times import parse_time
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

GUEST = 1 << 4
"""Flag of a member who may enter a voice channel only
(docs.discord.com/developers/resources/guild#guild-member-object-guild-member-flags)."""
NO_PREVIEWS = 1 << 2
"""Flag SUPPRESS_EMBEDS of a message."""
OURS = 200
RECENT_EDIT = 3600.0
"""Seconds within which an edit may call the bot. Discord reports pins, threads and previews with the time of
the last edit, however long ago that was.
"""
DELETED, NOT_LOADED = "[deleted message]", "[a message that can't be read]"
"""Texts in place of a message that is replied to."""


class DiscordInbound:
    """Converts messages for an account whose links lead to `site`. `own_threads` are threads started by a
    message of the bot.
    """

    def __init__(self, account: str, known: KnownNames, site: str = "https://discord.com") -> None:
        self.own_threads: RecentValues[bool] = RecentValues(OURS)
        self._account = account
        self._site = site
        self._me = known.bot.id
        self._known = known

    def convert(self, message: Json, place: CachedChannel) -> InboundMessage | None:
        """Convert a message of a person or an app, or a notice; None for the bot's own messages. Raises
        Malformed.
        """
        author = get_object(message, "author")
        kind = get_int(message, "type")
        if kind == THREAD_STARTER and self._tells_of_own(message):
            self.note_own_thread(place.id)
            return None
        if snowflake(author, "id") == self._me:
            return None
        names = self.names_in(message, place)
        if kind in WRITTEN:
            return self._convert_written(message, place, names)
        if kind == THREAD_STARTER:
            return self._build(message, place, self._quote(QuotationKind.THREAD_START, message, names))
        told = _read_notice(message, names)
        pinned = self._quote(QuotationKind.REPLY, message, names, place) if kind == PINNED else ()
        return self._build(message, place, (told, *pinned))

    def convert_edit(self, message: Json, place: CachedChannel, now: float) -> InboundChange | None:
        """Convert an edited message; None for the bot's own messages. Raises Malformed.

        Discord sends the same event when it adds or removes a preview or counts the votes of a poll, but
        without an edit time: then the change counts as old as the message, so that edits by its author come
        after it. It sends the event for pins and the like too, which change nothing that is read.
        """
        if (number := str(message.get("id"))) in self._known.messages:
            self._known.messages.put(number, message)
        edited, flags = get_string(message, "edited_timestamp"), get_int(message, "flags")
        kind = get_int(message, "type")
        if kind not in WRITTEN or "content" not in message or not message.get("author"):
            return None
        changes = edited or message.get("embeds") or message.get("poll") or flags & NO_PREVIEWS
        if not changes and kind not in (COMMAND_USED, CONTEXT_COMMAND):
            return None
        found = self.convert(message, place)
        if found is None:
            return None
        at = parse_time(edited) if edited else found.sent_at
        calls = edited and found.addressed and now - at <= RECENT_EDIT
        return InboundChange(
            event_id=f"{found.event_id}:{edited}:{_digest(found)}",
            origin=found.origin,
            text=found.text,
            at=at,
            message=found if calls else None,
            quotations=found.quotations,
            attachments=found.attachments if "attachments" in message else None,
            mentions=found.mentions,
        )

    def convert_deletion(self, number: str, place: CachedChannel, now: float) -> InboundChange:
        """Convert a deletion, for which Discord reports no author."""
        self._known.messages.pop(number)
        origin = self.build_origin({"id": number}, place, {"id": "0"})
        return InboundChange(f"{number}:deleted", replace(origin, sender=Sender("")), None, now)

    def may_be_addressed(self, message: Json, place: CachedChannel) -> bool:
        """Return whether a message is for the bot, or replies to an unknown message."""
        try:
            is_open = get_int(message, "type") == REPLY and "referenced_message" not in message
            return is_open or self._is_addressed(message, place)
        except Malformed:
            return False

    def names_in(self, message: Json, place: CachedChannel) -> MessageNames:
        """Return the names for the ids in a message."""
        return MessageNames(self._known, place, message)

    def note_own_thread(self, thread: str) -> None:
        """Record a thread as the bot's own."""
        self.own_threads.put(thread, True)

    def build_origin(self, event: Json, place: CachedChannel, author: Json, reply_to: str = "") -> Origin:
        """Return the origin of a message or an interaction. Raises Malformed."""
        member = get_object(event, "member")
        known = "" if member else self._known.find_person(place.guild, get_string(author, "id"))
        thread = place.thread and bool(place.parent)
        return Origin(
            account=self._account,
            platform="discord",
            chat=place.chat,
            chat_kind=ChatKind.GROUP if place.guild else ChatKind.PRIVATE,
            message_id=snowflake(event, "id"),
            sender=Sender(
                snowflake(author, "id"),
                known or one_line(get_string(member, "nick") or account_name(author)),
                get_string(author, "username"),
                is_bot=_is_by_app({**event, "author": author}),
                belongs=tuple(f"role:{role}" for role in get_strings(member, "roles")),
                guest=bool(get_int(member, "flags") & GUEST),
                locale=get_string(event, "locale"),
            ),
            topic=place.id if thread else "",
            private_topic=thread and place.type == PRIVATE_THREAD,
            reply_to=reply_to,
        )

    def _convert_written(self, message: Json, place: CachedChannel, names: MessageNames) -> InboundMessage:
        own = names.read_own(get_string(message, "content"))
        files, unread = _read_files(message, place)
        forwarded = self._read_snapshots(message, place, names) if is_forward(message) else []
        answered = () if forwarded else self._quote_replied(message, place, names)
        built = self._build(
            message,
            place,
            (
                *self._quote_title(message, place, names),
                *answered,
                *(quotation for quotation, _ in forwarded),
                *read_contents(message, names),
                *unread,
            ),
        )
        return replace(
            built,
            text=own.text,
            mentions=own.mentions,
            addressed=self._is_addressed(message, place),
            mentioned=self._is_mentioned(message, place),
            attachments=(*files, *(file for _, inner in forwarded for file in inner)),
            group_key="forwarded" if forwarded else "",
        )

    def _build(
        self, message: Json, place: CachedChannel, quotations: tuple[Quotation, ...]
    ) -> InboundMessage:
        """Return a message without text by its author, not addressed to the bot."""
        number = snowflake(message, "id")
        answered = _find_answered(message) if get_int(message, "type") in (REPLY, CONTEXT_COMMAND) else ""
        link = f"{self._site}/channels/{place.guild}/{place.id}/{number}"
        return InboundMessage(
            event_id=number,
            origin=self.build_origin(message, place, get_object(message, "author"), answered),
            text="",
            sent_at=snowflake_time(number),
            addressed=False,
            quotations=quotations,
            link=link if place.guild else "",
        )

    def _read_snapshots(
        self, message: Json, place: CachedChannel, names: MessageNames
    ) -> list[tuple[Quotation, tuple[Attachment, ...]]]:
        """Return the forwarded messages with their files. Discord reports their channel but not their
        authors, and the sender can't add text to the same message.
        """
        found: list[tuple[Quotation, tuple[Attachment, ...]]] = []
        try:
            source = names.channel(get_string(get_object(message, "message_reference"), "channel_id"))
            for inner in list_snapshots(message):
                files = read_attachments(inner, f"{place.id}/{snowflake(message, 'id')}")
                quotation = quote(QuotationKind.FORWARD, {**inner, "author": None}, names)
                found.append((replace(quotation, author=f"#{source}" if source else ""), files))
        except Malformed as problem:
            found.append((mark_unreadable(QuotationKind.FORWARD, problem), ()))
        return found or [(Quotation(QuotationKind.FORWARD, ""), ())]

    def _quote_replied(
        self, message: Json, place: CachedChannel, names: MessageNames
    ) -> tuple[Quotation, ...]:
        """Return the replied-to message, preceded by the message it replies to, if that was looked up."""
        replied = message.get("referenced_message")
        above: tuple[Quotation, ...] = ()
        if isinstance(replied, dict) and replied.get("type") == REPLY:
            number = _find_answered(replied, place.id)
            found = self._known.messages.get(number)
            if found is not None:
                asked = {"type": REPLY, "message_reference": {}, "referenced_message": found}
                above = self._quote(QuotationKind.REPLY, asked, names)
        return (*above, *self._quote(QuotationKind.REPLY, message, names, place))

    def _quote(
        self, kind: QuotationKind, message: Json, names: MessageNames, place: CachedChannel | None = None
    ) -> tuple[Quotation, ...]:
        """Return the referenced message, unless it is the bot's and thus in the conversation."""
        try:
            replied = self._find_referred(message, place)
            if replied is None:
                return ()
            if not replied:
                gone = message.get("referenced_message", ...) is None
                return (Quotation(kind, DELETED if gone else NOT_LOADED),)
            if get_object(replied, "author").get("id") == self._me:
                return ()
            quotation = replace(quote(kind, replied, names), message_id=get_string(replied, "id"))
        except Malformed as problem:
            return (mark_unreadable(kind, problem),)
        return (quotation,) if quotation.text or quotation.files else ()

    def _find_referred(self, message: Json, place: CachedChannel | None) -> Json | None:
        """Return the referenced message: an empty object if it is gone or was not found, None if there is no
        reference. Raises Malformed.
        """
        number = refers_to(message, place.id if place is not None else "")
        replied = get_object(message, "referenced_message")
        if get_int(message, "type") not in (REPLY, PINNED, THREAD_STARTER, CONTEXT_COMMAND):
            return None
        if not replied and not number and "referenced_message" not in message:
            return None
        was_found = self._known.messages.get(number) if "referenced_message" not in message else None
        return replied or was_found or {}

    def _quote_title(self, message: Json, place: CachedChannel, names: MessageNames) -> tuple[Quotation, ...]:
        """Return a forum post's title and tags with its first message, which has the post's id."""
        if not place.thread or message.get("id") != place.id:
            return ()
        forum = self._known.find_channel(place.parent)
        known = forum.tag_names if forum is not None else {}
        tags = ", ".join(filter(None, (known.get(tag, "") for tag in place.tags)))
        text = "\n".join(filter(None, (one_line(place.name), f"Tags: {tags}" if tags else "")))
        return (Quotation(QuotationKind.THREAD_START, text),) if text else ()

    def _is_addressed(self, message: Json, place: CachedChannel) -> bool:
        """Return whether the author's own text addresses the bot, or the place does so for a person; a
        mention in a card does not count.
        """
        in_own_thread = place.thread and (place.owner == self._me or place.id in self.own_threads)
        if self._is_mentioned(message, place):
            return True
        is_reply = get_int(message, "type") == REPLY
        in_own_place = (in_own_thread or not place.guild) and not _is_by_app(message)
        return in_own_place or (is_reply and self._tells_of_own(message, place))

    def _is_mentioned(self, message: Json, place: CachedChannel) -> bool:
        me, text = self._me, get_string(message, "content")
        is_named = f"<@{me}>" in text or f"<@!{me}>" in text
        # Discord's list also includes people mentioned in a card or a forwarded message.
        if is_named and any(user.get("id") == me for user in get_objects(message, "mentions")):
            return True
        role = self._known.places.find_bot_role(place.guild)
        return bool(role) and f"<@&{role}>" in text and role in get_strings(message, "mention_roles")

    def _tells_of_own(self, message: Json, place: CachedChannel | None = None) -> bool:
        """Return whether a message refers to one of the bot's; False if that can't be read."""
        try:
            replied = self._find_referred(message, place) or {}
            return get_object(replied, "author").get("id") == self._me
        except Malformed:
            return False


def _is_by_app(message: Json) -> bool:
    """Return whether the author is an app, a webhook or Discord itself. Raises Malformed."""
    author = get_object(message, "author")
    return bool(author.get("bot") or author.get("system") or "webhook_id" in message)


def _read_files(message: Json, place: CachedChannel) -> tuple[tuple[Attachment, ...], tuple[Quotation, ...]]:
    """Return a message's files, with a line in place of unreadable ones."""
    try:
        return read_attachments(message, f"{place.id}/{snowflake(message, 'id')}"), ()
    except Malformed as problem:
        return (), (mark_unreadable(QuotationKind.UNSUPPORTED, problem),)


def _read_notice(message: Json, names: MessageNames) -> Quotation:
    try:
        notice = read_notice(message, names)
    except Malformed as problem:
        return mark_unreadable(QuotationKind.NOTICE, problem)
    return content.notice(notice) if notice else content.unsupported(f"message of type {message['type']}")


def _digest(message: InboundMessage) -> str:
    """Return a short hash of a message's content."""
    said = orjson.dumps(
        [
            message.text,
            [[one.kind, one.text] for one in message.quotations],
            [[one.filename, one.ref] for one in message.attachments],
        ]
    )
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def _find_answered(message: Json, channel: str = "") -> str:
    """Return the id of the replied-to message, or "" if there is none or it can't be read."""
    try:
        return refers_to(message, channel)
    except Malformed:
        return ""
