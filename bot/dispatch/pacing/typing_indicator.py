"""Shows that an answer is on its way, where the platform can."""

from __future__ import annotations

import structlog

from bot.dispatch.account_channel import AccountChannel
from bot.domain import ReplyAddress
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import Operation, ShowsTyping

log = structlog.get_logger(__name__)

# Seconds after which typing is shown again, before the platform lets it fade (Telegram: 5 s).
TYPING_EVERY = 4.5


async def show_typing(outlet: AccountChannel, address: ReplyAddress) -> float:
    """Show typing if the budget allows it: 0.0, else the seconds after which to try again."""
    adapter = outlet.adapter
    if not isinstance(adapter, ShowsTyping):
        return 0.0
    async with outlet.governor.optional_call(address, Operation.TYPING) as wait:
        if wait:
            return wait
        try:
            await adapter.typing(address)
        except RateLimited as error:
            log.warning("rate_limited", account=outlet.account, retry_after=error.retry_after)
            outlet.governor.add_penalty(address, error.retry_after, account_wide=error.account_wide)
        except DeliveryError as error:
            log.debug("typing_failed", account=outlet.account, category=error.category.value)
    return 0.0
