"""Pass platform webhooks to the account's adapter, which verifies their signature."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from bot.access import Role
from bot.platforms.base import ReceivesWebhooks, WebhookRequest
from bot.server.api.auth import open_to
from bot.server.api.dependencies import Services
from bot.server.api.errors import not_found

router = APIRouter(tags=["webhooks"])

# Size limit of a webhook: it carries an event (about 10 kB on Slack and Feishu), never a file.
MOST_BYTES = 2 * 1024 * 1024
RETRY_LATER = "The account is not connected yet; retry later."


@router.post("/webhooks/{account}")
@open_to(Role.BLOCKED)
async def receive_webhook(account: str, request: Request, services: Services) -> Response:
    """Pass a platform's request to its account. 404: unknown account, or one without webhooks; 413: too
    large; 503: not connected yet, so the platform retries.
    """
    outlet = services.channels.get(account)
    if outlet is None or not isinstance(outlet.adapter, ReceivesWebhooks):
        raise not_found("account")
    if not outlet.ready.is_set():
        raise HTTPException(503, RETRY_LATER, {"Retry-After": "5"})
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"at most {MOST_BYTES} bytes")
    headers = {name.lower(): value for name, value in request.headers.items()}
    answer = await outlet.adapter.webhook(WebhookRequest(headers, bytes(body)))
    return Response(answer.body, answer.status, media_type=answer.content_type)
