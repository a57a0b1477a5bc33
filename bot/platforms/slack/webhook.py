"""HTTP mode: Slack's signed requests, handed over by the service's port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from bot.platforms.base import WebhookAnswer, WebhookRequest

TIMESTAMP = "x-slack-request-timestamp"
Take = Callable[[str, dict[str, str]], Awaitable[BoltResponse]]


class SlackWebhook:
    """Answers requests; `take` stores what they bring. None: the account is not connected."""

    def __init__(self, secret: str) -> None:
        self.take: Take | None = None
        self._verifier = SignatureVerifier(secret) if secret else None

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        if self.take is None:
            return WebhookAnswer(503)
        if not request.headers.get(TIMESTAMP, "").isdecimal():
            return WebhookAnswer(401)
        try:
            # Bolt checks it too, but only after it has taken the body apart.
            if self._verifier is None or not self._verifier.is_valid_request(request.body, request.headers):
                return WebhookAnswer(401)
            response = await self.take(request.body.decode("utf-8"), dict(request.headers))
        except ValueError:
            return WebhookAnswer(400)
        kind = str(response.headers.get("content-type", ["text/plain; charset=utf-8"])[0])
        return WebhookAnswer(response.status, response.body.encode(), kind)
