"""What a client can hold of an HTTP server: half-sent requests, large headers, many connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent.shared.body_limits import BodyLimits, BodyRule
from agent.shared.connection_limits import ConnectionLimits
from agent.shared.http_protocol import LimitedConfig
from roebot_testing.running import eventually

QUICK = ConnectionLimits(total=8, header_seconds=0.2, body_seconds=0.4)
LARGE = 40_000_000
HEAD = b"HTTP/1.1\r\nhost: x\r\n"


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


async def _echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _refuse(_request: Request) -> Response:
    return PlainTextResponse("no", 401)


async def _wait(request: Request) -> Response:
    while not await request.is_disconnected():
        await asyncio.sleep(0.01)
    return PlainTextResponse("gone")


async def _large(_request: Request) -> Response:
    return Response(bytes(LARGE))


ROUTES = [
    Route("/echo", _echo, methods=["GET", "POST"]),
    Route("/anonymous", _echo, methods=["POST"]),
    Route("/refuse", _refuse, methods=["POST"]),
    Route("/wait", _wait),
    Route("/large", _large),
]


def _rule(scope: Any) -> BodyRule:
    return BodyRule(1_000_000, is_anonymous=scope["path"] == "/anonymous")


@dataclass
class Served:
    """A server on loopback, and its open connections."""

    port: int
    config: LimitedConfig
    connections: Sized

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, data: bytes) -> bytes:
        """Everything that is answered until the connection closes."""
        reader, writer = await self.connect()
        writer.write(data)
        try:
            async with asyncio.timeout(5):
                return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def served(limits: ConnectionLimits = QUICK) -> AsyncIterator[Served]:
    bound = socket.create_server(("127.0.0.1", 0))
    app = BodyLimits(Starlette(routes=ROUTES), _rule, seconds=limits.body_seconds)
    config = LimitedConfig(app, limits, log_config=None, access_log=False, lifespan="off")
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield Served(bound.getsockname()[1], config, server.server_state.connections)
    finally:
        server.should_exit = server.force_exit = True
        await task
        bound.close()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_a_request_is_answered_and_its_connection_used_again() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        for size in (3, 70_000):
            writer.write(b"POST /echo " + HEAD + b"content-length: %d\r\n\r\n" % size + b"x" * size)
            head = await reader.readuntil(b"\r\n\r\n")
            assert status_of(head) == 200
            assert await reader.readexactly(len(str(size))) == b"%d" % size
        writer.close()


@pytest.mark.guard(
    "half-sent headers are closed in time",
    "agent/shared/http_protocol.py",
    "call_later(self.config.limits.header_seconds, self._close_late)",
    "call_later(1e6, self._close_late)",
    against="slow clients",
)
async def test_half_sent_headers_are_closed_in_time() -> None:
    async with served() as server:
        began = time.monotonic()
        assert status_of(await server.send(b"GET /echo HTTP/1.1\r\nhost:")) == 408
        assert time.monotonic() - began < 2
        assert server.config.closed["headers"] == 1


async def test_headers_that_arrive_byte_by_byte_get_no_more_time() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        began = time.monotonic()
        answered = asyncio.create_task(reader.read())
        for byte in b"GET /echo HTTP/1.1\r\nx-slow: " + b"a" * 200:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)
            if answered.done():
                break
        assert time.monotonic() - began < 1.5
        # What was sent after the answer may reset the connection before the client has read it.
        with contextlib.suppress(ConnectionResetError):
            assert status_of(await answered) == 408
        assert server.config.closed["headers"] == 1
        writer.close()


async def test_a_connection_that_sends_nothing_is_closed() -> None:
    async with served() as server:
        with contextlib.suppress(ConnectionResetError):
            assert await server.send(b"") == b""
        assert server.config.closed["headers"] == 1
        assert len(server.connections) == 0


@pytest.mark.guard(
    "half-sent bodies are closed in time",
    "agent/shared/body_limits.py",
    "return max(0.0, self._limits.seconds + credit - self._waited)",
    "return 1e6",
    against="slow clients",
)
async def test_a_half_sent_body_is_closed_in_time() -> None:
    async with served() as server:
        began = time.monotonic()
        answer = await server.send(b"POST /echo " + HEAD + b"content-length: 100\r\n\r\nhalf")
        assert status_of(answer) == 408
        assert time.monotonic() - began < 3


async def test_a_body_at_the_lowest_rate_is_accepted() -> None:
    async with served(replace(QUICK, body_seconds=1.0)) as server:
        reader, writer = await server.connect()
        writer.write(b"POST /echo " + HEAD + b"content-length: 2000\r\n\r\n")
        for _ in range(20):
            writer.write(b"x" * 100)
            await asyncio.sleep(0.08)
        assert status_of(await reader.readline()) == 200
        writer.close()


@pytest.mark.guard(
    "a body without a credential gets no time for its size",
    "agent/shared/body_limits.py",
    "credit = 0.0 if self._rule.is_anonymous else self._size / BODY_RATE",
    "credit = self._size / BODY_RATE",
    against="slow clients",
)
async def test_an_anonymous_body_gets_no_time_for_its_size() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        began = time.monotonic()
        writer.write(b"POST /anonymous " + HEAD + b"content-length: 900000\r\n\r\n")
        await asyncio.sleep(0.15)
        writer.write(b"x" * 50_000)
        async with asyncio.timeout(5):
            assert status_of(await reader.readline()) == 408
        assert time.monotonic() - began < 3
        writer.close()


@pytest.mark.guard(
    "complete headers have a size limit",
    "agent/shared/http_protocol.py",
    "        if size > self.config.limits.header_bytes:",
    "        if False:",
    against="large requests",
)
@pytest.mark.guard(
    "incomplete headers have a size limit",
    "agent/shared/http_protocol.py",
    "        if self._header_bytes > self.config.limits.header_bytes:",
    "        if False:",
    against="large requests",
)
async def test_large_headers_are_refused_however_they_are_sent() -> None:
    many = b"".join(b"x-%d: %s\r\n" % (n, b"a" * 1_000) for n in range(100))
    async with served() as server:
        for data in (
            b"GET /echo " + HEAD + many,
            b"GET /echo " + HEAD + many + b"\r\n",
            b"GET /echo " + HEAD + b"x-long: " + b"a" * 400_000,
            b"GET /" + b"a" * 400_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
            b"\r\n" * 200_000,
            b"POST /echo " + HEAD + b"transfer-encoding: chunked\r\n\r\n1;" + b"e" * 400_000,
            b"POST /echo " + HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\nx-trailer: " + b"a" * 400_000,
        ):
            with contextlib.suppress(ConnectionResetError):
                assert status_of(await server.send(data)) in {400, 431}, data[:80]
        assert server.config.closed["header_bytes"] >= 5


@pytest.mark.guard(
    "requests sent ahead are limited",
    "agent/shared/http_protocol.py",
    "        if len(self.pipeline) >= MAX_PIPELINED:",
    "        if False:",
    against="large requests",
)
async def test_requests_sent_ahead_are_limited() -> None:
    async with served() as server:
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            answer = await server.send((b"GET /echo " + HEAD + b"\r\n") * 5_000)
        assert answer.count(b"HTTP/1.1 200") < 50
        assert len(server.connections) == 0


async def test_a_client_that_reads_nothing_of_a_complete_response_is_disconnected() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        writer.write(b"GET /large " + HEAD + b"\r\n")
        await writer.drain()
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(5):
            while len(server.connections):
                await asyncio.sleep(0.02)
        assert server.config.closed["headers"] == 1
        writer.close()


async def test_a_client_that_reads_slowly_gets_the_whole_response() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        writer.write(b"GET /large " + HEAD + b"connection: close\r\n\r\n")
        size = 0
        while data := await reader.read(1_000_000):
            size += len(data)
            await asyncio.sleep(0.01)
        assert size > LARGE
        writer.close()


@pytest.mark.guard(
    "the rest of a refused body is dropped for a limited time",
    "agent/shared/http_protocol.py",
    "        if is_last:",
    "        if False:",
    against="large requests",
)
async def test_the_rest_of_a_refused_body_is_dropped_for_a_time() -> None:
    async with served() as server:
        reader, writer = await server.connect()
        writer.write(b"POST /refuse " + HEAD + b"content-length: 900000000\r\n\r\n")
        writer.write(b"x" * 500_000)
        await writer.drain()
        assert status_of(await reader.readline()) == 413
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(10):
                while True:
                    writer.write(b"x" * 500_000)
                    await writer.drain()
        assert server.config.closed["headers"] == 1
        writer.close()


@pytest.mark.guard(
    "connections are limited in total",
    "agent/shared/http_protocol.py",
    "        if len(self.connections) > self.config.limits.total:",
    "        if False:",
    against="many connections",
)
async def test_idle_connections_make_room() -> None:
    async with served(ConnectionLimits(total=8)) as server:
        held = [await server.connect() for _ in range(20)]
        for _, writer in held[:10]:
            writer.write(b"GET /echo HTTP/1.1\r\n")
        answer = await server.send(b"GET /echo " + HEAD + b"connection: close\r\n\r\n")
        assert status_of(answer) == 200
        await eventually(lambda: len(server.connections) <= 8)
        assert server.config.closed["total"] >= 12
        for _, writer in held:
            writer.close()


async def test_many_that_connect_at_once_do_not_displace_a_request() -> None:
    async with served(ConnectionLimits(total=8)) as server:
        held = [await server.connect() for _ in range(8)]
        # All of them are accepted in one iteration of the loop, since connecting waits for nothing here.
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"GET /echo " + HEAD + b"connection: close\r\n\r\n")
        crowd += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
        reader, writer = await asyncio.open_connection(sock=client)
        assert status_of(await reader.read()) == 200
        await eventually(lambda: len(server.connections) <= 8)
        for one in crowd:
            one.close()
        for _, other in [*held, (reader, writer)]:
            other.close()


async def test_half_sent_bodies_make_room() -> None:
    async with served(ConnectionLimits(total=2)) as server:
        held = [await server.connect() for _ in range(6)]
        for _, writer in held:
            writer.write(b"POST /anonymous " + HEAD + b"content-length: 4\r\n\r\nha")
        await eventually(lambda: server.config.closed["total"] >= 4)
        await eventually(lambda: len(server.connections) <= 2)
        for _, writer in held:
            writer.close()


async def test_requests_beyond_the_limit_are_refused() -> None:
    async with served(ConnectionLimits(total=2)) as server:
        busy = [await server.connect() for _ in range(3)]
        for _, writer in busy:
            writer.write(b"GET /wait " + HEAD + b"\r\n")
        await eventually(lambda: server.config.is_full)
        assert status_of(await server.send(b"GET /echo " + HEAD + b"\r\n")) == 503
        for reader, writer in busy:
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        await eventually(lambda: not server.config.is_full)
        assert status_of(await server.send(b"GET /echo " + HEAD + b"connection: close\r\n\r\n")) == 200


@pytest.mark.guard(
    "a connection whose request is arriving is not closed for another",
    "agent/shared/http_protocol.py",
    "        self.heard_at = self.loop.time()\n        self._header_bytes += len(data)",
    "        self._header_bytes += len(data)",
    against="many connections",
)
async def test_a_connection_whose_request_is_arriving_is_not_closed_for_another() -> None:
    async with served(ConnectionLimits(total=2)) as server:
        reader, writer = await server.connect()
        writer.write(b"POST /echo " + HEAD + b"content-length: 4\r\n\r\nha")
        held = [await server.connect() for _ in range(5)]
        writer.write(b"l")
        await eventually(lambda: server.config.closed["total"] >= 4)
        writer.write(b"f")
        assert status_of(await reader.readline()) == 200
        for _, other in [*held, (reader, writer)]:
            other.close()
