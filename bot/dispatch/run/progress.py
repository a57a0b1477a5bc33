"""What of the agent's work is worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import Planned, Worked

MOST_ITEMS = 8


class Progress:
    """Collects what a run tells of its work. `items` is what is worth showing now."""

    def __init__(self) -> None:
        self.items: tuple[ProgressItem, ...] = ()
        self._planned: tuple[ProgressItem, ...] = ()
        self._worked: dict[str, ProgressItem] = {}

    def take(self, event: Planned | Worked) -> bool:
        """Take one event over; whether it changed what is worth showing."""
        before = self.items
        if isinstance(event, Planned):
            self._planned = event.items
        else:
            self._work(event.item)
        self.items = compact(self._planned, tuple(self._worked.values()))
        return self.items != before

    def _work(self, item: ProgressItem) -> None:
        known = self._worked.get(item.id)
        if item.title:
            self._worked[item.id] = item
        elif known is not None:
            self._worked[item.id] = replace(known, state=item.state)

    def clear(self) -> None:
        """Forget it: the runtime begins anew."""
        self.items = self._planned = ()
        self._worked.clear()


def compact(planned: Sequence[ProgressItem], worked: Sequence[ProgressItem]) -> tuple[ProgressItem, ...]:
    """At most MOST_ITEMS of what the agent plans and does.

    Of a plan, the items around the one that it is at, with what runs now below; without one, the latest
    steps.
    """
    running = [item for item in worked if item.state is ProgressState.ACTIVE]
    if not planned:
        return tuple(worked[-MOST_ITEMS:])
    below = running[-(MOST_ITEMS // 2) :]
    room = MOST_ITEMS - len(below)
    at = next((i for i, item in enumerate(planned) if item.state is not ProgressState.DONE), len(planned))
    start = max(0, min(at - 1, len(planned) - room))
    return (*planned[start : start + room], *below)
