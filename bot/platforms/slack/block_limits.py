"""Limits Markdown to the number of blocks that Slack accepts.

"Passing a single block may result in multiple blocks after translation" (docs.slack.dev, markdown block):
each heading, rule and table becomes a block, and what stands between two of them is one more. A message with
more than fifty is refused with invalid_blocks ("no more than 50 items allowed [json-pointer:/blocks]"). So
the last headings of a text with too many become bold lines, its last rules are omitted, and its last tables
are shown as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from markdown_it import MarkdownIt

from bot.platforms.slack.renderer import MARKDOWN_LIMIT

BLOCK_LIMIT = 50
"""Blocks of a message (docs.slack.dev/reference/block-kit/blocks)."""


class _Kind(StrEnum):
    HEADING = "heading_open"
    RULE = "hr"
    TABLE = "table_open"
    RUN = "run"


_OWN_BLOCKS = {kind.value: kind for kind in (_Kind.HEADING, _Kind.RULE, _Kind.TABLE)}


@dataclass(frozen=True, slots=True)
class _Part:
    """Top-level lines `start` to `end` of a text; `title` is a heading's text."""

    kind: _Kind
    start: int
    end: int
    title: str = ""


def fit_blocks(markdown: str, most: int = BLOCK_LIMIT) -> str:
    """Return a text for which Slack creates at most `most` blocks (two or more), unchanged if possible."""
    if markdown.count("\n") < most:  # a block has at least one line
        return markdown
    markdown = markdown.replace("\r\n", "\n").replace("\r", "\n") if "\r" in markdown else markdown
    parts = list(_read_parts(markdown))
    if _count_blocks(parts) <= most:
        return markdown
    surplus = _find_surplus(parts, most)
    spacious = _replace(markdown, surplus, _write_spacious)
    return spacious if len(spacious) <= MARKDOWN_LIMIT else _replace(markdown, surplus, _write_short)


def _read_parts(markdown: str) -> Iterator[_Part]:
    tokens = _parser().parse(markdown)
    for number, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        kind = _OWN_BLOCKS.get(token.type, _Kind.RUN)
        title = tokens[number + 1].content if kind is _Kind.HEADING else ""
        yield _Part(kind, token.map[0], token.map[1], title)


def _count_blocks(parts: list[_Part]) -> int:
    runs = sum(
        part.kind is _Kind.RUN and before is not _Kind.RUN
        for part, before in zip(parts, [None, *(one.kind for one in parts)], strict=False)
    )
    return runs + sum(part.kind is not _Kind.RUN for part in parts)


def _find_surplus(parts: list[_Part], most: int) -> list[_Part]:
    """Return the parts that may not be separate blocks; one block is reserved for the text after the last."""
    count, in_run = 0, False
    surplus: list[_Part] = []
    for part in parts:
        own = part.kind is not _Kind.RUN
        if own and count + 2 <= most:
            count, in_run = count + 1, False
            continue
        if own:
            surplus.append(part)
        if not in_run:
            count, in_run = count + 1, True
    return surplus


def _replace(markdown: str, surplus: list[_Part], write: Callable[[_Part, list[str]], list[str]]) -> str:
    lines = markdown.split("\n")
    for part in reversed(surplus):
        lines[part.start : part.end] = write(part, lines[part.start : part.end])
    return "\n".join(lines)


def _write_spacious(part: _Part, lines: list[str]) -> list[str]:
    if part.kind is _Kind.TABLE:
        return ["```", *lines, "```"]
    return ["", f"**{part.title}**", ""] if part.title else [""]


def _write_short(part: _Part, lines: list[str]) -> list[str]:
    """Write a part with at most its original number of characters; a table without its second line is
    text.
    """
    if part.kind is _Kind.TABLE:
        return [lines[0], *lines[2:]]
    return [part.title if part.title[:1].isalnum() else f"\\{part.title}" if part.title else ""]


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")
