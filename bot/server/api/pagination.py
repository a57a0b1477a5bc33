"""Pagination by `limit` and `cursor`; cursors are opaque to clients."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query

from bot.store.connection import NEWEST

Limit = Annotated[int, Query(ge=1, le=200, description="Maximum number of items to return.")]
Cursor = Annotated[
    str, Query(max_length=64, description="`next` of the previous page; omit it for the first.")
]
Names = Annotated[
    str, Query(max_length=256, description="`next` of the previous page; omit it for the first.")
]
"""Cursor of a list that is ordered by name."""
DEFAULT = 50


def parse_cursor(cursor: str) -> int:
    """Return the id below which a page begins. Raises 422 for an invalid cursor."""
    if not cursor:
        return NEWEST
    if not cursor.isdecimal() or int(cursor) > NEWEST:
        raise HTTPException(422, "cursor: not a cursor of this list")
    return int(cursor)
