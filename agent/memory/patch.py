"""What a model says has to change in a memory: its whole answer is one JSON object, or none of it counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from agent.core.memory_document import Category, DocumentPart, Fact, MemoryDocument, Summary

_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n?```", re.DOTALL)


class InvalidAnswer(ValueError):
    """The answer is not the object that was asked for; the text tells the model what is wrong with it."""


class _PatchPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)


class UserPatch(_PatchPart):
    """New summaries; None leaves one as it is, "" empties it."""

    work_context: StrictStr | None = None
    personal_context: StrictStr | None = None
    top_of_mind: StrictStr | None = None


class HistoryPatch(_PatchPart):
    """New summaries; None leaves one as it is, "" empties it."""

    recent_months: StrictStr | None = None
    earlier_context: StrictStr | None = None
    long_term_background: StrictStr | None = None


class FactDraft(_PatchPart):
    """A fact to add."""

    content: StrictStr
    category: Category
    confidence: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class MemoryPatch(_PatchPart):
    """The whole answer. `remove` are ids of facts that do not hold any more."""

    user: UserPatch = UserPatch()
    history: HistoryPatch = HistoryPatch()
    add: tuple[FactDraft, ...] = ()
    remove: tuple[StrictStr, ...] = ()


def parse_patch(answer: str) -> MemoryPatch:
    """The change that an answer holds, in a code fence or not. Raises AnswerRefused."""
    text = _THOUGHT.sub("", answer).strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    try:
        return MemoryPatch.model_validate_json(text)
    except ValidationError as error:
        raise InvalidAnswer(
            "; ".join(_describe_error(one) for one in error.errors(include_url=False)[:5])
        ) from None


def _describe_error(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "the answer"
    return f"{where}: {error['msg']}"


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
