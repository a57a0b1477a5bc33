"""Delivery of events to the app: stored until acknowledged, sent again on schedule, by signed requests."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson

from agent.shared.tls import tls_context

RETRIES = (3.0, 60.0, 300.0)
"""Seconds before an event that was not acknowledged is sent again (docs.slack.dev/apis/events-api:
acknowledged within 3 s, else sent again at once, after one minute and after five)."""


@dataclass(slots=True)
class Envelope:
    """One delivery. `attempt` counts the earlier ones."""

    kind: str
    payload: dict[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    attempt: int = 0
    acked: bool = False
    answer: dict[str, Any] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """Return the envelope in its socket format."""
        wire = {
            "envelope_id": self.id,
            "type": self.kind,
            "payload": self.payload,
            "accepts_response_payload": self.kind != "events_api",
        }
        if self.kind == "events_api":
            reason = "timeout" if self.attempt else ""
            wire |= {"retry_attempt": self.attempt, "retry_reason": reason}
        return wire


class Outbox:
    """All deliveries. `carry` sends an envelope; it returns False without a listener."""

    def __init__(self, carry: Callable[[Envelope], bool], scale: Callable[[], float]) -> None:
        self.stalled = False
        self.twice = False
        self.held: int = 0
        self.sent: list[Envelope] = []
        self._carry = carry
        self._scale = scale
        self._waiting: list[Envelope] = []
        self._turned: list[Envelope] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def unacked(self) -> int:
        """Number of deliveries that the app has not acknowledged."""
        return sum(not envelope.acked for envelope in self.sent) + len(self._waiting) + len(self._turned)

    @property
    def acked(self) -> int:
        """Number of deliveries that the app has acknowledged."""
        return sum(envelope.acked for envelope in self.sent)

    def put(self, kind: str, payload: dict[str, Any]) -> Envelope:
        """Deliver a payload, now or once there is a listener."""
        envelope = Envelope(kind, payload)
        if self.held:
            self._turned.insert(0, envelope)
            if len(self._turned) >= self.held:
                self.held, turned, self._turned = 0, self._turned, []
                for late in turned:
                    self._send(late)
        else:
            self._send(envelope)
        return envelope

    def flush(self) -> None:
        """Resend the envelopes that were not acknowledged, then send the waiting ones."""
        if self.stalled:
            return
        waiting, self._waiting = self._waiting, []
        again = [envelope for envelope in self.sent if not envelope.acked]
        self.sent = [envelope for envelope in self.sent if envelope.acked]
        for envelope in again:
            envelope.attempt += 1
        for envelope in [*again, *waiting]:
            self._send(envelope)

    def ack(self, envelope_id: str, answer: dict[str, Any]) -> None:
        """Mark an envelope as acknowledged."""
        for envelope in self.sent:
            if envelope.id == envelope_id:
                envelope.acked, envelope.answer = True, answer
        timer = self._timers.pop(envelope_id, None)
        if timer is not None:
            timer.cancel()

    def redeliver(self, count: int = 1) -> None:
        """Send the last events again, as after a lost acknowledgement."""
        events = [envelope for envelope in self.sent if envelope.kind == "events_api"][-count:]
        for envelope in events:
            again = Envelope(envelope.kind, envelope.payload, attempt=envelope.attempt + 1)
            self._send(again)

    def reset(self) -> None:
        """Drop all envelopes and faults."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self.sent.clear()
        self._waiting.clear()
        self._turned.clear()
        self.stalled = self.twice = False
        self.held = 0

    def _send(self, envelope: Envelope) -> None:
        if self.stalled or not self._carry(envelope):
            self._waiting.append(envelope)
            return
        self.sent.append(envelope)
        if self.twice:
            copy = Envelope(envelope.kind, envelope.payload)
            self._carry(copy)
            self.sent.append(copy)
        self._watch(envelope)

    def _watch(self, envelope: Envelope) -> None:
        if envelope.attempt < len(RETRIES) and envelope.kind == "events_api":
            seconds = RETRIES[envelope.attempt] * self._scale()
            loop = asyncio.get_running_loop()
            self._timers[envelope.id] = loop.call_later(seconds, self._resend, envelope)

    def _resend(self, envelope: Envelope) -> None:
        if not envelope.acked and envelope in self.sent:
            self.sent.remove(envelope)
            envelope.attempt += 1
            self._send(envelope)


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
