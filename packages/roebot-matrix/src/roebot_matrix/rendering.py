"""Markdown for Matrix: HTML for display, Markdown as the plain text, and the size of both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.domain import Mention, MentionKind
from bot.platforms.payload import Json
from bot.render.html import render_html
from bot.render.mentions import write_mentions
from bot.render.renderer import MarkdownRenderer, Renderer, length_limit
from bot.render.split import GrowingSplit

MAX_BYTES = 60_000
"""An event is at most 65,536 bytes (spec.matrix.org/latest/client-server-api/#size-limits); the rest is for
its other keys."""
_LINE, _LINK, _CELL = 60, 90, 32
"""Upper bounds in bytes of the tags for a line, a link and a table's cell."""
_COSTS = {'"': 9, "&": 7, "<": 6, ">": 6, "\\": 6, "*": 12, "_": 12, "~": 12, "`": 16, "[": _LINK, "|": _CELL}
_SPECIAL = re.compile(r'["&<>\\*_~`\[|]|://')
_PERSON = re.compile(r"@[^:\s]+:[A-Za-z0-9.:\[\]-]+")
_MARKUP = re.compile(r"[\\`*_~<>\[\]]")
_PERMALINK = "https://matrix.to/#/"


def measure(markdown: str) -> int:
    """Return an upper bound of the bytes of an event with this Markdown, additive over lines.

    The text stands in it as it is and as HTML, where the address of a link stands twice.
    """
    special = sum(_COSTS.get(found, _LINK) for found in _SPECIAL.findall(markdown))
    return 3 * len(markdown.encode("utf-8", "replace")) + special + _LINE * (markdown.count("\n") + 1)


def _growing() -> GrowingSplit:
    return GrowingSplit(limit=MAX_BYTES, measure=measure)


MATRIX: Renderer = MarkdownRenderer("matrix", _growing, length_limit("about 15,000 characters"))


def text_content(markdown: str, mentions: Sequence[Mention] = ()) -> Json:
    """Return the content of a text message (spec: m.room.message).

    `m.mentions` is always there: without it, homeservers notify whoever is named in the text.
    """
    people = tuple(one for one in mentions if one.kind is MentionKind.PERSON and _PERSON.fullmatch(one.id))
    linked, written = write_mentions(markdown, people, _pill, limit=MAX_BYTES)
    content: Json = {
        "msgtype": "m.text",
        "body": markdown,
        "format": "org.matrix.custom.html",
        "formatted_body": render_html(linked),
        "m.mentions": {"user_ids": list(dict.fromkeys(one.id for one in written))} if written else {},
    }
    return content


def edit_content(message_id: str, content: Json) -> Json:
    """Return the content of an edit (spec: m.replace); the outer text is for clients without support for
    edits.
    """
    new = {key: value for key, value in content.items() if key != "m.relates_to"}
    return {
        "msgtype": "m.text",
        "body": f"* {content['body'][:100]}",
        "m.new_content": new,
        "m.mentions": content["m.mentions"],
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    }


def _pill(mention: Mention) -> str:
    label = _MARKUP.sub(r"\\\g<0>", mention.label)
    return f"[{label}]({_PERMALINK}{mention.id})"
