"""Render the agent's progress as text, for platforms without a task list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.shared.text import shorten
from bot.domain import ProgressItem, ProgressState

SIGNS = {
    ProgressState.PENDING: "○",
    ProgressState.ACTIVE: "▸",
    ProgressState.DONE: "✓",
    ProgressState.FAILED: "✗",
}
LINE_ITEMS, LINE_TITLE = 3, 60
"""Steps in progress that one line shows, and characters of a title."""
_MARKUP = re.compile(r"([\\`*_\[\]<>~|])")


def checklist(items: Sequence[ProgressItem]) -> str:
    """Return Markdown that quotes one line per item. Titles are displayed literally, never as markup."""
    return "  \n".join(f"> {escape(line)}" for line in list_steps(items))


def list_steps(items: Sequence[ProgressItem], limit: int = 0) -> list[str]:
    """Return a line of plain text per item, with titles of at most `limit` characters (0: unlimited)."""
    return [f"{SIGNS[one.state]} {shorten(one.title, limit or len(one.title))}" for one in items]


def summarize_steps(items: Sequence[ProgressItem]) -> str:
    """Return a line of plain text with the step that has just failed, the steps in progress, and the next
    one.
    """
    return " · ".join(list_steps(select_current(items), LINE_TITLE))


def escape(text: str) -> str:
    """Escape plain text for Markdown."""
    return _MARKUP.sub(r"\\\1", text)


def select_current(items: Sequence[ProgressItem]) -> list[ProgressItem]:
    """Return the currently relevant items: the last finished one if it failed or nothing is in progress."""
    active = [one for one in items if one.state is ProgressState.ACTIVE]
    pending = [one for one in items if one.state is ProgressState.PENDING]
    finished = [one for one in items if one.state in (ProgressState.DONE, ProgressState.FAILED)]
    last = [one for one in finished[-1:] if one.state is ProgressState.FAILED or not active]
    return [*last, *active[-LINE_ITEMS:], *pending[:1]]
