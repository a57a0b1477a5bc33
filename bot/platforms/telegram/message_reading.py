"""Content of a message: its author's own text, other content, and files."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot import content
from bot.domain import Attachment, Quotation, QuotationKind
from bot.platforms.payload import Json, Malformed, get_object
from bot.platforms.telegram.attachments import read_attachments
from bot.platforms.telegram.formatted_text import TelegramIdentity, TelegramReceivedText, read_text
from bot.platforms.telegram.message_contents import read_contents, read_rich_card
from bot.platforms.telegram.names import chat_name, read_sender, user_name
from bot.platforms.telegram.quotations import is_by_others, quote_message, quote_whole, read_context
from bot.platforms.telegram.rich_messages import RichMessage, read_rich
from bot.platforms.telegram.service_notices import find_quoted_message, read_notice
from bot.platforms.unreadable import mark_unreadable

log = structlog.get_logger(__name__)

_FACTS = frozenset(
    [
        "message_id",
        "message_thread_id",
        "direct_messages_topic",
        "from",
        "sender_chat",
        "sender_boost_count",
        "sender_business_bot",
        "sender_tag",
        "date",
        "guest_query_id",
        "business_connection_id",
        "chat",
        "is_topic_message",
        "is_from_offline",
        "is_paid_post",
        "has_protected_content",
        "has_media_spoiler",
        "show_caption_above_media",
        "media_group_id",
        "author_signature",
        "paid_star_count",
        "suggested_post_info",
        "effect_id",
        "edit_date",
        "receiver_user",
        "ephemeral_message_id",
        "reply_to_message",
        "reply_to_checklist_task_id",
        "reply_to_poll_option_id",
        "link_preview_options",
        "external_reply",
        "quote",
        "reply_to_story",
    ]
)
"""Fields of a `Message` that are not its content (core.telegram.org/bots/api#message)."""


@dataclass(frozen=True, slots=True)
class MessageContent:
    """A message's content: the author's own text, other content, and files."""

    reading: TelegramReceivedText
    quotations: tuple[Quotation, ...]
    attachments: tuple[Attachment, ...] = ()
    is_notice: bool = False


def read_content(message: Json, identity: TelegramIdentity) -> MessageContent:
    """Return a message's content. Other people's text and app cards neither address the bot nor contain
    commands for it.
    """
    notice = read_notice(message)
    if notice is not None:
        return MessageContent(TelegramReceivedText(""), (notice, *_quote_subject(message)), is_notice=True)
    rich = _read_rich(message, identity)
    attachments = rich.attachments if isinstance(rich, RichMessage) else _read_attachments(message)
    if is_by_others(message):
        whole = _quote_whole(message, rich, tuple(one.filename for one in attachments))
        return MessageContent(TelegramReceivedText(""), (whole,), attachments)
    reading = read_text(message, identity)
    quotations = read_contents(message)
    if isinstance(rich, RichMessage):
        if read_sender(message).is_bot:
            quotations.insert(0, read_rich_card(rich))
        else:
            reading = rich.reading
    elif rich is not None:
        quotations.append(rich)
    if caller := _find_caller(message):
        quotations.append(content.notice(f"{caller} summoned this bot, which is not a member of the chat"))
    if not (reading.text or reading.named or attachments or quotations):
        quotations.append(content.unsupported(_name_content(message)))
    return MessageContent(reading, tuple(quotations), attachments)


def read_answered(message: Json, identity: TelegramIdentity) -> tuple[Quotation, ...]:
    """Return the replied-to content, or a placeholder."""
    try:
        return read_context(message, identity.id)
    except Malformed as problem:
        return (mark_unreadable(QuotationKind.REPLY, problem),)


def _read_rich(message: Json, identity: TelegramIdentity) -> RichMessage | Quotation | None:
    """Return a message's rich message, None if there is none, or a placeholder if it is unreadable."""
    try:
        return read_rich(message, identity)
    except Malformed as problem:
        return mark_unreadable(QuotationKind.CARD, problem)


def _read_attachments(message: Json) -> tuple[Attachment, ...]:
    try:
        return read_attachments(message)
    except Malformed as problem:
        log.warning("telegram.files_unreadable", reason=str(problem))
        return ()


def _quote_whole(message: Json, rich: RichMessage | Quotation | None, files: tuple[str, ...]) -> Quotation:
    """Return content that was forwarded or sent through another bot, or a placeholder."""
    try:
        return quote_whole(message, rich if isinstance(rich, RichMessage) else None, files)
    except Malformed as problem:
        kind = QuotationKind.FORWARD if "forward_origin" in message else QuotationKind.SHARED
        return mark_unreadable(kind, problem, files)


def _quote_subject(message: Json) -> tuple[Quotation, ...]:
    """Return the message to which a notice refers, such as a pinned one."""
    subject = find_quoted_message(message)
    try:
        return (quote_message(subject, QuotationKind.QUOTE),) if subject else ()
    except Malformed as problem:
        return (mark_unreadable(QuotationKind.QUOTE, problem),)


def _find_caller(message: Json) -> str:
    """Return who called a guest bot, which answers in a chat it has not joined; "" if nobody did."""
    chat = get_object(message, "guest_bot_caller_chat")
    return chat_name(chat) if chat else user_name(get_object(message, "guest_bot_caller_user"))


def _name_content(message: Json) -> str:
    """Return the name of content that this version does not know, "message" if there is none."""
    return next((key.replace("_", " ") for key in message if key not in _FACTS), "message")
