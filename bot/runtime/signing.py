"""Signatures of the bot's requests to the agent runtime, which accepts a run's identity only from the bot."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from email.utils import parsedate_to_datetime

import httpx

from agent.shared.request_signature import IDEMPOTENCY_HEADER, SIGNATURE_HEADER, is_signable, sign_request


class RequestSigner(httpx.Auth):
    """Signs a client's requests to the LangGraph API; management routes need no identity."""

    def __init__(self, key: str, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._now = now
        self._ahead = 0.0

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign a request, and if it is refused, sign it again with the runtime's time.

        The first signature may have expired: the machine was suspended, or the runtime has another clock.
        """
        target = request.url.raw_path.decode("ascii")
        if not is_signable(target):
            yield request
            return
        await self._sign(request, target)
        response = yield request
        if response.status_code == httpx.codes.FORBIDDEN:
            if (date := _date_of(response)) is not None:
                self._ahead = date - self._now()
            await self._sign(request, target)
            yield request

    async def _sign(self, request: httpx.Request, target: str) -> None:
        request.headers[SIGNATURE_HEADER] = sign_request(
            self._key,
            request.method,
            target,
            await request.aread(),
            idempotency_key=request.headers.get(IDEMPOTENCY_HEADER, ""),
            at=self._now() + self._ahead,
        )


def _date_of(response: httpx.Response) -> float | None:
    """Return the server's time of a response (s since the epoch), None if it is missing."""
    try:
        return parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except ValueError:
        return None


def make_signer(key: str | None) -> RequestSigner | None:
    """Return a signer, or None without a key."""
    return RequestSigner(key) if key else None
