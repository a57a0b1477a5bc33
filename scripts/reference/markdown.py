"""Markdown helpers for generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Generated from the code by `make docs`. Edit the code, not this file. -->"


def page(title: str, *blocks: str) -> str:
    """Join a title and blocks into a page; empty blocks are skipped."""
    return "\n\n".join([f"# {title}", GENERATED, *(block.strip("\n") for block in blocks if block)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table whose cells are Markdown."""
    lines = [_row(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def first_line(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def code(value: object) -> str:
    """Format a value as inline code."""
    return f"`{value}`"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
