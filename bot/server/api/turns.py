"""Routes to list and retry turns and to answer their questions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from bot.access import Permission, Role
from bot.dispatch.reply.sender import DOCUMENT_TYPE
from bot.domain import PartKind
from bot.server.api import button_clicks, local_chats, presenters, schemas
from bot.server.api import retry as repeating
from bot.server.api.auth import By, open_to
from bot.server.api.dependencies import Services
from bot.server.api.errors import not_found
from bot.server.api.pagination import DEFAULT, Cursor, Limit, parse_cursor
from bot.server.api.read_audit import record_conversation_read, record_turns_read
from bot.server.api.subscriptions import Subscriptions
from bot.store import read_models
from bot.store.conversations import ConversationView
from bot.store.read_models import list_turns_of_owner

Id = Annotated[int, Path(ge=1, lt=2**53)]
Index = Annotated[int, Path(ge=0, lt=1000)]
router = APIRouter(prefix="/api/turns", tags=["turns"])


@router.get("")
@open_to(Role.MEMBER)
async def list_turns(
    services: Services,
    by: By,
    conversation: Annotated[
        int | None, Query(ge=1, lt=2**53, description="Conversation whose turns to list; omit it for all.")
    ] = None,
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> schemas.Turns:
    """List the turns of a conversation, or of all (for members: of their own), newest first."""
    known: dict[int, ConversationView] = {}
    if conversation is not None:
        known[conversation] = await local_chats.visible_conversation(services, by, conversation)
        await record_conversation_read(services, by, known[conversation])
    elif by.has_permission(Permission.READ):
        await record_turns_read(services, by)
    if conversation is None and not by.has_permission(Permission.READ):
        found = await services.db.run(list_turns_of_owner, by.person, by.account, parse_cursor(cursor), limit)
    else:
        found = await services.db.run(read_models.list_turns, conversation, parse_cursor(cursor), limit)
    for view in found:
        if view.conversation not in known:
            known[view.conversation] = await local_chats.visible_conversation(services, by, view.conversation)
    return schemas.Turns(
        turns=[
            await presenters.present_turn(services, known[view.conversation], view)
            for view in presenters.visible_turns(found)
        ],
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.get("/{turn}")
@open_to(Role.MEMBER)
async def get_turn(turn: Id, services: Services, by: By) -> schemas.TurnInfo:
    """Return a turn."""
    of, view = await local_chats.visible_turn(services, by, turn)
    await record_conversation_read(services, by, of)
    return await presenters.present_turn(services, of, view)


@router.get("/{turn}/documents/{part}", response_class=Response)
@open_to(Role.MEMBER)
async def download_document(turn: Id, part: Index, services: Services, by: By) -> Response:
    """Download a file that the service created, such as an export."""
    of, view = await local_chats.visible_turn(services, by, turn)
    await record_conversation_read(services, by, of)
    found = [one for one in view.parts if one.index == part and one.kind is PartKind.DOCUMENT]
    if not found:
        raise not_found("document")
    headers = {"content-disposition": f'attachment; filename="{found[0].filename}"'}
    return Response(found[0].content, media_type=DOCUMENT_TYPE, headers=headers)


@router.post("/{turn}/parts/{part}/choice", status_code=202)
@open_to(Role.MEMBER)
async def click_choice(
    turn: Id, part: Index, body: button_clicks.ButtonClick, services: Services, by: By
) -> schemas.PostResult:
    """Answer a question as the caller (403, 409: rejected, with the reason)."""
    of, view = await local_chats.visible_turn(services, by, turn)
    return await button_clicks.click_button(services, by, of, view, part, body)


@router.post("/{turn}/retry", status_code=202)
@open_to(Role.MEMBER)
async def retry_turn(turn: Id, request: Request, services: Services, by: By) -> schemas.PostResult:
    """Answer the last turn of a conversation again, as `/retry` does (409: it is not the last turn)."""
    of, _ = await local_chats.visible_turn(services, by, turn)
    opened = await repeating.open_retry(services, by, of, turn)
    feeds: Subscriptions = request.app.state.feeds
    feeds.changed(of.id)
    return schemas.PostResult(conversation=of.id, event_id="", turn=opened)
