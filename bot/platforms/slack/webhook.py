"""HTTP mode: Slack's signed requests, handed over by the service's port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from slack_bolt.response import BoltResponse

from bot.platforms.base import WebhookAnswer, WebhookRequest

TIMESTAMP = "x-slack-request-timestamp"
Take = Callable[[str, dict[str, str]], Awaitable[BoltResponse]]


class Webhook:
    """Answers requests; `take` checks signature and age, then stores. None: the account is not connected."""

    def __init__(self) -> None:
        self.take: Take | None = None

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """See ReceivesWebhooks."""
        if self.take is None:
            return WebhookAnswer(503)
        if not request.headers.get(TIMESTAMP, "").isdecimal():
            return WebhookAnswer(401)
        try:
            response = await self.take(request.body.decode("utf-8"), dict(request.headers))
        except ValueError:
            return WebhookAnswer(400)
        kind = str(response.headers.get("content-type", ["text/plain; charset=utf-8"])[0])
        return WebhookAnswer(response.status, response.body.encode(), kind)
