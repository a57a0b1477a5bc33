"""Content that a person forwarded, quoted or sent through another bot, and the message they reply to; none of
it counts as their own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot import content
from bot.domain import Attachment, Quotation, QuotationKind
from bot.platforms.payload import Json, Malformed, get_int, get_object, require_int
from bot.platforms.telegram.attachments import read_attachments, recording_lines
from bot.platforms.telegram.formatted_text import read_formatted, read_text
from bot.platforms.telegram.message_contents import name_story, read_contents
from bot.platforms.telegram.names import chat_name, read_author, read_id, read_origin, user_name
from bot.platforms.telegram.polls import name_option, name_tasks
from bot.platforms.telegram.rich_messages import RichMessage, read_rich
from bot.platforms.telegram.service_notices import read_notice
from bot.platforms.unreadable import mark_unreadable


def is_by_others(message: Json) -> bool:
    """Return whether another author wrote the text: it was forwarded (core.telegram.org/bots/api#message,
    `forward_origin`) or is the result of an inline bot (`via_bot`). A channel post that Telegram itself put
    into the channel's group is the channel's own.
    """
    if message.get("is_automatic_forward") is True:
        return False
    return message.get("forward_origin") is not None or message.get("via_bot") is not None


def quote_whole(message: Json, rich: RichMessage | None, files: Sequence[str]) -> Quotation:
    """Return another author's message as a quotation; `files` are the names of its attachments.

    A message is forwarded as a whole: what its sender adds is a message of its own. Raises Malformed.
    """
    text = _join_contents(message, rich)
    if message.get("forward_origin") is not None:
        origin = get_object(message, "forward_origin")
        author, author_id = read_origin(origin)
        return Quotation(QuotationKind.FORWARD, text, author, author_id, tuple(files), _read_date(origin))
    bot = get_object(message, "via_bot")
    return Quotation(QuotationKind.SHARED, text, user_name(bot), read_id(bot), tuple(files))


def read_context(message: Json, own_id: int) -> tuple[Quotation, ...]:
    """Return the content that a message answers: a quoted or replied-to message, a story, or a message in
    another chat. The bot's own messages (`own_id`) are in its conversation. Raises Malformed.
    """
    quoted = read_formatted(get_object(message, "quote"), "text", "entities").text
    external = get_object(message, "external_reply")
    if external:
        return tuple(_quote_external(external, quoted))
    if message.get("reply_to_story") is not None:
        story = name_story(get_object(message, "reply_to_story"))
        return (replace(story, kind=QuotationKind.REPLY, text="[story]"),)
    replied = get_object(message, "reply_to_message")
    if quoted:
        author = read_author(replied)
        return (Quotation(QuotationKind.QUOTE, quoted, *author, (), _read_date(replied)),)
    replied = read_replied(message)
    if not replied or get_object(replied, "from").get("id") == own_id:
        return ()
    return (_quote_replied(message, replied),)


def read_replied(message: Json) -> Json:
    """Return the replied-to message. In a topic without a reply, Telegram reports the topic's first message,
    which is ignored. Raises Malformed.
    """
    replied = get_object(message, "reply_to_message")
    if not replied or "forum_topic_created" in replied:
        return {}
    require_int(replied, "message_id")
    get_object(replied, "from")
    if message.get("is_topic_message") and replied.get("message_id") == message.get("message_thread_id"):
        return {}
    return replied


def find_replied(message: Json) -> Json:
    """Return the replied-to message, or an empty one if there is none or it is unreadable."""
    try:
        return read_replied(message)
    except Malformed:
        return {}


def read_topic_start(message: Json) -> Quotation | None:
    """Return the notice that started a message's topic and contains its name; None if the message has
    none.
    """
    try:
        first = get_object(message, "reply_to_message")
        if "forum_topic_created" not in first:
            return None
        notice, author = read_notice(first), read_author(first)
        text = notice.text if notice is not None else ""
        return Quotation(QuotationKind.THREAD_START, text, *author, (), _read_date(first))
    except Malformed as problem:
        return mark_unreadable(QuotationKind.THREAD_START, problem)


def quote_message(message: Json, kind: QuotationKind) -> Quotation:
    """Return another message as a quotation of this kind, with its author. Raises Malformed."""
    rich = read_rich(message)
    author = read_author(message)
    if message.get("forward_origin") is not None:
        author = read_origin(get_object(message, "forward_origin"))
    elif message.get("via_bot") is not None:
        bot = get_object(message, "via_bot")
        author = user_name(bot), read_id(bot)
    files = tuple(one.filename for one in _read_files(message, rich))
    text = _join_contents(message, rich)
    if not text and not files:
        notice = read_notice(message)
        text = notice.text if notice is not None else content.inline_text(content.unsupported("message"))
    return Quotation(kind, text, *author, files, _read_date(message))


def _quote_replied(message: Json, replied: Json) -> Quotation:
    """Return the replied-to message. For a comment, the channel's post is the start of its thread."""
    begins = replied.get("is_automatic_forward") is True
    quotation = quote_message(replied, QuotationKind.THREAD_START if begins else QuotationKind.REPLY)
    quotation = replace(quotation, message_id=str(require_int(replied, "message_id")))
    part = _name_part(message, replied)
    return replace(quotation, text=f"{quotation.text}\n[the reply is to: {part}]") if part else quotation


def _name_part(message: Json, replied: Json) -> str:
    """Return the poll option or checklist task that a message replies to."""
    option, task = message.get("reply_to_poll_option_id"), message.get("reply_to_checklist_task_id")
    if isinstance(option, str):
        return name_option(get_object(replied, "poll"), option)
    if task is not None:
        return "".join(name_tasks(get_object(replied, "checklist"), [task]))
    return ""


def _quote_external(external: Json, quoted: str) -> Iterable[Quotation]:
    """Return a message of another chat or topic: the quoted part, and other available information."""
    origin = get_object(external, "origin")
    author, author_id = read_origin(origin)
    chat = get_object(external, "chat")
    if chat and author and read_id(chat) != author_id:
        author = f"{author} (in {chat_name(chat)})"
    sent_at = _read_date(origin)
    files = tuple(one.filename for one in read_attachments(external))
    text = _join_contents(external, None)
    if quoted or not (text or files):
        yield Quotation(QuotationKind.QUOTE, quoted, author, author_id, (), sent_at)
    if text or files:
        yield Quotation(QuotationKind.REPLY, text, author, author_id, files, sent_at)


def _join_contents(message: Json, rich: RichMessage | None) -> str:
    """Return all readable content of a message as one text."""
    card = content.card_text(content.Card(rich.title, lines=rich.lines)) if rich is not None else ""
    lines = [read_text(message).text, card, *recording_lines(message)]
    lines += [content.inline_text(one) for one in read_contents(message)]
    return "\n".join(line for line in lines if line)


def _read_files(message: Json, rich: RichMessage | None) -> Sequence[Attachment]:
    return rich.attachments if rich is not None else read_attachments(message)


def _read_date(message: Json) -> float:
    return float(get_int(message, "date"))
