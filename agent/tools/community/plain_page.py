"""Text of an HTML page without a parser, in linear time: for pages on which parsers take too long."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)[^<>]*>|<![^<>]*>")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "title"})
_INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd"),
        *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr"),
    )
)
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def strip_tags(page: str) -> str:
    """Return the page's text, a line for each block."""
    text = _SPACE.sub(" ", "".join(_list_texts(page)))
    with_entities = _LINES.sub("\n", text).strip()
    try:
        return html.unescape(with_entities)
    except ValueError:
        # A numeric entity of thousands of digits.
        return with_entities


def _list_texts(page: str) -> Iterator[str]:
    at, unseen = 0, ""
    for tag in _TAG.finditer(page):
        if not unseen:
            yield page[at : tag.start()]
        at = tag.end()
        closing, name = tag[1], (tag[2] or "").lower()
        if name == unseen and closing:
            unseen = ""
        elif name in _UNSEEN and not closing and not unseen:
            unseen = name
        if name and name not in _INLINE:
            yield "\n"
    if not unseen:
        yield page[at:]
