"""HTTP mode: Slack's signed requests, as the service's HTTP port received them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from bot.platforms.base import WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth

TIMESTAMP = "x-slack-request-timestamp"
Take = Callable[[str, dict[str, str]], Awaitable[BoltResponse]]


class SlackWebhook:
    """Receives the signed requests of one account; `take` stores their content."""

    def __init__(self, secret: str, take: Take, health: AccountHealth) -> None:
        self._take = take
        self._health = health
        self._verifier = SignatureVerifier(secret) if secret else None

    async def run(self) -> None:
        """Wait until cancelled: Slack connects to the service's HTTP port."""
        self._health.mark_live()
        await asyncio.Event().wait()

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one request. 400: not readable; 401: not from Slack; 500: not stored, send it again."""
        if not request.headers.get(TIMESTAMP, "").isdecimal():
            return WebhookAnswer(401)
        try:
            # Bolt checks the signature too, but only after it has parsed the body.
            if self._verifier is None or not self._verifier.is_valid_request(request.body, request.headers):
                return WebhookAnswer(401)
            response = await self._take(request.body.decode("utf-8"), dict(request.headers))
        except ValueError:
            return WebhookAnswer(400)
        kind = str(response.headers.get("content-type", ["text/plain; charset=utf-8"])[0])
        return WebhookAnswer(response.status, response.body.encode(), kind)
