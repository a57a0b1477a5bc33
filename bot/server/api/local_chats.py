"""Conversations in local chats (web console and terminal): open, find and write."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from fastapi import HTTPException

from bot.access import Permission
from bot.domain import Attachment, ChatKind, Origin, person_of
from bot.platforms.local.adapter import LocalAdapter
from bot.server.api import presenters, schemas
from bot.server.api.auth import Principal, accounts_with, audit_actor, check, conversation_target, may
from bot.server.api.dependencies import ApiServices
from bot.server.api.errors import not_found
from bot.store.audit import AuditEvent, record_event
from bot.store.conversations import ConversationView, ensure_private_conversation, load_conversations
from bot.store.read_models import TurnFilter, TurnView, list_turns

# Number of latest turns that are searched for a message that was just accepted.
RECENT = 10
STOP = "/stop"
NO_ACCOUNT = "The account of this conversation no longer exists."
NOT_THEIRS = "This conversation belongs to someone else, and only they can write in it."


async def open_chat(services: ApiServices, by: Principal, account: str, chat: str) -> ConversationView:
    """Open a local chat. Raises 404 for accounts of other platforms and for someone else's chat."""
    adapter = presenters.local_adapter(services, account)
    if adapter is None or not by.can_reach(account, adapter.platform):
        raise not_found("local account")
    origin = Origin(account, adapter.platform, chat, ChatKind.PRIVATE, "", by.sender)
    key = services.core.account(account).isolation.conversation_key(origin)
    owner = person_of(adapter.platform, by.sender)
    found = await services.db.transact(
        ensure_private_conversation,
        key,
        adapter.platform,
        services.core.new_id(),
        owner,
        services.clock.now(),
    )
    return await visible_conversation(services, by, found)


def may_read(services: ApiServices, by: Principal, of: ConversationView) -> bool:
    """Return whether the caller may see a conversation."""
    return may(services, by, Permission.READ, conversation_target(by, of))


def readable_turns(services: ApiServices, by: Principal) -> TurnFilter:
    """Return the filter of the turns that the caller may see."""
    accounts = accounts_with(services, by, Permission.READ)
    if accounts is None:
        return TurnFilter()
    return TurnFilter(owner=by.person, home=by.account, accounts=accounts)


async def find_visible(services: ApiServices, by: Principal, conversation_id: int) -> ConversationView | None:
    """Load a conversation if the caller may see it: their own, or for admins any on their account."""
    return (await find_all_visible(services, by, {conversation_id})).get(conversation_id)


async def find_all_visible(
    services: ApiServices, by: Principal, ids: Collection[int]
) -> dict[int, ConversationView]:
    """Load those conversations that the caller may see, by id."""
    found = await services.db.transact(load_conversations, ids)
    return {id_: of for id_, of in found.items() if not of.is_deleted and may_read(services, by, of)}


async def visible_conversation(
    services: ApiServices, by: Principal, conversation_id: int
) -> ConversationView:
    """Load a conversation that the caller may see. Raises 404."""
    found = await find_visible(services, by, conversation_id)
    if found is None:
        raise not_found("conversation")
    return found


async def changeable_conversation(
    services: ApiServices, by: Principal, conversation_id: int
) -> ConversationView:
    """Load a conversation that the caller may change. Raises 403 and 404."""
    found = await visible_conversation(services, by, conversation_id)
    check(services, by, Permission.CHANGE, conversation_target(by, found))
    return found


async def record_change(services: ApiServices, by: Principal, of: ConversationView, deed: AuditEvent) -> None:
    """Record that the caller changed a conversation."""
    actor = replace(audit_actor(services, by), account=of.key.account, chat=of.key.chat)
    await services.db.transact(record_event, actor, deed, services.clock.now())


async def visible_turn(
    services: ApiServices, by: Principal, turn_id: int
) -> tuple[ConversationView, TurnView]:
    """Load a turn and its conversation if the caller may see it. Raises 404."""
    for found in await services.db.transact(list_turns, None, before=turn_id + 1, limit=1):
        of = await find_visible(services, by, found.conversation) if found.id == turn_id else None
        if of is not None:
            return of, found
    raise not_found("turn")


def writable_adapter(services: ApiServices, by: Principal, of: ConversationView) -> LocalAdapter:
    """Return the adapter that accepts a conversation's messages.

    Raises 409 if the conversation is on another platform or belongs to someone else.
    """
    adapter = presenters.local_adapter(services, of.key.account)
    if adapter is None:
        raise HTTPException(409, f"This conversation is on {of.platform}. Write your message there.")
    if not by.owns_conversation(of):
        raise HTTPException(409, NOT_THEIRS)
    return adapter


async def stop_run(
    services: ApiServices, by: Principal, of: ConversationView, event_id: str = ""
) -> schemas.PostResult:
    """Stop a conversation's run, by the command in the caller's own local chat, else as an admin of the
    account. Raises 403, or 409 if nothing is running.
    """
    if presenters.local_adapter(services, of.key.account) is not None and by.owns_conversation(of):
        return await post_text(services, by, of, STOP, event_id)
    check(services, by, Permission.CHANGE, conversation_target(by, of))
    actor = replace(audit_actor(services, by), account=of.key.account, chat=of.key.chat)
    if not await services.dispatcher.stop(of.id, actor):
        raise HTTPException(409, services.core.account(of.key.account).texts("stop_nothing"))
    await services.db.transact(record_event, actor, AuditEvent("command", STOP), services.clock.now())
    return schemas.PostResult(conversation=of.id, event_id="", turn=None)


async def post_text(
    services: ApiServices,
    by: Principal,
    of: ConversationView,
    text: str,
    event_id: str = "",
    files: Sequence[Attachment] = (),
) -> schemas.PostResult:
    """Post a message to a conversation. It is stored before this function returns."""
    adapter = writable_adapter(services, by, of)
    event_id = event_id or services.core.new_id()
    await adapter.receive_message(of.key.chat, text, event_id=event_id, attachments=files, sender=by.sender)
    found = await turn_of(services, of, event_id)
    return schemas.PostResult(conversation=of.id, event_id=event_id, turn=None if found is None else found.id)


async def turn_of(services: ApiServices, of: ConversationView, event_id: str) -> TurnView | None:
    """Find the turn of a recently accepted message, or None if it is not among the latest turns."""
    for found in await services.db.transact(list_turns, of.id, limit=RECENT):
        if any(message.event_id == event_id for message in found.messages):
            return found
    return None
