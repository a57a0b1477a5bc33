"""HTTP mode: an ASGI application for the service's port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from slack_bolt.response import BoltResponse

BODY_LIMIT = 1024 * 1024
"""Bytes of a request; Slack's are far smaller."""
TIMESTAMP = "x-slack-request-timestamp"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Take = Callable[[str, dict[str, str]], Awaitable[BoltResponse]]


class Webhook:
    """Answers Slack's requests; `take` checks the signature and stores. 503 while the account is down."""

    def __init__(self) -> None:
        self.take: Take | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application; any path, so that it can be mounted."""
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            await _answer(send, 405, "")
            return
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, "")
            return
        if self.take is None:
            await _answer(send, 503, "")
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        if not headers.get(TIMESTAMP, "").isdecimal():
            await _answer(send, 401, "")
            return
        try:
            response = await self.take(body.decode("utf-8"), headers)
        except ValueError:
            await _answer(send, 400, "")
            return
        await _answer(send, response.status, response.body, _content_type(response))


async def _body(receive: Receive) -> bytes | None:
    """The whole body, None where it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > BODY_LIMIT:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _content_type(response: BoltResponse) -> str:
    return str(response.headers.get("content-type", ["text/plain; charset=utf-8"])[0])


async def _answer(send: Send, status: int, body: str, content_type: str = "text/plain") -> None:
    encoded = body.encode()
    headers = [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(encoded))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": encoded})
