"""Receives by requests of Telegram: what is stored gets 200, everything else is sent again by Telegram."""

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
from bot.platforms.health import AccountHealth
from bot.platforms.telegram.client import TelegramClient
from bot.platforms.telegram.inbound import UPDATE_KINDS
from bot.platforms.telegram.polling import refused_token
from bot.platforms.telegram.redaction import without_token
from bot.platforms.telegram.request import TelegramRefused
from bot.platforms.telegram.update_handler import TelegramUpdateHandler

log = structlog.get_logger(__name__)

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
# Seconds between looks at what Telegram says of its deliveries, and how many failed looks mean "lost".
LOOK_EVERY = 60.0
MOST_FAILURES = 3


class TelegramWebhook:
    """The receiving end of one account. `run` registers it and keeps an eye on it until stopped."""

    def __init__(
        self,
        account: str,
        client: TelegramClient,
        received: TelegramUpdateHandler,
        clock: Clock,
        health: AccountHealth,
        address: str,
        secret: str,
    ) -> None:
        self.counts = received.counts
        self._account = account
        self._client = client
        self._received = received
        self._clock = clock
        self._health = health
        self._address = address
        self._secret = secret
        self._order = asyncio.Lock()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """End `run`; requests that come later are refused by the adapter."""
        self._stopped.set()

    async def run(self) -> None:
        """Register with Telegram, then watch. Raises AccountRefused and AccountLost."""
        try:
            await self._client.call(
                "setWebhook", url=self._address, secret_token=self._secret, allowed_updates=UPDATE_KINDS
            )
        except TelegramError as error:
            self._check(error)
            raise AccountLost(f"Telegram refuses the webhook: {without_token(str(error))}") from None
        self._health.mark_live()
        failures = 0
        while not self._stopped.is_set():
            await self._pause()
            if self._stopped.is_set():
                return
            failures = 0 if await self._look() else failures + 1
            if failures == MOST_FAILURES:
                raise AccountLost("Telegram does not answer any more")

    async def take(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one update. 403: not from Telegram; 400: not an update."""
        given = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._secret.encode()):
            self.counts.forged += 1
            log.warning("telegram.webhook_forged", account=self._account)
            return WebhookAnswer(403)
        try:
            update = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            self.counts.malformed += 1
            return WebhookAnswer(400)
        # Telegram keeps several connections open; the order within a chat is that of its update ids.
        async with self._order:
            _, stored = await self._received.store_updates([update])
        self._health.mark_live()
        if stored:
            reach(Step.ACKNOWLEDGED)
        return WebhookAnswer(200)

    async def _look(self) -> bool:
        """Ask what Telegram says of its deliveries; whether it answered."""
        try:
            info: Any = await self._client.call("getWebhookInfo")
        except TelegramError as error:
            self._check(error)
            self._health.mark_deaf(f"Telegram does not answer: {without_token(str(error))}")
            return False
        problem = _problem(info, self._address, self._clock.now())
        if problem:
            self._health.mark_deaf(problem)
        else:
            self._health.mark_live()
        return True

    def _check(self, error: TelegramError) -> None:
        """Raise AccountRefused where Telegram does not know the token any more."""
        if isinstance(error, TelegramRefused) and error.status in (401, 404):
            raise refused_token(self._account) from None

    async def _pause(self) -> None:
        timer = asyncio.ensure_future(self._clock.sleep(LOOK_EVERY))
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({timer, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            stopped.cancel()


def _problem(info: Any, address: str, now: float) -> str:
    """What is wrong with the deliveries, "" for nothing."""
    if not isinstance(info, dict) or info.get("url") != address:
        return "another program has taken the webhook of this bot; restart the account to take it back"
    failed_at = info.get("last_error_date")
    waiting = info.get("pending_update_count")
    if isinstance(failed_at, int) and now - failed_at < 2 * LOOK_EVERY and waiting:
        return f"Telegram cannot deliver to {address}: {info.get('last_error_message', 'no reason given')}"
    return ""
