"""Placeholders for quotations that can't be read, so that the quoting message is kept."""

from __future__ import annotations

import structlog

from bot.domain import Quotation, QuotationKind
from bot.platforms.payload import Malformed

log = structlog.get_logger(__name__)

UNREADABLE = "[unreadable]"
"""Text of a quotation whose payload violates its platform's documentation."""


def mark_unreadable(kind: QuotationKind, problem: Malformed, files: tuple[str, ...] = ()) -> Quotation:
    """Return a placeholder for an unreadable quotation; `files` are the names of its attachments."""
    log.warning("quotation_unreadable", kind=kind.value, reason=str(problem))
    return Quotation(kind, UNREADABLE, files=files)
