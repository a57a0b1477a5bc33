"""Routes to answer a turn again, with the same message or another one, and to rate an answer."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from bot.access import Role
from bot.commands.retry import find_fork
from bot.errors import RunMissing
from bot.server.api import local_chats, schemas
from bot.server.api.auth import By, Principal, audit_actor, open_to
from bot.server.api.conversations import ClientEvent
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.sse import Subscriptions
from bot.server.api.turns import Id, texts_of
from bot.store.conversations import ConversationView
from bot.store.ratings import rate_answer
from bot.store.retries import MessageEdit, find_last_answered, repeat_answer

NOT_LAST = "Only the last answered turn of a conversation can be retried."
NOT_EDITABLE = "Only your last message can be replaced, once it has been answered."
IS_COMMAND = "A command can't replace a message. Send it as a new one."
router = APIRouter(prefix="/api/turns", tags=["turns"])


class EditedMessage(ClientEvent):
    """The new text of a message, with an `event_id` as for a new one."""

    text: str = Field(min_length=1)


class AnswerRating(BaseModel):
    """How the caller rates an answer: 1 is good, -1 is bad, 0 withdraws the rating."""

    model_config = ConfigDict(extra="forbid")
    value: Literal[1, -1, 0]


async def open_again(
    services: ApiServices, by: Principal, of: ConversationView, turn: int, edited: EditedMessage | None = None
) -> int:
    """Open a turn that answers the last one again, like `/retry`, or with its message replaced, within the
    caller's limits. Return its id.

    Raises 409 if that is not possible now, 429 if a limit is used up.
    """
    account, texts = services.core.account(of.key.account), texts_of(services, by, of)
    if services.core.accounts.get(of.key.account) is None:
        raise HTTPException(409, local_chats.NO_ACCOUNT)
    last = await services.db.transact(find_last_answered, of.id)
    if last is None or turn not in ({last.id} if edited is None else {last.id, last.source}):
        raise HTTPException(409, NOT_LAST if edited is None else NOT_EDITABLE)
    origin = of.origin(by.sender_on(of.platform), of.key.topic)
    limits, now = account.limits_for(origin, by.role), services.clock.now()
    if refusal := await services.db.transact(limits.find_refusal, now):
        raise HTTPException(429, refusal)
    try:
        thread_id, checkpoint = await find_fork(services.core.runtime, last, services.core.new_id)
    except RunMissing as error:
        raise HTTPException(409, texts("retry_gone")) from error
    opened = await services.db.transact(
        repeat_answer,
        last,
        of,
        checkpoint=checkpoint,
        thread_id=thread_id,
        model=account.profile_at(of.key.chat, of.key.topic).get("model"),
        limits=limits,
        actor=audit_actor(services, by),
        now=now,
        edit=MessageEdit(edited.event_id, edited.text) if edited is not None else None,
    )
    if not opened:
        raise HTTPException(409, texts("retry_busy") if edited is None else NOT_EDITABLE)
    services.bus.wake(of.id)
    return opened


@router.post("/{turn}/retry", status_code=202)
@open_to(Role.MEMBER)
async def retry_turn(turn: Id, request: Request, services: Services, by: By) -> schemas.PostResult:
    """Retry the last turn of a conversation, as `/retry` does (409: not the last turn)."""
    of, _ = await local_chats.visible_turn(services, by, turn)
    opened = await open_again(services, by, of, turn)
    _announce(request, of)
    return schemas.PostResult(conversation=of.id, event_id="", turn=opened)


@router.post("/{turn}/edit", status_code=202)
@open_to(Role.MEMBER)
async def edit_turn(
    turn: Id, body: EditedMessage, request: Request, services: Services, by: By
) -> schemas.PostResult:
    """Replace the message of the last turn in one of the caller's own conversations, and answer it again. The
    earlier answer is marked as replaced; the message's files are kept (409: not the last message, or in
    progress).
    """
    of, _ = await local_chats.visible_turn(services, by, turn)
    local_chats.writable_adapter(services, by, of)
    body = body.model_copy(update={"event_id": body.event_id or services.core.new_id()})
    if (known := await local_chats.turn_of(services, of, body.event_id)) is not None:
        return schemas.PostResult(conversation=of.id, event_id=body.event_id, turn=known.id)
    if len(body.text) > (longest := services.core.account(of.key.account).limits.characters):
        raise HTTPException(422, f"text: longer than {longest} characters")
    if not body.text.strip() or services.commands.parse(body.text, mentioned=True) is not None:
        raise HTTPException(422, IS_COMMAND if body.text.strip() else "text: empty")
    opened = await open_again(services, by, of, turn, body)
    _announce(request, of)
    return schemas.PostResult(conversation=of.id, event_id=body.event_id, turn=opened)


@router.put("/{turn}/rating", status_code=204)
@open_to(Role.MEMBER)
async def rate_turn(turn: Id, body: AnswerRating, services: Services, by: By) -> None:
    """Rate an answer. Each person has their own rating."""
    await local_chats.visible_turn(services, by, turn)
    await services.db.transact(rate_answer, turn, body.value, audit_actor(services, by), services.clock.now())


def _announce(request: Request, of: ConversationView) -> None:
    feeds: Subscriptions = request.app.state.feeds
    feeds.changed(of.id)
