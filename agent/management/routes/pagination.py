"""Lists of the management routes page by `limit` and `cursor`; without them a list is whole."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agent.core.schemas import ListPage
from agent.errors import Invalid
from agent.management.routes.endpoints import answer

PAGING = ("limit", "cursor")
MOST = 200


def paged(request: Request, found: ListPage, field: str, name: str = "name") -> Response:
    """The part of a list that is asked for; its `next` is the cursor of what follows, left out at the end. A
    cursor is the name of the last item before. Raises Invalid for a limit or cursor that is none.
    """
    items: list[Any] = getattr(found, field)
    names = [getattr(item, name) for item in items]
    begin, limit = _after(names, request.query_params.get("cursor", "")), _limit(request, len(items))
    part = items[begin : begin + limit]
    following = names[begin + len(part) - 1] if part and begin + len(part) < len(items) else None
    return answer(found.model_copy(update={field: part, "next": following}))


def _limit(request: Request, whole: int) -> int:
    asked = request.query_params.get("limit")
    if asked is None:
        return whole
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= 3 and 1 <= int(asked) <= MOST):
        raise Invalid(f"limit: a number from 1 to {MOST}")
    return int(asked)


def _after(names: list[str], cursor: str) -> int:
    if not cursor:
        return 0
    if cursor not in names:
        raise Invalid("cursor: this is not a cursor of this list")
    return names.index(cursor) + 1
