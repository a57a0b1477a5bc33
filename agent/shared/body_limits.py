"""ASGI layer that limits the size and duration of request bodies before they are read.

A declared size is refused at once, a body without one as soon as it exceeds the limit. Bodies that are read
before the caller is known share a small budget, so that strangers can't fill the memory together.

Only sign-in and webhooks read a body that early: beyond 32 kB each they share 4 MiB. All other routes answer
401 first. A body with a credential has 20 seconds, then has to arrive at 1 kB/s on average.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FREE_BYTES: Final = 32_768
"""Part of an anonymous body that the budget does not cover: ordinary events and sign-ins fit in it."""
BODY_SECONDS: Final = 20.0
BODY_RATE: Final = 1_000
"""Bytes of a body with a credential that add a second."""
REFUSALS: Final = {
    408: "The request took too long to arrive.",
    413: "The body is too large. The limit is {limit} bytes.",
    503: "The service is receiving too much data. Try again later.",
}


@dataclass(frozen=True, slots=True)
class BodyRule:
    """A route's maximum body size (bytes), and whether the body is read before authentication."""

    limit: int
    is_anonymous: bool = False


FindRule = Callable[[Scope], BodyRule]


class BodyLimits:
    """Serves requests whose body is within their route's limit. Responds to others with 413, with 408 if the
    body does not arrive within `seconds`, or with 503 if anonymous bodies exceed their `budget` (bytes).

    `refused` counts these answers by status; `response_headers` are added to them.
    """

    def __init__(
        self,
        app: ASGIApp,
        find_rule: FindRule,
        *,
        budget: int = 4_194_304,
        seconds: float = BODY_SECONDS,
        response_headers: Mapping[str, str] | None = None,
        refused: Counter[int] | None = None,
    ) -> None:
        self._app = app
        self._find_rule = find_rule
        self._response_headers = response_headers or {}
        self.budget = budget
        self.seconds = seconds
        self.refused = Counter[int]() if refused is None else refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        rule = self._find_rule(scope)
        if _declared_size(scope) > rule.limit:
            await self._refuse(scope, receive, send, 413, rule)
            return
        body = _LimitedBody(self, rule, receive, send)
        try:
            # A client that leaves before its body is complete expects no answer, so this is not an error.
            with suppress(ClientDisconnect):
                if not rule.is_anonymous or await body.read_ahead():
                    await self._app(scope, body.receive, body.send)
        finally:
            self.budget += body.charged
        if body.refusal and not body.is_answered:
            await self._refuse(scope, receive, send, body.refusal, rule)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, status: int, rule: BodyRule) -> None:
        self.refused[status] += 1
        more = {408: {"connection": "close"}, 503: {"retry-after": "5"}}.get(status, {})
        answer = JSONResponse(
            {"detail": REFUSALS[status].format(limit=rule.limit)}, status, {**self._response_headers, **more}
        )
        await answer(scope, receive, send)


class _LimitedBody:
    """Forwards a body until it is refused; the application then sees a disconnected client."""

    def __init__(self, limits: BodyLimits, rule: BodyRule, receive: Receive, send: Send) -> None:
        self._limits = limits
        self._rule = rule
        self._receive = receive
        self._send = send
        self._size = 0
        self._waited = 0.0
        self._has_more = True
        self._complete: Message | None = None
        self.charged = 0
        self.refusal = 0
        self.is_answered = False

    async def read_ahead(self) -> bool:
        """Read the whole body, so that an anonymous client that never completes it does not occupy the
        application.

        Return False if it was refused or the client has gone away.
        """
        body, more_body = bytearray(), True
        while more_body:
            message = await self._receive_within_limits()
            if message["type"] == "http.disconnect":
                return False
            body += message.get("body", b"")
            more_body = message.get("more_body", False)
        self._complete = {"type": "http.request", "body": bytes(body), "more_body": False}
        return True

    async def receive(self) -> Message:
        message, self._complete = self._complete, None
        return message or await self._receive_within_limits()

    async def _receive_within_limits(self) -> Message:
        if self.refusal:
            return {"type": "http.disconnect"}
        if not self._has_more:
            return await self._receive()
        began = perf_counter()
        try:
            async with asyncio.timeout(self._find_seconds_left()):
                message = await self._receive()
        except TimeoutError:
            self.refusal = 408
            return {"type": "http.disconnect"}
        self._waited += perf_counter() - began
        if message["type"] == "http.request":
            self._has_more = message.get("more_body", False)
            self._size += len(message.get("body", b""))
            self.refusal = self._find_refusal()
        return {"type": "http.disconnect"} if self.refusal else message

    async def send(self, message: Message) -> None:
        """Send a part of the response, unless the body was refused before the response started."""
        if self.refusal and not self.is_answered:
            return
        self.is_answered = True
        await self._send(message)

    def _find_seconds_left(self) -> float:
        """Return the seconds left to wait for the body, excluding the application's processing time."""
        credit = 0.0 if self._rule.is_anonymous else self._size / BODY_RATE
        return max(0.0, self._limits.seconds + credit - self._waited)

    def _find_refusal(self) -> int:
        if self._size > self._rule.limit:
            return 413
        if not self._rule.is_anonymous:
            return 0
        charge = max(0, self._size - FREE_BYTES) - self.charged
        if charge > self._limits.budget:
            return 503
        self._limits.budget -= charge
        self.charged += charge
        return 0


def _declared_size(scope: Scope) -> int:
    """Return the value of Content-Length, or 0 if there is none."""
    sizes = [value for name, value in scope["headers"] if name == b"content-length"]
    return max((int(value) for value in sizes if value.isdigit()), default=0)
