"""Events of Feishu become messages of the domain."""

from __future__ import annotations

from dataclasses import dataclass

from bot.content import unsupported
from bot.domain import (
    ChatKind,
    InboundChange,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from bot.platforms.feishu.cards import SAY
from bot.platforms.feishu.contacts import FeishuContacts, FeishuPerson
from bot.platforms.feishu.content import FeishuContent, read_content, read_time
from bot.platforms.feishu.forwarded import FeishuForwarded
from bot.platforms.payload import Json, Malformed, get_object, get_string, require_string
from bot.platforms.unreadable import mark_unreadable

MESSAGE = "im.message.receive_v1"
EDITED, RECALLED = "im.message.updated_v1", "im.message.recalled_v1"
CLICK = "card.action.trigger"
MENU = "application.bot.menu_v6"
ENTERED = "im.chat.access_event.bot_p2p_chat_entered_v1"
EVENTS = (MESSAGE, EDITED, RECALLED, CLICK, MENU, ENTERED)
"""What the app subscribes to."""
_KINDS = {"p2p": ChatKind.PRIVATE, "group": ChatKind.GROUP, "topic_group": ChatKind.GROUP}


@dataclass(frozen=True, slots=True)
class FeishuIdentity:
    """The bot's own id and name."""

    open_id: str
    name: str


class FeishuInbound:
    """Converts events for one account."""

    def __init__(
        self, account: str, identity: FeishuIdentity, people: FeishuContacts, forwarded: FeishuForwarded
    ) -> None:
        self._forwarded = forwarded
        self._account = account
        self._identity = identity
        self._people = people

    async def convert(self, payload: Json, now: float) -> InboundMessage | InboundChange | None:
        """Convert an event to a message or change; None for events without effect. Raises Malformed."""
        header, event = get_object(payload, "header"), get_object(payload, "event")
        kind = require_string(header, "event_type")
        if kind == MESSAGE:
            return await self._convert_message(header, event)
        if kind in (EDITED, RECALLED):
            return (
                self._convert_recall(header, event, now)
                if kind == RECALLED
                else self._convert_edit(header, event, now)
            )
        if kind == CLICK:
            return await self._convert_click(header, event, now)
        if kind == MENU:
            return await self._convert_menu(header, event, now)
        if kind == ENTERED:
            self._note_private_chat(event)
        return None

    async def _convert_message(self, header: Json, event: Json) -> InboundMessage | None:
        message, sender = get_object(event, "message"), get_object(event, "sender")
        chat_kind = _KINDS.get(get_string(message, "chat_type"))
        if chat_kind is None or get_string(sender, "sender_type") != "user":
            return None
        content = read_content(message, self._identity.open_id)
        if content == FeishuContent():
            return None
        open_id, chat = (
            require_string(get_object(sender, "sender_id"), "open_id"),
            require_string(message, "chat_id"),
        )
        if chat_kind is ChatKind.PRIVATE:
            self._people.note_private_chat(open_id, chat)
        message_id = require_string(message, "message_id")
        origin = Origin(
            account=self._account,
            platform="feishu",
            chat=chat,
            chat_kind=chat_kind,
            message_id=message_id,
            sender=self._build_sender(header, sender, open_id, await self._people.find_person(open_id)),
            topic=get_string(message, "thread_id"),
            reply_to=_find_replied(message),
        )
        addressed = chat_kind is ChatKind.PRIVATE or content.named or await self._is_reply_to_bot(message)
        quotations: tuple[Quotation, ...] = ()
        if content.forwarded:
            quotations = await self._forwarded.read_quotations(message_id)
        elif addressed and origin.reply_to:
            quotations = await self._forwarded.read_reply(origin.reply_to)
        elif addressed and _is_broken_reply(message):
            quotations = (mark_unreadable(QuotationKind.REPLY, Malformed("parent_id is no string")),)
        unread = (unsupported(content.unsupported),) if content.unsupported else ()
        # Feishu pushes a message again under another event id when it reconnects, so its own id counts.
        return InboundMessage(
            event_id=message_id,
            origin=origin,
            text=content.text,
            sent_at=read_time(message, "create_time"),
            addressed=addressed,
            attachments=content.attachments,
            quotations=(*quotations, *unread),
        )

    def _convert_edit(self, header: Json, event: Json, now: float) -> InboundChange | None:
        """Convert an edit; its event holds the current message in the form of a new one."""
        message, sender = get_object(event, "message"), get_object(event, "sender")
        if not message.get("content") or get_string(sender, "sender_type") not in ("", "user"):
            return None
        content = read_content(message, self._identity.open_id)
        person = get_string(get_object(sender, "sender_id"), "open_id")
        at = read_time(message, "update_time") or now
        origin = self._build_origin(message, self._build_sender(header, sender, person))
        return InboundChange(require_string(header, "event_id"), origin, content.text, at)

    def _convert_recall(self, header: Json, event: Json, now: float) -> InboundChange:
        """Whoever took it back: the event names neither its author nor the kind of the chat."""
        at = read_time(event, "recall_time") or now
        return InboundChange(
            require_string(header, "event_id"), self._build_origin(event, Sender("")), None, at
        )

    @staticmethod
    def _build_sender(
        header: Json, described: Json, open_id: str, person: FeishuPerson | None = None
    ) -> Sender:
        """Build the sender: `described` names their organization, the header that of the app."""
        tenant = get_string(described, "tenant_key")
        known = person or FeishuPerson()
        departments = tuple(f"department:{one}" for one in known.departments)
        belongs = (*((f"team:{tenant}",) if tenant else ()), *departments)
        return Sender(open_id, known.name, belongs=belongs, guest=tenant != get_string(header, "tenant_key"))

    def _build_origin(self, message: Json, person: Sender) -> Origin:
        kind = _KINDS.get(get_string(message, "chat_type"), ChatKind.GROUP)
        chat, message_id = require_string(message, "chat_id"), require_string(message, "message_id")
        return Origin(self._account, "feishu", chat, kind, message_id, person)

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
        """Convert an entry of the bot's menu to the command that its key names."""
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


def _find_replied(message: Json) -> str:
    """Return the message that this one answers. In a topic every message answers the first one, so ""."""
    parent = "" if _is_broken_reply(message) else get_string(message, "parent_id")
    if get_string(message, "thread_id") and parent == message.get("root_id"):
        return ""
    return parent


def _is_broken_reply(message: Json) -> bool:
    return not isinstance(message.get("parent_id"), str | None)
