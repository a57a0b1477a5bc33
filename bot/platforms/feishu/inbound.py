"""Conversion of Feishu's events to domain messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bot.content import notice
from bot.domain import (
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.platforms.base import Inbox
from bot.platforms.feishu.cards import SAY
from bot.platforms.feishu.contacts import FeishuContacts, FeishuPerson
from bot.platforms.feishu.content import CARD, FeishuContent, read_content, read_time
from bot.platforms.feishu.forwarded import FeishuForwarded
from bot.platforms.feishu.notices import ADDED, LEFT, RENAMED, read_notice
from bot.platforms.feishu.senders import APPS, build_belongs
from bot.platforms.payload import Json, Malformed, get_object, get_string, require_string
from bot.platforms.unreadable import mark_unreadable

MESSAGE = "im.message.receive_v1"
EDITED, RECALLED = "im.message.updated_v1", "im.message.recalled_v1"
CLICK = "card.action.trigger"
MENU = "application.bot.menu_v6"
ENTERED = "im.chat.access_event.bot_p2p_chat_entered_v1"
NOTICES = (ADDED, LEFT, RENAMED)
EVENTS = (MESSAGE, EDITED, RECALLED, CLICK, MENU, ENTERED, *NOTICES)
"""What the app subscribes to."""
Convert = Callable[[Json, Json, float], Awaitable[InboundMessage | InboundChange | None]]
"""Converts header and event, at a time."""
_KINDS = {"p2p": ChatKind.PRIVATE, "group": ChatKind.GROUP, "topic_group": ChatKind.GROUP}


@dataclass(frozen=True, slots=True)
class FeishuIdentity:
    """The bot's own id and name."""

    open_id: str
    name: str


class FeishuInbound:
    """Converts an account's events. `inbox` knows the recorded chats, and the recorded starts of their
    topics.
    """

    def __init__(
        self,
        account: str,
        identity: FeishuIdentity,
        people: FeishuContacts,
        forwarded: FeishuForwarded,
        inbox: Inbox,
    ) -> None:
        self._inbox = inbox
        self._forwarded = forwarded
        self._account = account
        self._identity = identity
        self._people = people
        self._converters: dict[str, Convert] = {
            MESSAGE: self._convert_message,
            EDITED: self._convert_edit,
            RECALLED: self._convert_recall,
            CLICK: self._convert_click,
            MENU: self._convert_menu,
            **dict.fromkeys(NOTICES, self._convert_notice),
        }

    async def convert(self, payload: Json, now: float) -> InboundMessage | InboundChange | None:
        """Convert an event to a message or change; None for events without effect. Raises Malformed."""
        header, event = get_object(payload, "header"), get_object(payload, "event")
        kind = require_string(header, "event_type")
        convert = self._converters.get(kind)
        if kind == ENTERED:
            self._note_private_chat(event)
        return await convert(header, event, now) if convert is not None else None

    def note_stored(self, happened: InboundMessage | InboundChange) -> None:
        """Record that an event is stored, so that its topic's start is not fetched again for the
        conversation.
        """
        message = happened if isinstance(happened, InboundMessage) else happened.message
        if message is None or not message.origin.topic:
            return
        starts = [one for one in message.quotations if one.kind is QuotationKind.THREAD_START]
        if any(one.author_id for one in starts):
            self._people.note_start(message.origin.topic)

    async def _convert_message(self, header: Json, event: Json, now: float) -> InboundMessage | None:
        del now
        message, sender = get_object(event, "message"), get_object(event, "sender")
        if get_string(message, "chat_type") not in _KINDS or not self._is_heard(sender):
            return None
        content = await self._read_content(message)
        if content == FeishuContent():
            return None
        is_recorded = self._inbox.records(require_string(message, "chat_id"))
        return await self._build_message(header, event, content, is_recorded=is_recorded)

    def _is_heard(self, sender: Json) -> bool:
        """Return whether a person or another app is the sender."""
        kind = get_string(sender, "sender_type")
        if kind in APPS:
            return not self._people.is_bot(get_string(get_object(sender, "sender_id"), "open_id"))
        return kind == "user"

    async def _read_content(self, message: Json) -> FeishuContent:
        read = partial(read_content, message, self._identity.open_id)
        return await self._people.read_named(read)

    async def _build_message(
        self, header: Json, event: Json, content: FeishuContent, *, is_recorded: bool = False
    ) -> InboundMessage:
        message, described = get_object(event, "message"), get_object(event, "sender")
        message_id = require_string(message, "message_id")
        open_id = require_string(get_object(described, "sender_id"), "open_id")
        addressed = await self._is_addressed(message, described, content)
        # Side by side, since the event has to be acknowledged within 3 s.
        sender, quotations = await asyncio.gather(
            self._find_sender(header, described, open_id, message_id),
            self._find_quotations(message, content, addressed=addressed, is_recorded=is_recorded),
        )
        origin = self._build_origin(message, sender)
        if origin.chat_kind is ChatKind.PRIVATE:
            self._people.note_private_chat(open_id, origin.chat)
        # Feishu pushes a message again under another event id when it reconnects, so its own id counts.
        return InboundMessage(
            event_id=message_id,
            origin=origin,
            text=content.text,
            sent_at=read_time(message, "create_time"),
            addressed=addressed,
            attachments=content.attachments,
            quotations=(*quotations, *content.quotations),
            mentions=content.mentions,
            mentioned=content.named,
        )

    async def _is_addressed(self, message: Json, described: Json, content: FeishuContent) -> bool:
        """Return whether a message addresses the bot: in a private chat, by a mention in the sender's own
        text, or as a reply to the bot.
        """
        if content.is_notice:
            return False
        is_app = get_string(described, "sender_type") in APPS
        return (
            _KINDS[get_string(message, "chat_type")] is ChatKind.PRIVATE
            or (content.named and (is_app or _is_own_words(message)))
            or await self._is_reply_to_bot(message)
        )

    async def _find_quotations(
        self, message: Json, content: FeishuContent, *, addressed: bool, is_recorded: bool
    ) -> tuple[Quotation, ...]:
        """Fetch others' messages that a message contains or replies to."""
        if content.forwarded:
            return await self._forwarded.read_quotations(require_string(message, "message_id"))
        if not addressed and not is_recorded:
            return ()
        if replied := _find_replied(message):
            return await self._forwarded.read_context(replied, _find_start(message) if addressed else "")
        if _is_broken_reply(message):
            return (mark_unreadable(QuotationKind.REPLY, Malformed("parent_id is not a string")),)
        return await self._find_topic_start(message, is_recorded=is_recorded)

    async def _find_topic_start(self, message: Json, *, is_recorded: bool) -> tuple[Quotation, ...]:
        """Fetch a topic's first message, unless it is already stored or included in the topic's history.

        A record needs it in any case: Feishu pushes no messages of other apps. Only the record itself knows
        whether it has the start: it takes no commands and nothing of blocked people, and can be deleted.
        """
        topic, root = get_string(message, "thread_id"), message.get("root_id")
        if not topic or not isinstance(root, str) or not root:
            return ()
        chat = require_string(message, "chat_id")
        is_unrecorded = is_recorded and not await self._inbox.has_thread_start(chat, topic)
        if is_unrecorded or self._people.lacks_start(chat, topic):
            return await self._forwarded.read_start(root)
        return ()

    async def _convert_edit(self, header: Json, event: Json, now: float) -> InboundChange | None:
        """Convert an edit; its event contains the current message in the format of a new one."""
        message, described = get_object(event, "message"), get_object(event, "sender")
        is_anonymous = not get_string(described, "sender_type")
        if not message.get("content") or not (is_anonymous or self._is_heard(described)):
            return None
        content = await self._read_content(message)
        at = read_time(message, "update_time") or now
        open_id = get_string(get_object(described, "sender_id"), "open_id")
        whole = None
        if open_id and not is_anonymous and get_string(message, "chat_type") in _KINDS:
            whole = await self._build_message(header, event, content)
        sender = whole.origin.sender if whole else self._build_sender(header, described, open_id)
        return InboundChange(
            require_string(header, "event_id"),
            self._build_origin(message, sender),
            content.text,
            at,
            whole if whole is not None and whole.addressed else None,
            content.quotations or None,
            content.attachments,
            content.mentions,
        )

    async def _convert_recall(self, header: Json, event: Json, now: float) -> InboundChange:
        """Convert a recall; the event contains neither the message's author nor the kind of the chat."""
        at = read_time(event, "recall_time") or now
        return InboundChange(
            require_string(header, "event_id"), self._build_origin(event, Sender("")), None, at
        )

    async def _convert_notice(self, header: Json, event: Json, now: float) -> InboundMessage | None:
        actor = get_string(get_object(event, "operator_id"), "open_id")
        text = read_notice(require_string(header, "event_type"), event, actor)
        if not text or not actor:
            return None
        event_id, person = require_string(header, "event_id"), await self._people.find_person(actor)
        described = {"tenant_key": event.get("operator_tenant_key")}
        sender = self._build_sender(header, described, actor, person)
        origin = self._build_origin({**event, "message_id": event_id}, sender)
        sentence = notice(f"{person.name or 'Somebody'} {text}")
        return InboundMessage(event_id, origin, "", now, addressed=False, quotations=(sentence,))

    async def _find_sender(self, header: Json, described: Json, open_id: str, message_id: str) -> Sender:
        """Build an event's sender, with the name if Feishu provides it in time."""
        if get_string(described, "sender_type") not in APPS:
            return self._build_sender(header, described, open_id, await self._people.find_person(open_id))
        name = await self._people.find_app_name(open_id, message_id)
        tenant = get_string(described, "tenant_key")
        guest = bool(tenant) and tenant != get_string(header, "tenant_key")
        return Sender(open_id, name, is_bot=True, belongs=build_belongs(tenant), guest=guest)

    @staticmethod
    def _build_sender(
        header: Json, described: Json, open_id: str, person: FeishuPerson | None = None
    ) -> Sender:
        """Build the sender: `described` contains their organization, the header the app's."""
        tenant = get_string(described, "tenant_key")
        known = person or FeishuPerson()
        belongs = build_belongs(tenant, known.departments)
        return Sender(open_id, known.name, belongs=belongs, guest=tenant != get_string(header, "tenant_key"))

    def _build_origin(self, message: Json, sender: Sender) -> Origin:
        return Origin(
            account=self._account,
            platform="feishu",
            chat=require_string(message, "chat_id"),
            chat_kind=_KINDS.get(get_string(message, "chat_type"), ChatKind.GROUP),
            message_id=require_string(message, "message_id"),
            sender=sender,
            topic=get_string(message, "thread_id"),
            reply_to=_find_replied(message),
        )

    async def _is_reply_to_bot(self, message: Json) -> bool:
        parent = "" if _is_broken_reply(message) else get_string(message, "parent_id")
        return bool(parent) and await self._people.is_own(parent)

    async def _convert_click(self, header: Json, event: Json, now: float) -> InboundMessage | None:
        value = get_object(event, "action").get("value")
        choice = value.get(SAY) if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(choice, str) or not choice:
            return None
        context = get_object(event, "context")
        operator = get_object(event, "operator")
        open_id = require_string(operator, "open_id")
        origin = Origin(
            account=self._account,
            platform="feishu",
            chat=require_string(context, "open_chat_id"),
            chat_kind=ChatKind.GROUP if value.get("group") is True else ChatKind.PRIVATE,
            message_id=require_string(context, "open_message_id"),
            sender=self._build_sender(header, operator, open_id, await self._people.find_person(open_id)),
            topic=get_string(value, "topic"),
            reply_to=require_string(context, "open_message_id"),
        )
        clicked = value.get("choice") is True
        return InboundMessage(require_string(header, "event_id"), origin, choice, now, clicked=clicked)

    async def _convert_menu(self, header: Json, event: Json, now: float) -> InboundMessage | None:
        """Convert an entry of the bot's menu to the command in its key."""
        key = get_string(event, "event_key").strip().lstrip("/")
        if not key:
            return None
        operator = get_object(event, "operator")
        open_id = require_string(get_object(operator, "operator_id"), "open_id")
        event_id = require_string(header, "event_id")
        name = get_string(operator, "operator_name") or (await self._people.find_person(open_id)).name
        chat = self._people.find_private_chat(open_id)
        origin = Origin(self._account, "feishu", chat, ChatKind.PRIVATE, "", Sender(open_id, name))
        return InboundMessage(event_id, origin, f"/{key}", now)

    def _note_private_chat(self, event: Json) -> None:
        open_id = require_string(get_object(event, "operator_id"), "open_id")
        self._people.note_private_chat(open_id, require_string(event, "chat_id"))


def _is_own_words(message: Json) -> bool:
    """Return whether the sender wrote the content; a card passed on by a person is another app's."""
    return get_string(message, "message_type") != CARD


def _find_replied(message: Json) -> str:
    """Return the replied-to message. In a topic every message replies to the first one, so the result is
    "".
    """
    parent = "" if _is_broken_reply(message) else get_string(message, "parent_id")
    if get_string(message, "thread_id") and parent == message.get("root_id"):
        return ""
    return parent


def _find_start(message: Json) -> str:
    """Return the message that started a reply chain. A topic's history contains its start."""
    root = message.get("root_id")
    return root if isinstance(root, str) and not message.get("thread_id") else ""


def _is_broken_reply(message: Json) -> bool:
    return not isinstance(message.get("parent_id"), str | None)
