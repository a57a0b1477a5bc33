"""Reads the messages that a forward contains; Discord leaves out who wrote them.

Source: docs.discord.com/developers/resources/message#message-snapshot-object.
"""

from __future__ import annotations

from bot.platforms.payload import Json, get_object, get_objects, get_string


def list_snapshots(message: Json) -> list[Json]:
    """Return the forwarded messages of a message. Raises Malformed."""
    return [get_object(one, "message") for one in get_objects(message, "message_snapshots")]


def list_files(message: Json) -> list[Json]:
    """Return the attachments of a message and of those that it forwards. Raises Malformed."""
    return [file for one in (message, *list_snapshots(message)) for file in get_objects(one, "attachments")]


def read_embeds(message: Json) -> str:
    """Return the titles and descriptions of a message's embeds, which is all that bots often write."""
    lines = [
        get_string(embed, key) for embed in get_objects(message, "embeds") for key in ("title", "description")
    ]
    return "\n".join(filter(None, lines))
