"""Routes to list turns, and to answer their questions with buttons."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from bot.access import Permission, Role, Target
from bot.dispatch.reply.sender import document_type
from bot.domain import InboundMessage, Part, PartKind
from bot.server.api import local_chats, presenters, schemas
from bot.server.api.approvals import click_sender
from bot.server.api.auth import (
    HOUR,
    NOT_YOURS,
    By,
    Principal,
    accounts_with,
    check,
    conversation_target,
    may,
    open_to,
    record_conversation_read,
    record_turns_read,
)
from bot.server.api.conversations import EVENT_ID, PRESSED
from bot.server.api.dependencies import DEFAULT, ApiServices, Cursor, Limit, Services, parse_cursor
from bot.server.api.errors import not_found
from bot.server.api.traces import TraceBuilder, TurnTrace
from bot.store import read_models
from bot.store.approval_rules import REFUSALS
from bot.store.conversations import ConversationView, load_lane
from bot.store.read_models import TurnFilter, TurnGroup, TurnView
from bot.store.traces import load_times
from bot.store.turns import load_turn
from bot.texts import Texts, in_all_languages
from bot.turn import TurnKind


def texts_of(services: ApiServices, by: Principal, of: ConversationView) -> Texts:
    """Return the texts for the caller in that chat."""
    origin = of.origin(by.sender_on(of.platform), of.key.topic)
    return services.core.account(of.key.account).texts_for(origin)


class ButtonClick(BaseModel):
    """The clicked choice. `event_id` is chosen by the client; sending the same one again has no effect."""

    model_config = ConfigDict(extra="forbid")
    choice: str = Field(min_length=1, max_length=1000)
    event_id: str = Field("", pattern=rf"^({EVENT_ID})?$")


async def click_button(
    services: ApiServices, by: Principal, of: ConversationView, view: TurnView, index: int, click: ButtonClick
) -> schemas.PostResult:
    """Submit a click as the caller. It is stored before this function returns.

    Raises 403 if the caller may not decide, 404 if there is no such button, and 409 if the question is closed
    or cannot be answered now.
    """
    event_id = click.event_id or services.core.new_id()
    if click.event_id and (known := await local_chats.turn_of(services, of, PRESSED + event_id)) is not None:
        return _click_result(of, event_id, known)
    part, texts = _question_part(view, index), texts_of(services, by, of)
    if not presenters.is_open(view, part):
        raise HTTPException(409, texts("question_closed"))
    if click.choice not in part.choices:
        raise not_found("choice")
    await _may_decide(services, by, of, view)
    always = click.choice in in_all_languages("approve_always")
    if always and not may(services, by, Permission.DECIDE, Target(of.key.account)):
        raise HTTPException(403, texts("approval_foreign"))
    refused = await _submit_click(services, by, of, view, part, click.choice, PRESSED + event_id)
    if refused is not None:
        foreign = {text for key in REFUSALS for text in in_all_languages(key)}
        raise HTTPException(403 if refused in {"", *foreign} else 409, refused or NOT_YOURS)
    return _click_result(of, event_id, await local_chats.turn_of(services, of, PRESSED + event_id))


def _question_part(view: TurnView, index: int) -> Part:
    for part in view.parts:
        if part.index == index:
            return part
    raise not_found("part")


async def _may_decide(services: ApiServices, by: Principal, of: ConversationView, view: TurnView) -> None:
    """Check that the caller may answer the question.

    In someone else's conversation, admins may decide on approvals, but only its owner may answer other
    questions. Raises 403.
    """
    if by.owns_conversation(of):
        return
    check(services, by, Permission.DECIDE, conversation_target(by, of))
    lane = await services.db.transact(load_lane, of.id)
    if lane.asked_by != view.id:
        raise HTTPException(403, local_chats.NOT_THEIRS)


async def _submit_click(
    services: ApiServices,
    by: Principal,
    of: ConversationView,
    view: TurnView,
    part: Part,
    choice: str,
    event_id: str,
) -> str | None:
    """Submit a click like one from the platform. Return None, or the reason for its rejection."""
    account, chat = of.key.account, of.key.chat
    adapter = presenters.local_adapter(services, account)
    if adapter is not None:
        return await adapter.receive_click(
            chat, part.platform_id, choice, event_id=event_id, sender=by.sender
        )
    inbox = services.inbox(account)
    question = await services.db.transact(load_turn, view.id)
    if inbox is None or question is None:
        raise HTTPException(409, local_chats.NO_ACCOUNT)
    origin = of.origin(click_sender(by, of), question.turn.address.topic, part.platform_id)
    click = InboundMessage(event_id, origin, choice, services.clock.now(), clicked=True)
    return (await inbox.accept([click])).get(event_id)


def _click_result(of: ConversationView, event_id: str, turn: TurnView | None) -> schemas.PostResult:
    """Return the result of a stored click. Raises 409 if the answer was a notice."""
    if turn is not None and turn.kind is TurnKind.NOTICE:
        raise HTTPException(409, " ".join(part.content for part in turn.parts))
    return schemas.PostResult(conversation=of.id, event_id=event_id, turn=None if turn is None else turn.id)


Id = Annotated[int, Path(ge=1, lt=2**53)]
Index = Annotated[int, Path(ge=0, lt=1000)]
router = APIRouter(prefix="/api/turns", tags=["turns"])


@router.get("")
@open_to(Role.MEMBER)
async def list_turns(
    services: Services,
    by: By,
    conversation: Annotated[
        int | None,
        Query(
            ge=1, lt=2**53, description="Conversation whose turns to list; omit it to list the turns of all."
        ),
    ] = None,
    state: TurnGroup | None = None,
    q: Annotated[str, Query(max_length=200, description="Text in a message or reply.")] = "",
    account: Annotated[str, Query(max_length=64)] = "",
    person: Annotated[str, Query(max_length=256, description="Author (`platform:id`).")] = "",
    hours: Annotated[
        int, Query(ge=0, le=8784, description="Only turns that are open or ended within this time (0: all).")
    ] = 0,
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> schemas.Turns:
    """List the turns of one conversation or of all, newest first; members see only their own. `running`
    includes queued turns; `waiting` are those whose question or approval is open.
    """
    known: dict[int, ConversationView] = {}
    if conversation is not None:
        known[conversation] = await local_chats.visible_conversation(services, by, conversation)
        await record_conversation_read(services, by, known[conversation])
    since = services.clock.now() - hours * HOUR if hours else 0.0
    only = TurnFilter() if conversation is not None else local_chats.readable_turns(services, by)
    only = replace(only, group=state, text=q.strip(), account=account, person=person, since=since)
    accounts = accounts_with(services, by, Permission.READ)
    if conversation is None and (accounts is None or accounts):
        await record_turns_read(services, by, accounts)
    found = await services.db.transact(
        read_models.list_turns, conversation, parse_cursor(cursor), limit, only
    )
    others = {view.conversation for view in found} - known.keys()
    known |= await local_chats.find_all_visible(services, by, others)
    return schemas.Turns(
        turns=await presenters.present_turns(services, by, known, found),
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.get("/{turn}")
@open_to(Role.MEMBER)
async def get_turn(turn: Id, services: Services, by: By) -> schemas.TurnInfo:
    """Return a turn."""
    of, view = await local_chats.visible_turn(services, by, turn)
    await record_conversation_read(services, by, of)
    return await presenters.present_turn(services, by, of, view)


@router.get("/{turn}/trace")
@open_to(Role.MEMBER)
async def get_trace(turn: Id, services: Services, by: By) -> TurnTrace:
    """Return a turn by time: messages, queue, run, model and tool calls, approval and deliveries."""
    of, view = await local_chats.visible_turn(services, by, turn)
    await record_conversation_read(services, by, of)
    times = await services.db.transact(load_times, of.id, turn)
    return TraceBuilder(view, times, services.core.mask_secrets).build()


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
    return Response(found[0].content, media_type=document_type(found[0].filename), headers=headers)


@router.post("/{turn}/parts/{part}/choice", status_code=202)
@open_to(Role.MEMBER)
async def click_choice(
    turn: Id, part: Index, body: ButtonClick, services: Services, by: By
) -> schemas.PostResult:
    """Answer a question as the caller (403, 409: the answer was rejected; the response explains why)."""
    of, view = await local_chats.visible_turn(services, by, turn)
    return await click_button(services, by, of, view, part, body)
