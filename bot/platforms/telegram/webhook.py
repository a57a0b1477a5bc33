"""Updates sent by request: a stored update is answered with 200; all others are resent."""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

import orjson
import structlog
from telegram.error import TelegramError

from bot.clock import Clock
from bot.errors import AccountLost
from bot.faults import Step, reach
from bot.platforms.base import WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth
from bot.platforms.telegram.errors import TelegramRefused, refused_token, without_token
from bot.platforms.telegram.http import TelegramClient
from bot.platforms.telegram.inbound import UPDATE_KINDS
from bot.platforms.telegram.update_handler import TelegramUpdateHandler

log = structlog.get_logger(__name__)

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
CHECK_INTERVAL = 60.0
"""Seconds between two checks of what Telegram reports about its deliveries."""
MAX_FAILED_CHECKS = 3
"""Failed checks in a row after which the account counts as lost."""


class TelegramWebhook:
    """The receiving end of one account. `run` registers it and watches the deliveries."""

    def __init__(
        self,
        client: TelegramClient,
        handler: TelegramUpdateHandler,
        clock: Clock,
        health: AccountHealth,
        address: str,
        secret: str,
    ) -> None:
        self._account = handler.account
        self._client = client
        self._handler = handler
        self._counts = handler.counts
        self._clock = clock
        self._health = health
        self._address = address
        self._secret = secret
        self._order = asyncio.Lock()

    async def finish(self) -> None:
        """Return once the current requests are stored."""
        async with self._order:
            pass

    async def run(self) -> None:
        """Register with Telegram, then monitor deliveries. Raises AccountRefused and AccountLost."""
        try:
            await self._client.call(
                "setWebhook", url=self._address, secret_token=self._secret, allowed_updates=UPDATE_KINDS
            )
        except TelegramError as error:
            self._raise_if_token_refused(error)
            raise AccountLost(f"Telegram refuses the webhook: {without_token(str(error))}") from None
        self._health.mark_live()
        failures = 0
        while failures < MAX_FAILED_CHECKS:
            await self._clock.sleep(CHECK_INTERVAL)
            failures = 0 if await self._check_deliveries() else failures + 1
        raise AccountLost("Telegram does not respond")

    async def receive(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one update. 403: not from Telegram; 400: not an update."""
        secret = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(secret.encode(), self._secret.encode()):
            self._counts.forged += 1
            log.warning("telegram.webhook_forged", account=self._account)
            return WebhookAnswer(403)
        try:
            update = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            self._counts.malformed += 1
            return WebhookAnswer(400)
        # Telegram uses several connections; update ids determine the order within a chat.
        async with self._order:
            _, stored = await self._handler.store_updates([update])
        self._health.mark_live()
        if stored:
            reach(Step.ACKNOWLEDGED)
        return WebhookAnswer(200)

    async def _check_deliveries(self) -> bool:
        """Ask Telegram about its deliveries; return False if it does not respond."""
        try:
            info: Any = await self._client.call("getWebhookInfo")
        except TelegramError as error:
            self._raise_if_token_refused(error)
            self._health.mark_deaf(f"Telegram does not respond: {without_token(str(error))}")
            return False
        problem = _find_problem(info, self._address, self._clock.now())
        if problem:
            self._health.mark_deaf(problem)
        else:
            self._health.mark_live()
        return True

    def _raise_if_token_refused(self, error: TelegramError) -> None:
        if isinstance(error, TelegramRefused) and error.is_token_refused:
            raise refused_token(self._account) from None


def _find_problem(info: Any, address: str, now: float) -> str:
    """Describe a delivery problem; "" for none."""
    if not isinstance(info, dict) or info.get("url") != address:
        return "another program has taken the webhook of this bot; restart the account to take it back"
    failed_at = info.get("last_error_date")
    waiting = info.get("pending_update_count")
    if isinstance(failed_at, int) and now - failed_at < 2 * CHECK_INTERVAL and waiting:
        return f"Telegram cannot deliver to {address}: {info.get('last_error_message', 'no reason given')}"
    return ""
