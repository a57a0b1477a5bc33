"""Render Markdown as plain text with entities: styled ranges of the text.

A line of the result is at most two characters longer than the source line it comes from (weighers
of a growing text rely on that), so nested blocks are indented by two columns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rich.cells import cell_len

from bot.render.ast import (
    Align,
    Block,
    Break,
    Code,
    CodeBlock,
    Emphasis,
    Formula,
    HeadingNode,
    Inline,
    Link,
    ListBlock,
    ListItem,
    MarkdownDocument,
    Paragraph,
    Quote,
    ScriptText,
    Strike,
    Strong,
    Table,
    Text,
)
from bot.render.parse import address_of, inline_text, is_web_link, link_label, parse, script_text

Style: TypeAlias = Literal[
    "bold", "italic", "strikethrough", "code", "pre", "text_link", "text_mention", "blockquote"
]

_STYLES: dict[type[Inline], Style] = {Strong: "bold", Emphasis: "italic", Strike: "strikethrough"}
_BULLETS = ("• ", "◦ ", "▪ ")
_RULE = "———"


@dataclass(frozen=True, slots=True)
class EntityMark:
    """`style` from `start` to `end` (indices in the text); `data` is a link's address or a code's
    language.
    """

    style: Style
    start: int
    end: int
    data: str = ""


@dataclass(frozen=True, slots=True)
class Laid:
    """Text with its marks, outer ones first."""

    text: str
    marks: tuple[EntityMark, ...] = ()

    def marked(self, style: Style, data: str = "") -> Laid:
        """Return the same text, entirely in `style`."""
        if not self.text:
            return self
        return Laid(self.text, (EntityMark(style, 0, len(self.text), data), *self.marks))


def joined(pieces: Sequence[Laid], gap: str = "") -> Laid:
    """Join the pieces that display anything, with `gap` between them."""
    shown = [piece for piece in pieces if piece.text]
    marks: list[EntityMark] = []
    at = 0
    for piece in shown:
        marks += [replace(mark, start=mark.start + at, end=mark.end + at) for mark in piece.marks]
        at += len(piece.text) + len(gap)
    return Laid(gap.join(piece.text for piece in shown), tuple(marks))


def lay_out(document: MarkdownDocument) -> Laid:
    """Lay out a whole document, with a blank line between blocks."""
    return _blocks(document.blocks, "\n\n", 0)


def _blocks(blocks: Sequence[Block], gap: str, depth: int) -> Laid:
    return joined([_block(block, depth) for block in blocks], gap)


def _block(block: Block, depth: int) -> Laid:
    match block:
        case Paragraph() | HeadingNode():
            laid = inlines(block.children)
            return laid.marked("bold") if isinstance(block, HeadingNode) else laid
        case CodeBlock(text, language):
            return Laid(text).marked("pre", language)
        case Quote(inner):
            return _blocks(inner, "\n", depth).marked("blockquote")
        case ListBlock():
            return _list(block, depth)
        case Table():
            return Laid(grid(block)).marked("pre")
        case _:
            return Laid(_RULE)


def _list(block: ListBlock, depth: int) -> Laid:
    items = []
    for index, item in enumerate(block.items):
        bullet = _BULLETS[min(depth, len(_BULLETS) - 1)]
        number = bullet if block.start is None else f"{block.start + index}. "
        items.append(_item(item, number, depth))
    return joined(items, "\n")


def _item(item: ListItem, marker: str, depth: int) -> Laid:
    if item.checked is not None:
        marker = "☑ " if item.checked else "☐ "
    lead = Laid("  " * depth + marker)
    if item.blocks and isinstance(item.blocks[0], ListBlock):  # a list that a split has opened again
        return _blocks(item.blocks, "\n", depth + 1)
    parts = [_block(block, depth + 1) for block in item.blocks]
    for index, block in enumerate(item.blocks):
        if index and isinstance(block, Paragraph | HeadingNode):
            parts[index] = joined([Laid("  " * (depth + 1)), parts[index]])
    first = joined([lead, *parts[:1]])
    return joined([first, *parts[1:]], "\n")


def inlines(nodes: Sequence[Inline]) -> Laid:
    """Lay out the inlines of a paragraph, heading or cell."""
    return joined([_inline(node) for node in nodes])


def _inline(node: Inline) -> Laid:
    match node:
        case Text(text) | Formula(text):
            return Laid(text)
        case Code(text):
            return Laid(text).marked("code")
        case Break():
            return Laid("\n")
        case ScriptText():
            return Laid(script_text(node))
        case Link():
            return _link(node)
        case Strong() | Emphasis() | Strike():
            return inlines(node.children).marked(_STYLES[type(node)])


def _link(link: Link) -> Laid:
    label = inlines(link_label(link))
    if address := address_of(link):
        return joined([label, Laid(f" ({address})")])
    return label.marked("text_link", link.href) if is_web_link(link.href) else label


def grid(table: Table) -> str:
    """Draw a table with columns aligned by display width, where a wide character counts as two."""
    rows = [[inline_text(cell, " ") for cell in row] for row in (table.header, *table.rows)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(table.align))]
    lines = [_row(row, widths, table.align) for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int], align: Sequence[Align]) -> str:
    padded = [_pad(*column) for column in zip(cells, widths, align, strict=True)]
    return " | ".join(padded).rstrip()


def _pad(cell: str, width: int, align: Align) -> str:
    space = width - cell_len(cell)
    left = space if align == "right" else space // 2 if align == "center" else 0
    return " " * left + cell + " " * (space - left)


def render_plain(markdown: str) -> str:
    """Return the visible text of `markdown`, with bullets, numbers and drawn tables, without markup, and with
    `> ` before quotes.
    """
    laid = lay_out(parse(markdown))
    text = laid.text
    quotes = [mark for mark in laid.marks if mark.style == "blockquote"]
    for mark in sorted(quotes, key=lambda mark: mark.start, reverse=True):
        quoted = text[mark.start : mark.end].replace("\n", "\n> ")
        text = text[: mark.start] + "> " + quoted + text[mark.end :]
    return text
