"""What stands in a thread when somebody turns to the bot in it for the first time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from bot.dispatch.account_channel import Outlet
from bot.domain import Earlier, Sender, Turn
from bot.errors import DeliveryError
from bot.platforms.base import ReadsThreads

log = structlog.get_logger(__name__)

MOST = 100
"""Messages."""
# An answer does not wait longer for what it could do without (seconds).
READ_SECONDS = 5.0


async def earlier_in(
    turn: Turn, outlet: Outlet, shut_out: Callable[[Turn, Sender], bool]
) -> Sequence[Earlier]:
    """What others wrote in the turn's thread before it, as far as the platform tells; nothing of those who
    are shut out.
    """
    adapter, first = outlet.adapter, turn.messages[0].message_id if turn.messages else ""
    if not isinstance(adapter, ReadsThreads) or not turn.address.topic or not first:
        return ()
    try:
        async with asyncio.timeout(READ_SECONDS):
            found = await adapter.earlier(turn.address, first, MOST)
    except (DeliveryError, TimeoutError) as problem:
        log.info("thread_not_read", turn=turn.id, problem=str(problem) or "no answer in time")
        return ()
    return [one for one in found if one.text and not shut_out(turn, one.sender)]
