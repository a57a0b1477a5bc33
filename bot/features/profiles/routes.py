"""Routes for the settings of a chat, and the effective settings there with their origins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Query
from pydantic import BaseModel

from bot.access import Permission, Target
from bot.features.profiles.chat_settings import ChatSettings
from bot.features.profiles.commands import read_values
from bot.profiles import SETTINGS, EffectiveSetting
from bot.server.api.auth import By, Principal, audit_actor, check, requires
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import not_found

router = APIRouter(prefix="/api/profiles", tags=["profiles"])
Account = Annotated[str, Query(max_length=32, description="Name of the account.")]
Chat = Annotated[str, Query(min_length=1, max_length=256, description="Id of the chat on its platform.")]
Topic = Annotated[str, Query(max_length=256, description="Topic in the chat.")]
Values = Annotated[list[str], Body(embed=True, min_length=1, max_length=100)]
Person = Annotated[str, Query(max_length=256, description="Person, as `platform:id`.")]


class ChatProfile(BaseModel):
    """The settings of a chat by name, and the effective ones. Missing settings have their default."""

    settings: Mapping[str, Sequence[str]]
    effective: Mapping[str, Sequence[EffectiveSetting]]


@router.get("")
@requires(Permission.AGENT)
async def get_profile(
    services: Services, by: By, account: Account, chat: Chat, topic: Topic = "", person: Person = ""
) -> ChatProfile:
    """Return the settings of a chat, and the effective ones there (for a person, if given) with their
    origins. Choices for a conversation, such as with `/model`, are not included.
    """
    own = _chat_settings(services, by, account).get(account, chat)
    profile = services.core.account(account).profile_at(chat, topic, person)
    return ChatProfile(settings=own, effective=profile.settings)


@router.put("/{setting}", status_code=204)
@requires(Permission.AGENT)
async def put_setting(
    setting: str, account: Account, chat: Chat, values: Values, services: Services, by: By
) -> None:
    """Set a setting of a chat, as `/channel` does (404: unknown setting; 422: invalid value)."""
    settings = _chat_settings(services, by, account)
    if setting not in SETTINGS:
        raise not_found("setting")
    try:
        found = await read_values(services.core, setting, " ".join(values))
    except ValueError as error:
        raise HTTPException(422, f"values: invalid value: {error.args[0]}") from None
    await settings.change(account, chat, setting, found, audit_actor(services, by))


@router.delete("/{setting}", status_code=204)
@requires(Permission.AGENT)
async def delete_setting(setting: str, account: Account, chat: Chat, services: Services, by: By) -> None:
    """Remove a setting of a chat, as `/channel reset` does (404: it is not set)."""
    settings = _chat_settings(services, by, account)
    if setting not in settings.get(account, chat):
        raise not_found("setting")
    await settings.change(account, chat, setting, (), audit_actor(services, by))


@router.post("/undo", status_code=204)
@requires(Permission.AGENT)
async def undo_change(account: Account, chat: Chat, services: Services, by: By) -> None:
    """Revert the latest change to the settings of a chat, as `/channel undo` does."""
    if not await _chat_settings(services, by, account).undo(account, chat, audit_actor(services, by)):
        raise not_found("change")


def _chat_settings(services: ApiServices, by: Principal, account: str) -> ChatSettings:
    """Return the settings of chats if the caller may change those of an account. Raises 403 and 404."""
    check(services, by, Permission.AGENT, Target(account))
    if not services.core.account(account).configured:
        raise not_found("account")
    return services.core.part(ChatSettings)
