"""The one Markdown tree: frozen blocks and inlines that every renderer walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Align: TypeAlias = Literal["left", "center", "right", ""]


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; entities and escapes are already decoded."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """An inline code span, verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in TeX's notation, with its delimiters."""

    text: str


@dataclass(frozen=True, slots=True)
class Emphasis:
    """`*x*` or `_x_`."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Strong:
    """`**x**` or `__x__`."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Strike:
    """`~~x~~`."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class ScriptText:
    """Superscript (`<sup>x</sup>`, `is_raised`) or subscript (`<sub>x</sub>`)."""

    children: tuple[Inline, ...]
    is_raised: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A link. Images are links too, with their alternative text as the label."""

    href: str
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """A line break inside a paragraph; `hard` if requested by the author."""

    hard: bool


Inline: TypeAlias = Text | Code | Formula | Emphasis | Strong | Strike | ScriptText | Link | Break


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class HeadingNode:
    """A heading of level 1 to 6."""

    level: int
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Fenced or indented code without its last line break; `language` is the fence's first word or empty."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A block quote."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item; `checked` is None unless it is a task."""

    blocks: tuple[Block, ...]
    checked: bool | None


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list; `start` is the first number of an ordered one, None for bullets."""

    items: tuple[ListItem, ...]
    start: int | None


Cell: TypeAlias = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as there are columns."""

    align: tuple[Align, ...]
    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break."""


Block: TypeAlias = Paragraph | HeadingNode | CodeBlock | Quote | ListBlock | Table | Rule


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A parsed text."""

    blocks: tuple[Block, ...]
