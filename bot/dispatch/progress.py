"""What of the agent's work is worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import ProgressItem, ProgressState
from bot.runtime.port import Planned, Worked

MOST_ITEMS = 8


class Progress:
    """Collects what a run tells of its work."""

    def __init__(self) -> None:
        self._planned: tuple[ProgressItem, ...] = ()
        self._worked: dict[str, ProgressItem] = {}

    @property
    def items(self) -> tuple[ProgressItem, ...]:
        """What is worth showing now."""
        return compact(self._planned, tuple(self._worked.values()))

    def take(self, event: Planned | Worked) -> bool:
        """Take one event over; whether anything changed."""
        if isinstance(event, Planned):
            changed = self._planned != event.items
            self._planned = event.items
            return changed
        item = event.item
        known = self._worked.get(item.id)
        if not item.title:
            if known is None:
                return False
            item = replace(item, title=known.title)
        self._worked[item.id] = item
        return item != known

    def clear(self) -> None:
        """Forget it: the runtime begins anew."""
        self._planned = ()
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
