"""What of the agent's work is worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import TodosUpdated, ToolProgress

MAX_ITEMS = 8


class ProgressTracker:
    """Collects what a run tells of its work. `items` is what is worth showing now."""

    def __init__(self) -> None:
        self.items: tuple[ProgressItem, ...] = ()
        self._todos: tuple[ProgressItem, ...] = ()
        self._tools: dict[str, ProgressItem] = {}

    def record_event(self, event: TodosUpdated | ToolProgress) -> bool:
        """Take one event over; whether it changed what is worth showing."""
        before = self.items
        if isinstance(event, TodosUpdated):
            self._todos = event.items
        else:
            self._record_tool(event.item)
        self.items = select_items(self._todos, tuple(self._tools.values()))
        return self.items != before

    def _record_tool(self, item: ProgressItem) -> None:
        known = self._tools.get(item.id)
        if item.title:
            self._tools[item.id] = item
        elif known is not None:
            self._tools[item.id] = replace(known, state=item.state)

    def clear(self) -> None:
        """Forget it: the runtime begins anew."""
        self.items = self._todos = ()
        self._tools.clear()


def select_items(todos: Sequence[ProgressItem], tools: Sequence[ProgressItem]) -> tuple[ProgressItem, ...]:
    """At most MOST_ITEMS of what the agent plans and does.

    Of a plan, the items around the one that it is at, with what runs now below; without one, the latest
    steps.
    """
    running = [item for item in tools if item.state is ProgressState.ACTIVE]
    if not todos:
        return tuple(tools[-MAX_ITEMS:])
    below = running[-(MAX_ITEMS // 2) :]
    room = MAX_ITEMS - len(below)
    at = next((i for i, item in enumerate(todos) if item.state is not ProgressState.DONE), len(todos))
    start = max(0, min(at - 1, len(todos) - room))
    return (*todos[start : start + room], *below)
