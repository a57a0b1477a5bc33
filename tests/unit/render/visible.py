"""What a reader sees of Markdown, without what a renderer may choose (bullets, spacing, drawing)."""

from __future__ import annotations

from collections.abc import Sequence

from bot.render.nodes import Block, CodeBlock, Heading, ListBlock, Paragraph, Quote, Rule, Table
from bot.render.tree import inline_text, parse


def pieces(blocks: Sequence[Block]) -> list[str]:
    """The texts of all leaves, in order."""
    out: list[str] = []
    for block in blocks:
        match block:
            case Paragraph(children) | Heading(_, children):
                out.append(inline_text(children))
            case CodeBlock(text, _):
                out.append(text)
            case Quote(inner):
                out += pieces(inner)
            case ListBlock(items, _):
                for item in items:
                    out += pieces(item.blocks)
            case Table(_, header, rows):
                out += [inline_text(cell) for row in (header, *rows) for cell in row]
            case Rule():
                pass
    return out


def visible(markdown: str) -> str:
    """All visible text without white space."""
    return "".join("".join(pieces(parse(markdown).blocks)).split())
