"""Reads what a person forwarded, quoted or sent through another bot; none of it counts as their own words."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import Quotation, QuotationKind
from bot.platforms.payload import Json, get_int, get_object, get_string


def is_by_others(message: Json) -> bool:
    """Return whether somebody else wrote the text: it was forwarded (core.telegram.org/bots/api#message,
    `forward_origin`) or is the result of an inline bot (`via_bot`).
    """
    return message.get("forward_origin") is not None or message.get("via_bot") is not None


def read_quotations(message: Json, files: tuple[str, ...]) -> tuple[Quotation, ...]:
    """Return the quotations of a message; `files` are the names of its attachments. Raises Malformed.

    A message is forwarded as a whole: what its sender adds is a message of its own. A reply may quote a part
    of the message that it answers, which can be in another chat.
    """
    text = _read_text(message)
    if message.get("forward_origin") is not None:
        origin = get_object(message, "forward_origin")
        author, author_id = _read_origin(origin)
        return (Quotation(QuotationKind.FORWARD, text, author, author_id, files, _read_date(origin)),)
    if message.get("via_bot") is not None:
        author, author_id = _read_user(get_object(message, "via_bot"))
        return (Quotation(QuotationKind.SHARED, text, author, author_id, files),)
    quoted = get_string(get_object(message, "quote"), "text")
    external = get_object(message, "external_reply")
    if external:
        origin = get_object(external, "origin")
        return (Quotation(QuotationKind.QUOTE, quoted, *_read_origin(origin), (), _read_date(origin)),)
    if not quoted:
        return ()
    replied = get_object(message, "reply_to_message")
    return (Quotation(QuotationKind.QUOTE, quoted, *_read_author(replied), (), _read_date(replied)),)


def read_reply(replied: Json, files: Sequence[str], kind: str) -> Quotation | None:
    """Return the message that is replied to; None if nothing of it can be read. `files` are the names of its
    attachments, `kind` is what it is if it can't be read as text. Raises Malformed.
    """
    text = _read_text(replied) or (f"[{kind}]" if kind else "")
    if not text and not files:
        return None
    author = _read_author(replied)
    if replied.get("forward_origin") is not None:
        author = _read_origin(get_object(replied, "forward_origin"))
    elif replied.get("via_bot") is not None:
        author = _read_user(get_object(replied, "via_bot"))
    return Quotation(QuotationKind.REPLY, text, *author, tuple(files), _read_date(replied))


def _read_text(message: Json) -> str:
    return get_string(message, "text") or get_string(message, "caption")


def _read_date(message: Json) -> float:
    return float(get_int(message, "date"))


def _read_origin(origin: Json) -> tuple[str, str]:
    """Return the name and id of a MessageOrigin: a user, a hidden user (name only), a chat or a channel."""
    if user := get_object(origin, "sender_user"):
        return _read_user(user)
    chat = get_object(origin, "sender_chat") or get_object(origin, "chat")
    if not chat:
        return get_string(origin, "sender_user_name"), ""
    signed = get_string(origin, "author_signature")
    title = _read_chat(chat)[0]
    return f"{title} ({signed})" if signed else title, _read_chat(chat)[1]


def _read_author(message: Json) -> tuple[str, str]:
    """Return the name and id of a message's author, which may be a chat."""
    chat = get_object(message, "sender_chat")
    return _read_chat(chat) if chat else _read_user(get_object(message, "from"))


def _read_user(user: Json) -> tuple[str, str]:
    names = (get_string(user, "first_name"), get_string(user, "last_name"))
    return " ".join(filter(None, names)), _read_id(user)


def _read_chat(chat: Json) -> tuple[str, str]:
    return get_string(chat, "title") or get_string(chat, "username"), _read_id(chat)


def _read_id(owner: Json) -> str:
    number = get_int(owner, "id")
    return str(number) if number else ""
