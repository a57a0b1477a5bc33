"""Markdown for Discord, which supports it except for tables and headings below the third level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from bot.domain import Mention, MentionKind, ProgressItem
from bot.render.ast import Table
from bot.render.block_scanner import split_row
from bot.render.entities import grid
from bot.render.measure import characters
from bot.render.mentions import write_mentions
from bot.render.native_markdown import adapt_markdown
from bot.render.parse import grammar, parse
from bot.render.progress import escape, summarize_steps
from bot.render.references import resolve_references
from bot.render.renderer import CODE_TABLES, MarkdownRenderer, Renderer, length_limit
from bot.render.split import GrowingSplit

DISCORD_TEXT_LIMIT = 2000
"""Characters of a message (docs.discord.com/developers/resources/message#create-message)."""
PART_LIMIT = DISCORD_TEXT_LIMIT - 50
"""What a part may be: a frame of it is closed by a few signs more."""
_FENCES = 8
_DEEP_HEADING = re.compile(r"#{4,6}(?=\s)")
_MENTION = re.compile(r"(?<=<@)(?=[!&]?\d)|(?<=<#)(?=\d)")
_ID = re.compile(r"[1-9]\d{0,19}")
_MARGIN = re.compile(r"[ >]*")
_SIGN = {MentionKind.PERSON: "@", MentionKind.CHANNEL: "#", MentionKind.ROLE: "@&"}
"""docs.discord.com/developers/reference#message-formatting"""


def render_discord(markdown: str) -> str:
    """Return a message's content: the same Markdown with tables drawn in code blocks, adapted
    formulas and tags, and without mentions.
    """
    markdown = _escape_mentions(resolve_references(markdown))
    if "|" in markdown or "####" in markdown:
        markdown = _draw_tables(markdown)
    return adapt_markdown(markdown, DISCORD_TEXT_LIMIT, escape=_escape_mentions)


def _escape_mentions(markdown: str) -> str:
    return _MENTION.sub("\u200b", markdown) if "<" in markdown else markdown


def _draw_tables(markdown: str) -> str:
    """Draw tables in code blocks, and lower deep headings to the third level."""
    lines = markdown.split("\n")
    changes: list[tuple[int, int, list[str]]] = []
    for token in grammar().parse(markdown):
        if token.map is None:
            continue
        start, end = token.map
        if token.type == "table_open":
            changes.append((start, end, _drawn(lines[start:end])))
        elif token.type == "heading_open" and token.markup.startswith("####"):
            changes.append((start, start + 1, [_DEEP_HEADING.sub("###", lines[start], count=1)]))
    for start, end, instead in reversed(changes):
        lines[start:end] = instead
    return "\n".join(lines)


def mention_in_discord(content: str, mentions: Sequence[Mention]) -> tuple[str, tuple[Mention, ...]]:
    """Return a message's content with mentions, and the list of mentions."""
    return write_mentions(content, mentions, _write_mention, limit=DISCORD_TEXT_LIMIT)


def _write_mention(mention: Mention) -> str:
    return f"<{_SIGN[mention.kind]}{mention.id}>" if _ID.fullmatch(mention.id) else ""


def _drawn(rows: Sequence[str]) -> list[str]:
    """Return a table as a code block, with the margin of an enclosing quote."""
    found = _MARGIN.match(rows[0])
    margin = found[0] if found and ">" in found[0] else ""
    blocks = parse("\n".join(row[len(margin) :].lstrip() for row in rows)).blocks
    if len(blocks) != 1 or not isinstance(blocks[0], Table):
        return list(rows)
    drawn = grid(blocks[0]).replace("```", "'''")
    return [margin + line for line in ("```", *drawn.split("\n"), "```")]


@dataclass(frozen=True, slots=True)
class DiscordWeigher:
    """A line's weight is its length; tables are drawn as grids in fences."""

    def text(self, line: str) -> int:
        weight = characters(line) + line.count("<") + 1
        if "|" in line:  # may be a table's header, which is drawn with a rule below
            weight = 2 * max(weight, cell_len(line) + 2) + _FENCES
        return weight

    def code(self, line: str) -> int:
        return characters(line) + line.count("<") + 1

    def cells(self, row: str) -> tuple[int, ...]:
        return tuple(max(characters(cell) + cell.count("<"), cell_len(cell)) for cell in split_row(row))

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return rows * (sum(widths) + 3 * len(widths)) + _FENCES


def _length(markdown: str) -> int:
    return characters(render_discord(markdown))


def growing_for_discord() -> GrowingSplit:
    """Return `split_for_discord` for a growing text."""
    return GrowingSplit(limit=PART_LIMIT, measure=_length, weigher=DiscordWeigher())


def split_for_discord(markdown: str) -> list[str]:
    """Split into parts whose content after `render_discord` is at most `PART_LIMIT` characters."""
    return growing_for_discord().split(markdown)


def progress_in_discord(items: Sequence[ProgressItem]) -> str:
    """Build one line of subtext, separate from the answer (support.discord.com, "Markdown Text 101",
    Subtext).
    """
    return f"-# {escape(summarize_steps(items))}"


DISCORD: Renderer = MarkdownRenderer(
    "discord",
    growing_for_discord,
    f"{CODE_TABLES} {length_limit(f'{DISCORD_TEXT_LIMIT:,} characters')}",
    progress_in_discord,
)
