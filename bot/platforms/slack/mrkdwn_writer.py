"""Render Markdown as mrkdwn, the markup of Slack's `text` argument, for servers without Markdown.

From docs.slack.dev/messaging/formatting-message-text. Mentions that `renderer` has written are kept.
"""

from __future__ import annotations

import re
from collections import defaultdict

from bot.render.entities import EntityMark, lay_out
from bot.render.parse import parse

_SIGNS = {
    "bold": ("*", "*"),
    "italic": ("_", "_"),
    "strikethrough": ("~", "~"),
    "code": ("`", "`"),
    "pre": ("```\n", "\n```"),
}
_MENTION = re.compile(r"(<(?:@|#|!subteam\^)[A-Z0-9]+>)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render_mrkdwn(markdown: str) -> str:
    """Return a text for `text`; tables are drawn in a code block."""
    laid = lay_out(parse(markdown))
    opened: defaultdict[int, list[str]] = defaultdict(list)
    closed: defaultdict[int, list[str]] = defaultdict(list)
    ends: dict[str, int] = {}
    for mark in laid.marks:
        if mark.start < ends.get(mark.style, 0):  # within the same style
            continue
        ends[mark.style] = mark.end
        before, after = _find_signs(mark)
        opened[mark.start].append(before)
        closed[mark.end].insert(0, after)
        if mark.style == "blockquote":
            for at in range(mark.start, mark.end):
                if laid.text[at] == "\n":
                    opened[at + 1].insert(0, ">")
    places = sorted({0, len(laid.text), *opened, *closed})
    parts = []
    for number, at in enumerate(places):
        following = places[number + 1] if number + 1 < len(places) else at
        parts += [*closed[at], *opened[at], _escape(laid.text[at:following])]
    return "".join(parts)


def _find_signs(mark: EntityMark) -> tuple[str, str]:
    if mark.style == "text_link":
        return f"<{_escape(mark.data).replace('|', '%7C')}|", ">"
    if mark.style == "blockquote":
        return ">", ""
    return _SIGNS.get(mark.style, ("", ""))


def _escape(text: str) -> str:
    """Escape Slack's control characters outside mentions."""
    pieces = _MENTION.split(text)
    return "".join(
        piece if number % 2 else "".join(_ENTITIES.get(sign, sign) for sign in piece)
        for number, piece in enumerate(pieces)
    )
