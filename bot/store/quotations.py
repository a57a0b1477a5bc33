"""Quotations in messages, always displayed as such and never as the forwarding person's own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.shared.text import shorten, to_one_line
from bot.domain import InboundChange, Quotation, QuotationKind

MARK = "> "
LONGEST_FIRST_WORDS = 60
LABELLED_KINDS = frozenset(
    {
        QuotationKind.TRANSCRIPT,
        QuotationKind.POLL,
        QuotationKind.CHECKLIST,
        QuotationKind.LOCATION,
        QuotationKind.CONTACT,
        QuotationKind.STICKER,
        QuotationKind.UNSUPPORTED,
    }
)
"""Kinds of content whose text alone does not tell what it is."""


def with_quotations(text: str, quotations: Iterable[Quotation]) -> str:
    """Return a person's own text, followed by each quotation as quoted lines with its author."""
    return "\n".join(filter(None, [text, *(quote_lines(one) for one in quotations)]))


def apply_edit_to_quotations(before: Sequence[Quotation], change: InboundChange) -> tuple[Quotation, ...]:
    """Return a message's quotations after an edit. Existing transcripts, which the platform may not provide,
    are kept while their recordings exist.
    """
    after = (*before,)
    if change.quotations is not None:
        known = {name for one in change.quotations if _is_transcript(one) for name in one.files}
        kept = (one for one in before if _is_transcript(one) and known.isdisjoint(one.files))
        after = (*change.quotations, *kept)
    if change.attachments is None:
        return after
    files = {one.filename for one in change.attachments}
    return tuple(
        one for one in after if not (_is_transcript(one) and one.files and files.isdisjoint(one.files))
    )


def _is_transcript(quotation: Quotation) -> bool:
    return quotation.kind is QuotationKind.TRANSCRIPT


def first_words(text: str, quotations: Iterable[Quotation]) -> str:
    """Return the beginning of a message as a conversation title: its own text, or else the quoted text."""
    return shorten(to_one_line(text.strip() or with_quotations("", quotations)), LONGEST_FIRST_WORDS)


def quote_lines(quotation: Quotation) -> str:
    """Return a quotation as lines that start with `> `; the first line names the author, if known."""
    files = [f"[{name}]" for name in quotation.files]
    label = f"[{quotation.kind.value}]" if quotation.kind in LABELLED_KINDS else ""
    first = " ".join(filter(None, [label, quotation.text.strip()]))
    said = "\n".join(filter(None, [first, *files])) or "…"
    author = quotation.author or quotation.author_id
    lines = f"{author}: {said}" if author else said
    return "\n".join(f"{MARK}{line}" for line in lines.splitlines())
