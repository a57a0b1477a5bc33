"""Render the agent's progress as Markdown, for platforms without a task list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.domain import ProgressItem, ProgressState

SIGNS = {
    ProgressState.PENDING: "○",
    ProgressState.ACTIVE: "▸",
    ProgressState.DONE: "✓",
    ProgressState.FAILED: "✗",
}
_MARKUP = re.compile(r"([\\`*_\[\]<>~|])")


def checklist(items: Sequence[ProgressItem]) -> str:
    """Markdown: a quote of one line for each item. Titles are shown as they are, never as markup."""
    lines = [f"> {SIGNS[item.state]} {_MARKUP.sub(_escaped, item.title)}" for item in items]
    return "  \n".join(lines)


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[1]
