"""`/record`: whether a chat keeps what is written in it, for how long, and that it says so."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.access import Role
from bot.commands.registry import Invocation, Result, number_in
from bot.domain import ChatKind
from bot.store.audit import author_of

DAYS, MOST_DAYS = 14, 365


async def record(call: Invocation) -> Result:
    """Say what is kept here, or, for admins, switch it."""
    texts, address = call.texts, call.turn.address
    if address.chat_kind is not ChatKind.GROUP:
        return Result(texts("record_group"))
    if not call.words:
        return Result(await _shown(call))
    word = call.words[0].lower()
    if call.role < Role.ADMIN:
        return Result(texts("record_admins"))
    if word not in {"on", "off"}:
        return Result(texts("record_how"))
    days = number_in(call.words[1:]) or DAYS if word == "on" else 0
    if days > MOST_DAYS:
        return Result(texts("record_too_long", limit=MOST_DAYS))
    chats, now = call.services.recorded, call.services.clock.now()
    await chats.switch(address.account, address.chat, days, author_of(call.turn), now)
    return Result(texts("record_on", days=days) if days else texts("record_off"))


async def _shown(call: Invocation) -> str:
    address, chats = call.turn.address, call.services.recorded
    found = chats.get(address.account, address.chat)
    if found is None:
        return call.texts("record_is_off")
    count = await chats.store.count(address.account, address.chat)
    since = datetime.fromtimestamp(found.since, UTC).strftime("%Y-%m-%d")
    return call.texts("record_is_on", days=found.days, since=since, count=count)
