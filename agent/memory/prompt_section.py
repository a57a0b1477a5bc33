"""Rendering of a memory as text for the model, within a token limit and safely quoted."""

from __future__ import annotations

from collections.abc import Sequence

from agent.memory.patch import rank_facts
from agent.models.capabilities import estimate_tokens
from agent.shared.memory_document import Fact, MemoryDocument

MAX_FACTS, MAX_PREFERENCES = 15, 10
RESERVED_TOKENS = 128
"""Tokens reserved for the surrounding tags and what they say about it."""
_PERSON = {
    "work_context": "Work",
    "personal_context": "Personal",
    "top_of_mind": "Top of mind",
    "recent_months": "Recent months",
    "earlier_context": "Earlier",
    "long_term_background": "Background",
}
_GROUP = {**_PERSON, "personal_context": "People"}


def render_memory(document: MemoryDocument, *, group: bool, tokens: int) -> str:
    """Render preferences, summaries and the best other facts in at most `tokens` (including tags); "" for an
    empty memory. Later content is omitted first.

    Token counts are estimates that err on the high side (`agent.models.capabilities.estimate_tokens`), since
    providers count differently and some tokenizers would have to be downloaded.
    """
    labels = _GROUP if group else _PERSON
    summaries = [f"{labels[name]}: {one.summary}" for name, one in document.list_summaries() if one.summary]
    preferences, others = _choose_facts(document.facts)
    lines = [*map(_render_fact, preferences), *summaries, *map(_render_fact, others)]
    head = "About this group chat:" if group else "About the person you are talking to:"
    left = tokens - RESERVED_TOKENS - _estimate_tokens(head)
    kept = []
    for line in map(escape_tags, lines):
        if (cost := _estimate_tokens(line)) <= left:
            kept.append(line)
            left -= cost
    return "\n".join([head, *kept]) if kept else ""


def _choose_facts(facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Return the best preferences and the best other facts."""
    ranked = rank_facts(facts)
    preferences = [fact for fact in ranked if fact.category == "preference"][:MAX_PREFERENCES]
    others = [fact for fact in ranked if fact.category != "preference"]
    return preferences, others[: MAX_FACTS - len(preferences)]


def _render_fact(fact: Fact) -> str:
    return f"- ({fact.category}) {fact.content}"


def escape_tags(text: str) -> str:
    """Escape angle brackets, so that the text can't open or close a tag. Idempotent."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _estimate_tokens(line: str) -> int:
    return estimate_tokens(line) + 1
