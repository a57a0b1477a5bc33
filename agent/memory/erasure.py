"""Erase what one person said from the memory of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agent.shared.memory_document import DocumentPart, MemoryDocument
from agent.shared.text_masking import TextMask, mask_sentences

P = TypeVar("P", bound=DocumentPart)


def erase_from_document(document: MemoryDocument, mask: TextMask, names: Sequence[str]) -> MemoryDocument:
    """Return the memory without the facts and summary sentences that quote or name the person."""
    facts = tuple(
        fact for fact in document.facts if mask_sentences(fact.content, mask, names) == fact.content
    )
    return document.model_copy(
        update={
            "facts": facts,
            "user": _erase_summaries(document.user, mask, names),
            "history": _erase_summaries(document.history, mask, names),
        }
    )


def _erase_summaries(part: P, mask: TextMask, names: Sequence[str]) -> P:
    changes = {}
    for name in type(part).model_fields:
        entry = getattr(part, name)
        text = mask_sentences(entry.summary, mask, names)
        if text != entry.summary:
            changes[name] = entry.model_copy(update={"summary": text})
    return part.model_copy(update=changes) if changes else part
