"""What stands in a thread when somebody turns to the bot in it for the first time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from bot.dispatch.account_channel import AccountChannel
from bot.domain import HistoryMessage, Sender, Turn
from bot.errors import DeliveryError
from bot.platforms.base import ReadsThreads

log = structlog.get_logger(__name__)

MAX_HISTORY_MESSAGES = 100
"""Messages."""
# An answer does not wait longer for what it could do without (seconds).
READ_SECONDS = 5.0


async def load_thread_history(
    turn: Turn, outlet: AccountChannel, is_blocked: Callable[[Turn, Sender], bool]
) -> Sequence[HistoryMessage]:
    """What others wrote in the turn's thread before it, as far as the platform tells; nothing of those who
    are shut out.
    """
    adapter, first = outlet.adapter, turn.messages[0].message_id if turn.messages else ""
    if not isinstance(adapter, ReadsThreads) or not turn.address.topic or not first:
        return ()
    try:
        async with asyncio.timeout(READ_SECONDS):
            found = await adapter.earlier(turn.address, first, MAX_HISTORY_MESSAGES)
    except (DeliveryError, TimeoutError) as problem:
        log.info("thread_not_read", turn=turn.id, problem=str(problem) or "no answer in time")
        return ()
    return [one for one in found if one.text and not is_blocked(turn, one.sender)]
