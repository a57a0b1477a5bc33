"""A lean HTTP/1.1 client for one origin: kept-alive connections, one request at a time on each.

An httpx call costs about 0.9 ms of CPU, one here about 0.1 ms; a streamed reply makes many (see
`tests/benchmarks`). It knows for certain whether a request may have left the machine.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import cast

import httptools

IDLE_SECONDS = 10.0
"""A connection that rested longer is not used again: the server may be closing it at this moment."""
BODY_LIMIT = 64 * 1024 * 1024


class NotSent(Exception):
    """The request never left: repeating it is safe."""


class Broken(Exception):
    """The connection ended in the middle: what the server did with the request is unknown."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where to connect; `tls` None for plain HTTP."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


class _Connection(asyncio.Protocol):
    """One connection. Also the callbacks of the parser."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self.reusable = True
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._body: list[bytes] = []
        self._size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail("the answer is not HTTP")

    def eof_received(self) -> None:
        self.reusable = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the server closed the connection")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > BODY_LIMIT:
            self._fail("the answer is too large")
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.reusable = self.reusable and self._parser.should_keep_alive()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result((self._parser.get_status_code(), b"".join(self._body)))
        self._parser = httptools.HttpResponseParser(self)

    @property
    def usable(self) -> bool:
        """Whether another request may go over it."""
        return (
            self.reusable
            and self._transport is not None
            and not self._transport.is_closing()
            and monotonic() - self.idle_since < IDLE_SECONDS
        )

    def exchange(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a whole request; the answer is its status and body. Fails with Broken."""
        assert self._transport is not None
        self._body, self._size = [], 0
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        """Cut the connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, why: str) -> None:
        self.reusable = False
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(Broken(why))
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()


class Pool:
    """Up to `size` connections to one origin, the most recently used one first."""

    def __init__(self, origin: Origin, size: int) -> None:
        self._origin = origin
        self._free = asyncio.Semaphore(size)
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self.closed = False

    async def request(
        self, request: bytes, *, connect: float, wait: float, on_sent: Callable[[], None] | None = None
    ) -> tuple[int, bytes]:
        """Send a whole HTTP request and return status and body; `wait` bounds the answer (seconds).

        `on_sent` is called once the request is on its way. Raises NotSent, Broken or TimeoutError.
        """
        await self._enter(connect)
        try:
            connection = await self._connected(connect)
            try:
                async with asyncio.timeout(wait):
                    answer = connection.exchange(request)
                    if on_sent is not None:
                        on_sent()
                    result = await answer
            except BaseException:
                self._drop(connection)
                raise
            self._rest(connection)
            return result
        finally:
            self._free.release()

    def close(self) -> None:
        """Cut every connection; requests under way fail with Broken, later ones with NotSent."""
        self.closed = True
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self._idle.clear()

    async def _enter(self, seconds: float) -> None:
        if self.closed:
            raise NotSent("the client is closed")
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise NotSent("every connection is busy") from None

    async def _connected(self, seconds: float) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            self._drop(connection)
        return await self._connect(seconds)

    async def _connect(self, seconds: float) -> _Connection:
        origin = self._origin
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    _Connection, origin.host, origin.port, ssl=origin.tls
                )
        except TimeoutError:
            raise NotSent("no connection within the time allowed") from None
        except OSError as error:
            raise NotSent(
                f"cannot connect to {origin.host}: {error.strerror or type(error).__name__}"
            ) from None
        if self.closed:
            connection.close()
            raise NotSent("the client is closed")
        self._open.add(connection)
        return connection

    def _rest(self, connection: _Connection) -> None:
        connection.idle_since = monotonic()
        if connection.usable and not self.closed:
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        connection.close()
        self._open.discard(connection)
