"""Senders of API messages."""

from __future__ import annotations

from collections.abc import Iterable

from bot.domain import Sender
from bot.platforms.feishu.contacts import FeishuPerson
from bot.platforms.feishu.mentions import FeishuNames
from bot.platforms.payload import Json, get_object, get_string

APPS = frozenset({"app", "bot"})
"""Types of senders that are apps: the API says app, events say bot."""


def read_author(message: Json, names: FeishuNames) -> tuple[str, str]:
    """Return the sender's name and id; apps have an id of their own, as in events. Raises Malformed."""
    sender = get_object(message, "sender")
    author, name = get_string(sender, "id"), get_string(sender, "sender_name")
    if get_string(sender, "sender_type") in APPS:
        return name, get_string(sender, "open_bot_id") or author
    return name or names.find_person(author), author


def build_belongs(tenant: str, departments: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a sender's groups as suffixes of access entries."""
    return (*((f"team:{tenant}",) if tenant else ()), *(f"department:{one}" for one in departments))


def build_sender(message: Json, author: tuple[str, str], person: FeishuPerson) -> Sender:
    """Build the sender of a message in a topic; `author` is the result of `read_author`."""
    sender = get_object(message, "sender")
    is_bot = get_string(sender, "sender_type") in APPS
    belongs = build_belongs(get_string(sender, "tenant_key"), person.departments)
    name, identity = author
    return Sender(identity, name or person.name, is_bot=is_bot, belongs=belongs)
