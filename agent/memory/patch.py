"""Parsing of a model's memory patch, and its application to a document within the limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import uuid4

import structlog
from pydantic import BaseModel, ConfigDict, Field, StrictStr
from pydantic.alias_generators import to_camel

from agent.memory.patch_entries import find_patch, select_entries
from agent.shared.memory_document import Category, DocumentPart, Fact, MemoryDocument, Summary
from agent.shared.reasoning_text import strip_reasoning
from agent.shared.text import replace_unprintable, shorten, to_one_line

log = structlog.get_logger(__name__)
UNREADABLE = "the answer: expected one JSON object with user, history, add and remove"


class InvalidAnswer(ValueError):
    """Raised for a completely unusable answer. The message describes the problem to the model."""


class _PatchPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)


class UserPatch(_PatchPart):
    """New summaries. None leaves a summary unchanged, "" empties it."""

    work_context: StrictStr | None = None
    personal_context: StrictStr | None = None
    top_of_mind: StrictStr | None = None


class HistoryPatch(_PatchPart):
    """New summaries. None leaves a summary unchanged, "" empties it."""

    recent_months: StrictStr | None = None
    earlier_context: StrictStr | None = None
    long_term_background: StrictStr | None = None


class FactDraft(_PatchPart):
    """A fact to add."""

    content: StrictStr
    category: Category
    confidence: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class MemoryPatch(_PatchPart):
    """The complete answer. `remove` lists the ids of facts that are no longer true."""

    user: UserPatch = UserPatch()
    history: HistoryPatch = HistoryPatch()
    add: tuple[FactDraft, ...] = ()
    remove: tuple[StrictStr, ...] = ()


def parse_patch(answer: str) -> MemoryPatch:
    """Parse an answer, skipping unusable entries, which are logged without their content.

    Raises InvalidAnswer if there is no patch in it, or none of its entries is usable.
    """
    found = find_patch(strip_reasoning(answer).strip())
    if found is None:
        raise InvalidAnswer(UNREADABLE)
    entries = select_entries(found)
    if entries.problems and not entries.usable:
        raise InvalidAnswer("; ".join(entries.problems[:5]))
    if entries.problems:
        log.warning("memory_entries_skipped", kept=entries.usable, problems=entries.problems[:5])
    return MemoryPatch.model_validate(entries.patch)


SENTENCES = 3
SUMMARY_CHARACTERS = 600
FACT_CHARACTERS = 300
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class FactLimits:
    """`facts`: maximum number of facts to keep; `confidence`: minimum confidence of a fact from the model."""

    facts: int = 100
    confidence: float = 0.7


def apply_patch(
    document: MemoryDocument, patch: MemoryPatch, limits: FactLimits, *, now: str, source: str, update_id: str
) -> MemoryDocument:
    """Return the document with the patch applied, removing facts before adding others."""
    going = set(patch.remove)
    kept = [fact for fact in document.facts if fact.id not in going]
    for wanted in patch.add:
        if wanted.confidence >= limits.confidence:
            fact = new_fact(wanted.content, wanted.category, wanted.confidence, now=now, source=source)
            kept = add_fact(kept, fact)
    return document.model_copy(
        update={
            "last_updated": now,
            "last_update_id": update_id,
            "user": _patch_summaries(document.user, patch.user, now),
            "history": _patch_summaries(document.history, patch.history, now),
            "facts": keep_best(kept, limits.facts),
        }
    )


def add_fact(facts: Iterable[Fact], new: Fact) -> list[Fact]:
    """Return the facts with a new one. A duplicate keeps its position and takes the higher confidence."""
    kept = list(facts)
    if not new.content:
        return kept
    for index, fact in enumerate(kept):
        if is_same_fact(fact.content, new.content):
            surer = max(fact.confidence, new.confidence)
            kept[index] = fact.model_copy(update={"confidence": surer})
            return kept
    return [*kept, new]


def is_same_fact(one: str, other: str) -> bool:
    """Return whether two facts differ only in case and white space."""
    return to_line(one).casefold() == to_line(other).casefold()


def keep_best(facts: Sequence[Fact], limit: int) -> tuple[Fact, ...]:
    """Return the facts with the highest confidence, then the newest, in their original order."""
    if len(facts) <= limit:
        return tuple(facts)
    chosen = {fact.id for fact in rank_facts(facts)[:limit]}
    return tuple(fact for fact in facts if fact.id in chosen)


def rank_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Sort facts by confidence, highest first, then newest first."""
    newest = sorted(facts, key=lambda fact: fact.created_at, reverse=True)
    return sorted(newest, key=lambda fact: fact.confidence, reverse=True)


def to_line(text: str, limit: int = FACT_CHARACTERS) -> str:
    """Return the text as one line of at most `limit` characters, without unprintable characters."""
    return shorten(to_one_line(replace_unprintable(text, " ")), limit)


def limit_sentences(text: str) -> str:
    """Return the first three sentences of a summary, as one line."""
    parts = [part for part in _SENTENCE_END.split(to_line(text, len(text) or 1)) if part]
    return to_line(" ".join(parts[:SENTENCES]), SUMMARY_CHARACTERS)


def new_fact(content: str, category: Category, confidence: float, *, now: str, source: str) -> Fact:
    return Fact(
        id=f"fact_{uuid4().hex[:12]}",
        content=to_line(content),
        category=category,
        confidence=confidence,
        created_at=now,
        source=source,
    )


def _patch_summaries(part: DocumentPart, patch: BaseModel, now: str) -> DocumentPart:
    said = {name: text for name, text in patch if text is not None}
    new = {name: Summary(summary=limit_sentences(text), updated_at=now) for name, text in said.items()}
    return part.model_copy(update=new)
