"""Render a memory as text for the model, within a token limit and safely quoted."""

from __future__ import annotations

from agent.core.memory_document import MemoryDocument
from agent.memory.patch import rank_facts
from agent.models.capabilities import estimate_tokens

MAX_FACTS = 15
RESERVED_TOKENS = 64
"""Tokens reserved for the surrounding tags and their line."""
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
    """Render summaries and the best facts in at most `tokens` (tags included); "" for an empty memory.

    Token counts are estimates that err on the high side (`agent.models.capabilities.estimate_tokens`), since
    providers count differently and some tokenizers would have to be downloaded.
    """
    labels = _GROUP if group else _PERSON
    lines = [f"{labels[name]}: {one.summary}" for name, one in document.list_summaries() if one.summary]
    lines += [f"- ({fact.category}) {fact.content}" for fact in rank_facts(document.facts)[:MAX_FACTS]]
    head = "About this group chat:" if group else "About the person you are talking to:"
    left = tokens - RESERVED_TOKENS - _estimate_tokens(head)
    kept = []
    for line in map(escape_tags, lines):
        if (cost := _estimate_tokens(line)) <= left:
            kept.append(line)
            left -= cost
    return "\n".join([head, *kept]) if kept else ""


def escape_tags(text: str) -> str:
    """Escape angle brackets, so that the text can't open or close a tag. Idempotent."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _estimate_tokens(line: str) -> int:
    return estimate_tokens(line) + 1
