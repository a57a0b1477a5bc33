"""Plain text without any formatting: notifications, logs, terminals that show nothing else."""

from __future__ import annotations

from bot.render.entities import lay_out
from bot.render.parse import parse


def render_plain(markdown: str) -> str:
    """The visible text of `markdown`: bullets, numbers and drawn tables stay, markup goes, quotes get `>
    `.
    """
    laid = lay_out(parse(markdown))
    text = laid.text
    quotes = [mark for mark in laid.marks if mark.style == "blockquote"]
    for mark in sorted(quotes, key=lambda mark: mark.start, reverse=True):
        quoted = text[mark.start : mark.end].replace("\n", "\n> ")
        text = text[: mark.start] + "> " + quoted + text[mark.end :]
    return text
