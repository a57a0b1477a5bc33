"""What a reader sees of Markdown, without what a renderer may choose (bullets, spacing, drawing)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from bot.render.ast import Block, CodeBlock, HeadingNode, ListBlock, Paragraph, Quote, Rule, Table
from bot.render.parse import inline_text, parse

Leaf: TypeAlias = Paragraph | HeadingNode | CodeBlock | Table


def leaves(blocks: Sequence[Block]) -> list[Leaf]:
    """The blocks that hold text, in order."""
    out: list[Leaf] = []
    for block in blocks:
        if isinstance(block, Quote):
            out += leaves(block.blocks)
        elif isinstance(block, ListBlock):
            for item in block.items:
                out += leaves(item.blocks)
        elif not isinstance(block, Rule):
            out.append(block)
    return out


def _text(leaf: Leaf, *, header: bool = True) -> str:
    if isinstance(leaf, CodeBlock):
        return leaf.text
    if isinstance(leaf, Table):
        rows = (leaf.header, *leaf.rows) if header else leaf.rows
        return "".join(inline_text(cell) for row in rows for cell in row)
    return inline_text(leaf.children)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def visible(markdown: str) -> str:
    """All visible text without white space."""
    return _squeezed("".join(_text(leaf) for leaf in leaves(parse(markdown).blocks)))


def visible_parts(parts: Sequence[str]) -> str:
    """All visible text of the parts without white space and without the repeated headers of cut tables."""
    out, last = [], None
    for part in parts:
        found = leaves(parse(part).blocks)
        for index, leaf in enumerate(found):
            again = index == 0 and isinstance(leaf, Table) and isinstance(last, Table)
            repeats = again and (leaf.header == last.header or not any(leaf.header))
            out.append(_text(leaf, header=not repeats))
        last = found[-1] if found else None
    return _squeezed("".join(out))
