"""Connections are taken from a stack, given back, and never shared by two requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from bot.runtime.transport import KEPT, StackedTransport


class Body(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            await asyncio.sleep(0)
            yield piece


class One(httpx.AsyncBaseTransport):
    """A connection that notices when it is used twice at once."""

    def __init__(self, made: list[One]) -> None:
        made.append(self)
        self.busy = False
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert not self.busy
        assert not self.closed
        if request.url.path == "/broken":
            raise httpx.ReadError("cut")
        self.busy = True
        one = self

        class Told(Body):
            async def aclose(self) -> None:
                one.busy = False

        return httpx.Response(200, stream=Told([b"a", b"b"]))

    async def aclose(self) -> None:
        self.closed = True


async def test_connections_are_used_again_one_request_at_a_time() -> None:
    made: list[One] = []
    async with httpx.AsyncClient(
        transport=StackedTransport(lambda: One(made)), base_url="http://x"
    ) as client:
        for _ in range(5):
            assert (await client.get("/")).content == b"ab"
        assert len(made) == 1
        await asyncio.gather(*(client.get("/") for _ in range(KEPT + 10)))
        assert len(made) == KEPT + 10
        assert sum(one.closed for one in made) == 10
    assert all(one.closed for one in made)


async def test_a_broken_connection_is_not_used_again() -> None:
    made: list[One] = []
    async with httpx.AsyncClient(
        transport=StackedTransport(lambda: One(made)), base_url="http://x"
    ) as client:
        with pytest.raises(httpx.ReadError):
            await client.get("/broken")
        assert made[0].closed
        await client.get("/")
        assert len(made) == 2


async def test_a_stream_that_is_left_gives_its_connection_back() -> None:
    made: list[One] = []
    transport = StackedTransport(lambda: One(made))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        async with client.stream("GET", "/") as response:
            async for piece in response.aiter_bytes():
                assert piece == b"a"
                break
        await client.get("/")
        assert len(made) == 1
        async with client.stream("GET", "/"):
            await transport.aclose()
    assert made[0].closed
