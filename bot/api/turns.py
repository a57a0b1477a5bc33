"""Turns: list, one, answer again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from bot.access import Power, Role
from bot.api import choosing, places, repeating, shapes, views
from bot.api.callers import By, open_to
from bot.api.failures import missing
from bot.api.paging import DEFAULT, Cursor, Limit, before
from bot.api.reading import note_read, note_read_all
from bot.api.services import Services
from bot.api.watching import Feeds
from bot.dispatch.calls import DOCUMENT_TYPE
from bot.domain import PartKind
from bot.store.views import ConversationView

Id = Annotated[int, Path(ge=1, lt=2**53)]
Index = Annotated[int, Path(ge=0, lt=1000)]
router = APIRouter(prefix="/api/turns", tags=["turns"])


@router.get("")
@open_to(Role.MEMBER)
async def list_turns(
    services: Services,
    by: By,
    conversation: Annotated[int | None, Query(ge=1, lt=2**53, description="Absent: of all.")] = None,
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> shapes.Turns:
    """Turns of a conversation, or of all (for members: of their own), newest first."""
    known: dict[int, ConversationView] = {}
    if conversation is not None:
        known[conversation] = await places.conversation(services, by, conversation)
        await note_read(services, by, known[conversation])
    elif by.may(Power.READ):
        await note_read_all(services, by)
    if conversation is None and not by.may(Power.READ):
        found = await services.store.turns_owned(by.person, by.account, before(cursor), limit)
    else:
        found = await services.store.turns(conversation, before(cursor), limit)
    for view in found:
        if view.conversation not in known:
            known[view.conversation] = await places.conversation(services, by, view.conversation)
    return shapes.Turns(
        turns=[await views.turn(services, known[view.conversation], view) for view in views.said(found)],
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.get("/{turn}")
@open_to(Role.MEMBER)
async def get_turn(turn: Id, services: Services, by: By) -> shapes.Turn:
    """One turn."""
    of, view = await places.turn(services, by, turn)
    await note_read(services, by, of)
    return await views.turn(services, of, view)


@router.get("/{turn}/documents/{part}", response_class=Response)
@open_to(Role.MEMBER)
async def document(turn: Id, part: Index, services: Services, by: By) -> Response:
    """A file that the service wrote itself, such as an export, to be saved."""
    of, view = await places.turn(services, by, turn)
    await note_read(services, by, of)
    found = [one for one in view.parts if one.index == part and one.kind is PartKind.DOCUMENT]
    if not found:
        raise missing("document")
    headers = {"content-disposition": f'attachment; filename="{found[0].filename}"'}
    return Response(found[0].content, media_type=DOCUMENT_TYPE, headers=headers)


@router.post("/{turn}/parts/{part}/choice", status_code=202)
@open_to(Role.MEMBER)
async def choose(turn: Id, part: Index, body: choosing.Choice, services: Services, by: By) -> shapes.Posted:
    """Press a button of a question, as the caller; the answer says why it does not count (403, 409)."""
    of, view = await places.turn(services, by, turn)
    return await choosing.choose(services, by, of, view, part, body)


@router.post("/{turn}/retry", status_code=202)
@open_to(Role.MEMBER)
async def retry(turn: Id, request: Request, services: Services, by: By) -> shapes.Posted:
    """Answer the last turn of a conversation again, where it is, as `/retry` does; no other can be (409)."""
    of, _ = await places.turn(services, by, turn)
    opened = await repeating.repeat(services, by, of, turn)
    feeds: Feeds = request.app.state.feeds
    feeds.changed(of.id)
    return shapes.Posted(conversation=of.id, event_id="", turn=opened)
