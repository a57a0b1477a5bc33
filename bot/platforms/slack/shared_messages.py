"""Reads messages that a person shared: Slack attaches a copy to the message that shares it.

Such an attachment has `is_share` where somebody used "Forward message", and `is_msg_unfurl` where the message
contains a link to another one; `author_id` names its author. What Slack attaches later, as the preview of a
link, comes as a change without an edit and is not read. Lines that start with `>` are words of the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from bot.domain import Quotation, QuotationKind
from bot.platforms.payload import Json, Malformed, get_objects, get_string
from bot.platforms.unreadable import mark_unreadable


def list_shared(message: Json) -> list[Json]:
    """Return the attachments of a message that are other messages. Raises Malformed."""
    found = get_objects(message, "attachments")
    return [one for one in found if one.get("is_share") or one.get("is_msg_unfurl")]


def list_shared_files(message: Json) -> list[Json]:
    """Return the files of shared messages, except those of messages that can't be read."""
    found: list[Json] = []
    with suppress(Malformed):
        for one in list_shared(message):
            with suppress(Malformed):
                found += get_objects(one, "files")
    return found


def read_shared(message: Json, read_text: Callable[[str], str]) -> tuple[Quotation, ...]:
    """Return the shared messages; `read_text` converts Slack's markup."""
    try:
        shared = list_shared(message)
    except Malformed as problem:
        return (mark_unreadable(QuotationKind.SHARED, problem),)
    return tuple(_read_one(one, read_text) for one in shared)


def _read_one(shared: Json, read_text: Callable[[str], str]) -> Quotation:
    try:
        names = (get_string(file, "name") or get_string(file, "id") for file in get_objects(shared, "files"))
        return Quotation(
            QuotationKind.SHARED,
            read_text(get_string(shared, "text") or get_string(shared, "fallback")),
            get_string(shared, "author_name") or get_string(shared, "author_subname"),
            get_string(shared, "author_id"),
            tuple(names),
        )
    except Malformed as problem:
        return mark_unreadable(QuotationKind.SHARED, problem)
