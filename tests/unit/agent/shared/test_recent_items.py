"""A dictionary of bounded size."""

from __future__ import annotations

from agent.shared.recent_items import RecentItems


def test_the_oldest_items_are_dropped() -> None:
    items = RecentItems[str, int](2)
    items["a"] = 1
    items["b"] = 2
    items["a"] = 3
    assert items.setdefault("c", 4) == 4
    assert dict(items) == {"b": 2, "c": 4}


def test_an_item_that_is_used_again_can_stay() -> None:
    items = RecentItems[str, int](2)
    items["a"] = 1
    items["b"] = 2
    items.move_to_end("a")
    items["c"] = 3
    assert dict(items) == {"a": 1, "c": 3}
