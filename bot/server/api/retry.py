"""Answer the last turn of a conversation again, on the platform of the conversation."""

from __future__ import annotations

from fastapi import HTTPException

from bot.commands.retry_fork import fork_of
from bot.domain import ChatKind, Origin
from bot.errors import RunMissing
from bot.server.api import local_chats
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.budgets import Limit, find_refusal
from bot.store.conversations import ConversationView
from bot.store.retries import find_last_answered, repeat_answer

NOT_LAST = "Only the last answered turn of a conversation can be answered again."


async def open_retry(services: ApiServices, by: Principal, of: ConversationView, turn: int) -> int:
    """Open a turn that answers the last one again, as `/retry` does, within the caller's limits; return its
    id.

    Raises 409 if that is not possible now, 429 if a limit is used up.
    """
    account, texts = of.key.account, services.core.account(of.key.account).texts
    if services.core.accounts.get(account) is None:
        raise HTTPException(409, local_chats.NO_ACCOUNT)
    last = await services.db.run(find_last_answered, of.id)
    if last is None or last.id != turn:
        raise HTTPException(409, NOT_LAST)
    limits, now = _caller_limits(services, by, of), services.clock.now()
    if refusal := await services.db.run(find_refusal, limits, now):
        raise HTTPException(429, refusal)
    try:
        thread_id, checkpoint = await fork_of(services.core.runtime, last, services.core.new_id)
    except RunMissing as error:
        raise HTTPException(409, texts("retry_gone")) from error
    opened = await services.db.run(
        repeat_answer,
        last,
        of,
        checkpoint=checkpoint,
        thread_id=thread_id,
        model=services.core.account(account).model,
        limits=limits,
        actor=audit_actor(services, by),
        now=now,
    )
    if not opened:
        raise HTTPException(409, texts("retry_busy"))
    services.bus.wake(of.id)
    return opened


def _caller_limits(services: ApiServices, by: Principal, of: ConversationView) -> tuple[Limit, ...]:
    """Return the limits of the caller in that chat."""
    key, sender = of.key, by.sender_on(of.platform)
    origin = Origin(key.account, of.platform, key.chat, ChatKind(of.chat_kind), "", sender, key.topic)
    return services.core.budgets.limits_for(origin, by.role, services.core.account(key.account).texts)
