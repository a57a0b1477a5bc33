"""Show quotations to people as such: never as the words of the person who forwarded them."""

from __future__ import annotations

from collections.abc import Iterable

from bot.domain import Quotation

MARK = "> "


def with_quotations(text: str, quotations: Iterable[Quotation]) -> str:
    """Return a person's own words, followed by each quotation as quoted lines with its author."""
    return "\n".join(filter(None, [text, *(quote_lines(one) for one in quotations)]))


def quote_lines(quotation: Quotation) -> str:
    """Return a quotation as lines that start with `> `, the first one with its author if they are known."""
    files = [f"[{name}]" for name in quotation.files]
    said = "\n".join(filter(None, [quotation.text.strip(), *files])) or "…"
    author = quotation.author or quotation.author_id
    lines = f"{author}: {said}" if author else said
    return "\n".join(f"{MARK}{line}" for line in lines.splitlines())
