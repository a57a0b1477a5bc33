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
LINE_ITEMS, LINE_TITLE = 3, 60
"""Steps in progress that one line shows, and characters of a title."""
_MARKUP = re.compile(r"([\\`*_\[\]<>~|])")


def checklist(items: Sequence[ProgressItem]) -> str:
    """Markdown: a quote of one line for each item. Titles are shown as they are, never as markup."""
    return "  \n".join(f"> {_item(item, item.title)}" for item in items)


def progress_line(items: Sequence[ProgressItem]) -> str:
    """Markdown: one line with what has just failed, what is in progress, and what comes next."""
    return " · ".join(_item(item, _shorten(item.title)) for item in select_current(items))


def select_current(items: Sequence[ProgressItem]) -> list[ProgressItem]:
    """Return the items that matter now: the last finished one if it failed or nothing is in progress."""
    active = [one for one in items if one.state is ProgressState.ACTIVE]
    pending = [one for one in items if one.state is ProgressState.PENDING]
    finished = [one for one in items if one.state in (ProgressState.DONE, ProgressState.FAILED)]
    last = [one for one in finished[-1:] if one.state is ProgressState.FAILED or not active]
    return [*last, *active[-LINE_ITEMS:], *pending[:1]]


def _item(item: ProgressItem, title: str) -> str:
    return f"{SIGNS[item.state]} {_MARKUP.sub(_escaped, title)}"


def _shorten(title: str) -> str:
    return title if len(title) <= LINE_TITLE else f"{title[: LINE_TITLE - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[1]
