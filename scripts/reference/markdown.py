"""The little Markdown that the pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `make docs` from the code; edit the code, not this file. -->"


def page(title: str, *blocks: str) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", MADE, *(block.strip("\n") for block in blocks if block)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown."""
    lines = [_row(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def first_line(text: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def code(value: object) -> str:
    """A value as code."""
    return f"`{value}`"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
