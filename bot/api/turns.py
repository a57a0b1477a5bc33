"""Turns: list, one, answer again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from bot.api import places, shapes, views
from bot.api.paging import DEFAULT, Cursor, Limit, before
from bot.api.services import Services

Id = Annotated[int, Path(ge=1, lt=2**53)]
router = APIRouter(prefix="/api/turns", tags=["turns"])


@router.get("")
async def list_turns(
    services: Services,
    conversation: Annotated[int, Query(ge=1, lt=2**53, description="Whose turns.")],
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> shapes.Turns:
    """Turns of a conversation, newest first."""
    of = await places.conversation(services, conversation)
    found = await services.store.turns(conversation, before(cursor), limit)
    return shapes.Turns(
        turns=[await views.turn(services, of, view) for view in found],
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.get("/{turn}")
async def get_turn(turn: Id, services: Services) -> shapes.Turn:
    """One turn."""
    of, view = await places.turn(services, turn)
    return await views.turn(services, of, view)


@router.post("/{turn}/retry", status_code=202)
async def retry(turn: Id, services: Services) -> shapes.Posted:
    """The `/retry` command: answer the turn again. Only the last one of a conversation can be (409)."""
    of, _ = await places.turn(services, turn)
    places.writable(services, of)
    last = await services.store.last_answered(of.id)
    if last is None or last.id != turn:
        raise HTTPException(409, "Only the last answered turn of a conversation can be answered again.")
    return await places.post(services, of, "/retry")
