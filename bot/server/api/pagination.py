"""Lists page by `limit` and `cursor`; a cursor is opaque to clients."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query

from bot.store.rows import NEWEST

Limit = Annotated[int, Query(ge=1, le=200, description="At most so many.")]
Cursor = Annotated[str, Query(max_length=64, description="`next` of the page before; absent for the first.")]
Names = Annotated[str, Query(max_length=256, description="`next` of the page before; absent for the first.")]
"""A cursor of a list that is in the order of names."""
DEFAULT = 50


def parse_cursor(cursor: str) -> int:
    """The id below which a page begins. Raises 422 for what is no cursor."""
    if not cursor:
        return NEWEST
    if not cursor.isdecimal() or int(cursor) > NEWEST:
        raise HTTPException(422, "cursor: this is not a cursor of this list")
    return int(cursor)
