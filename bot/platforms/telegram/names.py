"""Names and ids of people, bots and chats.

A message can be sent in the name of a chat: by an anonymous admin of a group (`sender_chat` is the group), or
as a channel. Its `from` is then an account of Telegram that everybody shares, such as GroupAnonymousBot, so
the sender is the chat: its id is negative (core.telegram.org/api/bots/ids), and no rule for a person covers
it. Anybody can own a channel, and write as it in other chats to be unknown there, so that no rule for the
person or the group may cover it: a channel elsewhere than in itself counts as an app.
"""

from __future__ import annotations

from bot.domain import Sender
from bot.platforms.payload import Json, get_int, get_object, get_string, require_int, require_object

MAX_NAME = 128
"""Maximum length of a name in characters. Titles have up to 128, and first and last names up to 64 each
(core.telegram.org/bots/api#setchattitle, core.telegram.org/method/account.updateProfile).
"""


def read_sender(message: Json) -> Sender:
    """Return the sender of a message. Raises Malformed."""
    chat = get_object(message, "sender_chat")
    signature = get_string(message, "author_signature")
    if chat:
        number = require_int(chat, "id")
        is_elsewhere = number != require_int(require_object(message, "chat"), "id")
        return Sender(str(number), _add_detail(chat_name(chat), signature), is_bot=is_elsewhere)
    if message.get("from") is None and get_string(require_object(message, "chat"), "type") == "channel":
        channel = require_object(message, "chat")
        return Sender(str(require_int(channel, "id")), _add_detail(chat_name(channel), signature))
    return person_sender(require_object(message, "from"), _to_line(get_string(message, "sender_tag")))


def person_sender(person: Json, tag: str = "") -> Sender:
    """Return a `User` as a sender; `tag` is the member's tag in the chat. Raises Malformed."""
    return Sender(
        id=str(require_int(person, "id")),
        name=user_name(person),
        username=get_string(person, "username"),
        is_bot=person.get("is_bot") is True,
        tag=tag,
        locale=get_string(person, "language_code"),
    )


def read_author(message: Json) -> tuple[str, str]:
    """Return the name and id of the author of a quoted message, or "" if unknown. Raises Malformed."""
    chat = get_object(message, "sender_chat")
    if chat:
        return _add_detail(chat_name(chat), get_string(message, "author_signature")), read_id(chat)
    user = get_object(message, "from")
    return user_name(user), read_id(user)


def read_origin(origin: Json) -> tuple[str, str]:
    """Return the name and id of a MessageOrigin: a user, a hidden user (name only), a chat or a channel.
    Raises Malformed.
    """
    if user := get_object(origin, "sender_user"):
        return user_name(user), read_id(user)
    chat = get_object(origin, "sender_chat") or get_object(origin, "chat")
    if not chat:
        return get_string(origin, "sender_user_name"), ""
    return _add_detail(chat_name(chat), get_string(origin, "author_signature")), read_id(chat)


def user_name(user: Json) -> str:
    """Return the full name of a `User`, `SharedUser` or `Contact`; else the username with its `@`."""
    names = _to_line(f"{get_string(user, 'first_name')} {get_string(user, 'last_name')}")
    username = get_string(user, "username")
    return names or (f"@{username}" if username else "")


def chat_name(chat: Json) -> str:
    """Return the title of a `Chat`, or the name of the person whose private chat it is."""
    return _to_line(get_string(chat, "title")) or user_name(chat)


def read_id(owner: Json) -> str:
    """Return the id of a user or chat, or "" if there is none."""
    number = get_int(owner, "id")
    return str(number) if number else ""


def _to_line(name: str) -> str:
    """Return a name on one line of bounded length, since it may occur within another person's text."""
    return " ".join(name.split())[:MAX_NAME]


def _add_detail(name: str, detail: str) -> str:
    return f"{name} ({detail})" if name and detail else name or detail
