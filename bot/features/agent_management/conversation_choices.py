"""Routes to choose the model and the agent of a conversation, as `/model` and `/agent` do."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel, ConfigDict, Field

from bot.access import Permission, Role
from bot.features.agent_management.agents import DEFAULT, find_agent
from bot.features.agent_management.models import find_model
from bot.server.api import local_chats, presenters, schemas
from bot.server.api.auth import By, conversation_target, may, open_to
from bot.server.api.dependencies import Services
from bot.server.api.turns import texts_of
from bot.store.audit import AuditEvent
from bot.store.conversations import set_agent, set_model

router = APIRouter(prefix="/api/conversations", tags=["conversations"])
Id = Annotated[int, Path(ge=1, lt=2**53)]


class ConversationChoice(BaseModel):
    """The chosen name; "" or "default" for the account's choice."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=200, pattern=r"^\S*$")


@router.put("/{conversation}/model")
@open_to(Role.MEMBER)
async def choose_model(
    conversation: Id, body: ConversationChoice, services: Services, by: By
) -> schemas.ConversationInfo:
    """Choose the model of a conversation from the next message on (409: why it can't be used)."""
    of = await local_chats.changeable_conversation(services, by, conversation)
    name = body.name or DEFAULT
    found, refusal = await find_model(services.core, texts_of(services, by, of), name)
    if found is None:
        raise HTTPException(409, refusal)
    await services.db.transact(set_model, of.id, found)
    await local_chats.record_change(services, by, of, AuditEvent("command", "/model", name))
    of = await local_chats.visible_conversation(services, by, conversation)
    return presenters.present_conversation(services, by, of)


@router.put("/{conversation}/agent")
@open_to(Role.MEMBER)
async def choose_agent(
    conversation: Id, body: ConversationChoice, services: Services, by: By
) -> schemas.ConversationInfo:
    """Choose the agent of a conversation from the next message on (409: why it can't be used)."""
    of = await local_chats.changeable_conversation(services, by, conversation)
    name = body.name.lower() or DEFAULT
    free = may(services, by, Permission.AGENT, conversation_target(by, of))
    profile = services.core.account(of.key.account).profile_at(of.key.chat, of.key.topic, of.owner)
    fixed = "" if free else profile.get("agent")
    found, refusal = await find_agent(services.core, texts_of(services, by, of), name, fixed)
    if found is None:
        raise HTTPException(409, refusal)
    await services.db.transact(set_agent, of.id, found)
    await local_chats.record_change(services, by, of, AuditEvent("command", "/agent", name))
    of = await local_chats.visible_conversation(services, by, conversation)
    return presenters.present_conversation(services, by, of)
