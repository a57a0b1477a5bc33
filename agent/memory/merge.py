"""How a change becomes part of a memory: what is taken, what goes, and what stays when there is too much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from pydantic import BaseModel

from agent.core.memory_document import Category, DocumentPart, Fact, MemoryDocument, Summary
from agent.memory.patch import FactDraft, MemoryPatch

SENTENCES = 3
SUMMARY_CHARACTERS = 600
FACT_CHARACTERS = 300
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class FactLimits:
    """`facts`: how many are kept at most; `confidence`: what a model's fact needs at least."""

    facts: int = 100
    confidence: float = 0.7


def apply_patch(
    document: MemoryDocument, patch: MemoryPatch, limits: FactLimits, *, now: str, source: str, update_id: str
) -> MemoryDocument:
    """The document with a model's change in it. Facts that go, go before others come."""
    going = set(patch.remove)
    kept = [fact for fact in document.facts if fact.id not in going]
    for wanted in patch.add:
        if wanted.confidence >= limits.confidence:
            kept = add_fact(kept, _build_fact(wanted, now=now, source=source))
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
    """The facts with one more; one that says the same stays in its place, as sure as the surer of the two."""
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
    """Whether two facts say the same, whatever the case and the space around and within them."""
    return to_line(one).casefold() == to_line(other).casefold()


def keep_best(facts: Sequence[Fact], limit: int) -> tuple[Fact, ...]:
    """The facts that are surest, then newest, in the order in which they stood."""
    if len(facts) <= limit:
        return tuple(facts)
    chosen = {fact.id for fact in rank_facts(facts)[:limit]}
    return tuple(fact for fact in facts if fact.id in chosen)


def rank_facts(facts: Iterable[Fact]) -> list[Fact]:
    """The surest first, of equally sure ones the newest."""
    newest = sorted(facts, key=lambda fact: fact.created_at, reverse=True)
    return sorted(newest, key=lambda fact: fact.confidence, reverse=True)


def to_line(text: str, limit: int = FACT_CHARACTERS) -> str:
    """The text as one line of at most `most` characters, without what can't be printed."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def limit_sentences(text: str) -> str:
    """The first three sentences of a summary, as one line."""
    parts = [part for part in _SENTENCE_END.split(to_line(text, len(text) or 1)) if part]
    return to_line(" ".join(parts[:SENTENCES]), SUMMARY_CHARACTERS)


def new_fact(content: str, category: Category, confidence: float, *, now: str, source: str) -> Fact:
    """A fact with an id of its own."""
    return Fact(
        id=f"fact_{uuid4().hex[:12]}",
        content=to_line(content),
        category=category,
        confidence=confidence,
        created_at=now,
        source=source,
    )


def _build_fact(wanted: FactDraft, *, now: str, source: str) -> Fact:
    return new_fact(wanted.content, wanted.category, wanted.confidence, now=now, source=source)


def _patch_summaries(part: DocumentPart, patch: BaseModel, now: str) -> DocumentPart:
    said = {name: text for name, text in patch if text is not None}
    new = {name: Summary(summary=limit_sentences(text), updated_at=now) for name, text in said.items()}
    return part.model_copy(update=new)
