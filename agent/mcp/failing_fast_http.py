"""An HTTP client that says when a request with a message of ours fails.

The protocol's package only logs that; whoever waits for the answer would wait for ever.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx

from agent.errors import McpError

Report = Callable[[str], None]
"""Hears why the connection can't be used any more."""
_SESSION_EXPIRED = 404


def make_client(
    report: Report, *, headers: Mapping[str, str], timeout: httpx.Timeout, auth: httpx.Auth | None
) -> httpx.AsyncClient:
    """The client. Blocking: it reads the machine's certificates."""
    return _FailFastClient(report, headers=dict(headers), timeout=timeout, auth=auth, follow_redirects=True)


class _FailFastClient(httpx.AsyncClient):
    def __init__(self, report: Report, **options: Any) -> None:
        super().__init__(**options)
        self._report = report

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        try:
            response = await super().send(request, **options)
        except (httpx.TransportError, McpError) as error:
            if request.method == "POST":
                self._report(_describe_failure(error))
            raise
        if request.method == "POST":
            if response.status_code >= 400 and response.status_code != _SESSION_EXPIRED:
                self._report(f"answered {response.status_code}")
            elif isinstance(response.stream, httpx.AsyncByteStream):
                response.stream = _FailFastStream(response.stream, self._report)
        return response


class _FailFastStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, report: Report) -> None:
        self._inner, self._report = inner, report

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx.TransportError as error:
            self._report(_describe_failure(error))
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


def _describe_failure(error: Exception) -> str:
    if isinstance(error, McpError):
        return str(error).partition('" ')[2].rstrip(".")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return "can't be reached"
    return f"broke the connection ({type(error).__name__})"
