"""Search of a list by the texts that people see of its items, in ranges, so that each request is bounded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

Item = TypeVar("Item")
STEP, MOST = 500, 10_000
"""Numbers of items that are read at once, and for one page."""
Words = Annotated[str, Query(max_length=200, description="Text to find in what is shown, in any case.")]


async def find_page(
    load: Callable[[int, int], Awaitable[Sequence[tuple[int, Item | None, str]]]],
    words: str,
    before: int,
    limit: int,
) -> tuple[list[Item], str | None]:
    """Return a page of the items whose text contains the words, and the cursor of the next page, if any.

    `load(before, count)` returns ids below `before`, newest first, with the item (None: not for the caller)
    and its text. A page can have fewer items than `limit` although another one follows.
    """
    wanted, found, seen = words.strip().casefold(), list[Item](), 0
    while True:
        count = STEP if wanted or seen else limit
        batch = await load(before, count)
        for number, item, text in batch:
            before = number
            if item is not None and wanted in text.casefold():
                found.append(item)
                if len(found) == limit:
                    return found, str(before)
        seen += len(batch)
        if len(batch) < count:
            return found, None
        if seen >= MOST:
            return found, str(before)
