"""Handle clicks on a question's buttons in the web console; a rejected click returns the reason as the
error.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import HTTPException
from pydantic import BaseModel, ConfigDict, Field

from bot.domain import ChatKind, InboundMessage, Origin, Part, Sender, TurnKind
from bot.server.api import local_chats, presenters, schemas
from bot.server.api.auth import NOT_YOURS, Principal
from bot.server.api.dependencies import ApiServices
from bot.server.api.errors import not_found
from bot.server.api.post_message import EVENT_ID, PRESSED
from bot.store.conversations import ConversationView, load_lane
from bot.store.read_models import TurnView
from bot.store.turns import load_turn


class ButtonClick(BaseModel):
    """The clicked choice; `event_id` is the client's id of the click, and repeating it has no further
    effect.
    """

    model_config = ConfigDict(extra="forbid")
    choice: str = Field(min_length=1, max_length=1000)
    event_id: str = Field("", pattern=rf"^({EVENT_ID})?$")


async def click_button(
    services: ApiServices, by: Principal, of: ConversationView, view: TurnView, index: int, click: ButtonClick
) -> schemas.PostResult:
    """Submit a click as the caller; it is stored when this returns.

    Raises 403 if the caller may not decide, 404 if there is no such button, and 409 if the question is closed
    or cannot be answered now.
    """
    event_id = click.event_id or services.core.new_id()
    if click.event_id and (known := await local_chats.turn_of(services, of, PRESSED + event_id)) is not None:
        return _click_result(of, event_id, known)
    part = _question_part(view, index)
    if not presenters.is_open(view, part):
        raise HTTPException(409, services.core.account(of.key.account).texts("question_closed"))
    if click.choice not in part.choices:
        raise not_found("choice")
    await _may_decide(services, by, of, view)
    refused = await _submit_click(services, by, of, view, part, click.choice, PRESSED + event_id)
    if refused is not None:
        rejected = refused not in ("", services.core.account(of.key.account).texts("approval_foreign"))
        raise HTTPException(409 if rejected else 403, refused or NOT_YOURS)
    return _click_result(of, event_id, await local_chats.turn_of(services, of, PRESSED + event_id))


def _question_part(view: TurnView, index: int) -> Part:
    for part in view.parts:
        if part.index == index:
            return part
    raise not_found("part")


async def _may_decide(services: ApiServices, by: Principal, of: ConversationView, view: TurnView) -> None:
    """Check that the caller may answer the question.

    In someone else's conversation an admin may decide approvals; other questions are for its owner. Raises
    403.
    """
    if by.owns_conversation(of):
        return
    lane = await services.db.run(load_lane, of.id)
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
    """Submit the click like one of the platform; return None, or the reason why it was rejected."""
    account, chat = of.key.account, of.key.chat
    adapter = presenters.local_adapter(services, account)
    if adapter is not None:
        return await adapter.receive_click(
            chat, part.platform_id, choice, event_id=event_id, sender=by.sender
        )
    inbox = services.inbox(account)
    question = await services.db.run(load_turn, view.id)
    if inbox is None or question is None:
        raise HTTPException(409, local_chats.NO_ACCOUNT)
    kind, message_id = ChatKind(of.chat_kind), part.platform_id
    origin = Origin(
        account,
        of.platform,
        chat,
        kind,
        message_id,
        _click_sender(by, of),
        question.turn.address.topic,
        message_id,
    )
    click = InboundMessage(event_id, origin, choice, services.clock.now(), clicked=True)
    return (await inbox.accept([click])).get(event_id)


def _click_sender(by: Principal, of: ConversationView) -> Sender:
    """Return the caller as a sender of that account.

    The name is never empty, because a message in a group carries its author's name.
    """
    known = by.sender
    name = known.name or known.id.rpartition(":")[2]
    if known.account == of.key.account:
        return replace(known, id=known.id.partition(":")[2], name=name, account="")
    return replace(by.sender_on(of.platform), name=name)


def _click_result(of: ConversationView, event_id: str, turn: TurnView | None) -> schemas.PostResult:
    """Return the result of a stored click. Raises 409 if it was answered by a notice."""
    if turn is not None and turn.kind is TurnKind.NOTICE:
        raise HTTPException(409, " ".join(part.content for part in turn.parts))
    return schemas.PostResult(conversation=of.id, event_id=event_id, turn=None if turn is None else turn.id)
