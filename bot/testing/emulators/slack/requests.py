"""The Events API over HTTP: signed requests to the app's URL."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson

from agent.shared.tls import tls_context
from bot.testing.emulators.slack.envelopes import Envelope, Outbox


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a request as docs.slack.dev/authentication/verifying-requests-from-slack describes."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class HttpRequests:
    """Posts envelopes to one URL; an answer of 200 is the acknowledgement."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.url = ""
        self.statuses: list[int] = []
        self.tasks: set[asyncio.Task[None]] = set()

    def carry(self, envelope: Envelope, outbox: Outbox) -> None:
        """Send an envelope in the background."""
        task = asyncio.ensure_future(self._post(envelope, outbox))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def post(self, body: bytes, content_type: str, headers: dict[str, str]) -> httpx.Response:
        """Post a signed body; `headers` are added last, so that they can forge others."""
        stamp = str(int(time.time()))
        signed = {
            "content-type": content_type,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": signature(self.secret, stamp, body),
        }
        async with httpx.AsyncClient(trust_env=False, timeout=10, verify=tls_context()) as http:
            return await http.post(self.url, content=body, headers={**signed, **headers})

    async def close(self) -> None:
        """Cancel open requests."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _post(self, envelope: Envelope, outbox: Outbox) -> None:
        body, kind = _encoded(envelope)
        retry = {"x-slack-retry-num": str(envelope.attempt), "x-slack-retry-reason": "http_timeout"}
        try:
            response = await self.post(body, kind, retry if envelope.attempt else {})
        except httpx.HTTPError:
            self.statuses.append(0)
            return
        self.statuses.append(response.status_code)
        if response.status_code == 200:
            outbox.ack(envelope.id, {})


def _encoded(envelope: Envelope) -> tuple[bytes, str]:
    """Encode events as JSON, commands as a form, clicks as a form around JSON."""
    if envelope.kind == "events_api":
        return orjson.dumps(envelope.payload), "application/json"
    values: dict[str, Any] = envelope.payload
    if envelope.kind == "interactive":
        values = {"payload": orjson.dumps(envelope.payload).decode()}
    return urlencode(values).encode(), "application/x-www-form-urlencoded"
