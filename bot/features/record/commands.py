"""`/record`: show or change the retention of a chat's record."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from bot.access import Permission
from bot.commands.registry import Command, Invocation, Result, number_in
from bot.domain import ChatKind
from bot.features.record.record_store import count_recorded
from bot.features.record.recorder import ChatRecorder
from bot.store.audit import author_of
from bot.store.conversations import Audience, announce_by_command

DAYS, MOST_DAYS = 14, 365
_SWITCH = re.compile(r"(?:on(?:\s+0*[1-9]\d*)?|off)?", re.IGNORECASE)


def is_record_argument(rest: str) -> bool:
    """Return whether the text after the command name is an argument of it."""
    return _SWITCH.fullmatch(rest) is not None


async def record(call: Invocation) -> Result:
    """Show the chat's record setting or, for admins, change it."""
    texts, address = call.texts, call.turn.address
    if address.chat_kind is not ChatKind.GROUP:
        return Result(texts("record_group"))
    if not call.words:
        return Result(await _describe_record(call))
    word = call.words[0].lower()
    if not call.may(Permission.RECORD):
        return Result(texts("record_admins"))
    if not is_record_argument(" ".join(call.words)):
        return Result(texts("record_how"))
    days = number_in(call.words[1:]) or _default_days(call) if word == "on" else 0
    if days > MOST_DAYS:
        return Result(texts("record_too_long", limit=MOST_DAYS))
    return await _switch_record(call, days)


def _default_days(call: Invocation) -> int:
    """Return the retention in days if the command has none: the current setting, or else the default."""
    address = call.turn.address
    found = call.core.part(ChatRecorder).get(address.account, address.chat)
    return found.days if found is not None else DAYS


async def _switch_record(call: Invocation, days: int) -> Result:
    """Set the record's retention in days (0: no record) and notify the chat.

    The notice goes to the place of the command and, if that is a thread or topic, to the whole chat as well
    where the platform lets it.
    """
    address, services, now = call.turn.address, call.services, call.core.clock.now()
    await call.core.part(ChatRecorder).set_retention(
        address.account, address.chat, days, author_of(call.turn), now
    )
    text = call.texts("record_on", days=days) if days else call.texts("record_off")
    if not address.topic or not await services.runs.takes_notices(call.turn):
        return Result(text)
    whole, sender = replace(address, topic="", reply_to=""), call.turn.messages[-1].sender
    chat = Audience(call.turn.conversation, whole, call.turn.platform, sender)
    for turn in await call.core.db.transact(announce_by_command, [chat], text, call.turn, text, now):
        services.runs.deliver_notice(turn)
    return Result(text, composed=True)


async def _describe_record(call: Invocation) -> str:
    address, chats = call.turn.address, call.core.part(ChatRecorder)
    found = chats.get(address.account, address.chat)
    if found is None:
        return call.texts("record_is_off")
    count = await call.core.db.transact(count_recorded, address.account, address.chat)
    since = datetime.fromtimestamp(found.since, UTC).strftime("%Y-%m-%d")
    return call.texts("record_is_on", days=found.days, since=since, count=count)


RECORD = Command("record", record, argument="[on/off] [DAYS]", matches_word=is_record_argument)
