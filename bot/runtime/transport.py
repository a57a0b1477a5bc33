"""Connections to the runtime: one small pool for each request under way, so that none looks at the others.

httpcore's pool goes over all of its connections whenever a request begins or ends; with some hundred open
streams that was half of the bot's work. Here an idle connection is taken from a stack.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType

import httpx

# Idle connections that are kept for the next requests.
KEPT = 64


class StackedTransport(httpx.AsyncBaseTransport):
    """A transport over many transports of one connection each; `make` makes one."""

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._make = make
        self._idle: list[httpx.AsyncBaseTransport] = []
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx. The connection is free again when the response is closed."""
        transport = self._idle.pop() if self._idle else self._make()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            await transport.aclose()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Borrowed(response.stream, transport, self)
        return response

    async def give_back(self, transport: httpx.AsyncBaseTransport) -> None:
        """A request over `transport` is over."""
        if self._closed or len(self._idle) >= KEPT:
            await transport.aclose()
        else:
            self._idle.append(transport)

    async def aclose(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        self._closed = True
        idle, self._idle = self._idle, []
        for transport in idle:
            await transport.aclose()

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()


class _Borrowed(httpx.AsyncByteStream):
    """A response body that gives its connection back when it is closed."""

    def __init__(
        self, body: httpx.AsyncByteStream, transport: httpx.AsyncBaseTransport, owner: StackedTransport
    ) -> None:
        self._body = body
        self._transport: httpx.AsyncBaseTransport | None = transport
        self._owner = owner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()
        transport, self._transport = self._transport, None
        if transport is not None:
            await self._owner.give_back(transport)
