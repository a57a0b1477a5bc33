"""Reads messages that a person shared: Slack attaches a copy to the message that shares it.

Such an attachment has `is_share` where somebody used "Forward message", and `is_msg_unfurl` where the message
contains a link to another one; `author_id` names its author. What Slack attaches later, as the preview of a
link, comes as a change without an edit and is not read. Lines that start with `>` are words of the writer.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.domain import Quotation, QuotationKind
from bot.platforms.payload import Json, get_objects, get_string


def list_shared(message: Json) -> list[Json]:
    """Return the attachments of a message that are other messages. Raises Malformed."""
    found = get_objects(message, "attachments")
    return [one for one in found if one.get("is_share") or one.get("is_msg_unfurl")]


def list_shared_files(message: Json) -> list[Json]:
    """Return the files of shared messages. Raises Malformed."""
    return [file for one in list_shared(message) for file in get_objects(one, "files")]


def read_shared(message: Json, read_text: Callable[[str], str]) -> tuple[Quotation, ...]:
    """Return the shared messages; `read_text` converts Slack's markup. Raises Malformed."""
    return tuple(
        Quotation(
            QuotationKind.SHARED,
            read_text(get_string(one, "text") or get_string(one, "fallback")),
            get_string(one, "author_name") or get_string(one, "author_subname"),
            get_string(one, "author_id"),
            tuple(get_string(file, "name") or get_string(file, "id") for file in get_objects(one, "files")),
        )
        for one in list_shared(message)
    )
