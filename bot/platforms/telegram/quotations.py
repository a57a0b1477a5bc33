"""Reads what a person forwarded, quoted or sent through another bot; none of it counts as their own words."""

from __future__ import annotations

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
    text = get_string(message, "text") or get_string(message, "caption")
    if message.get("forward_origin") is not None:
        author, author_id = _read_origin(get_object(message, "forward_origin"))
        return (Quotation(QuotationKind.FORWARD, text, author, author_id, files),)
    if message.get("via_bot") is not None:
        author, author_id = _read_user(get_object(message, "via_bot"))
        return (Quotation(QuotationKind.SHARED, text, author, author_id, files),)
    quoted = get_string(get_object(message, "quote"), "text")
    external = get_object(message, "external_reply")
    if not quoted and not external:
        return ()
    author, author_id = (
        _read_origin(get_object(external, "origin"))
        if external
        else _read_author(get_object(message, "reply_to_message"))
    )
    return (Quotation(QuotationKind.QUOTE, quoted, author, author_id),)


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
