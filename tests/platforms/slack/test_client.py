"""The client against servers that break off, and behind a proxy that lets nothing through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from bot.platforms.http import NoAnswer, RequestNotSent
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS, delivery_error


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """A server that gives every request these bytes and closes; yields its port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


@asynccontextmanager
async def opened(base_url: str) -> AsyncIterator[SlackClient]:
    client = SlackClient("xoxb-1", "xapp-1", base_url)
    await client.open()
    try:
        yield client
    finally:
        await client.close()


async def test_the_status_counts_even_if_the_body_breaks_off() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nOK") as port:
        address = f"http://127.0.0.1:{port}/"
        async with opened(address) as client:
            assert await client.respond(address, {"text": "x"}) == 200
            assert await client.upload(address, b"x") == 200


async def test_an_answer_without_a_status_is_none() -> None:
    async with answering(b"") as port:
        address = f"http://127.0.0.1:{port}/"
        async with opened(address) as client:
            with pytest.raises(NoAnswer):
                await client.respond(address, {"text": "x"})
            with pytest.raises(NoAnswer) as lost:
                await client.upload(address, b"x")
            assert delivery_error(lost.value, posting=True).unknown_outcome


async def test_a_proxy_that_refuses_the_way_means_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with answering(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n") as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        async with opened("https://slack.invalid/api/") as client:
            with pytest.raises(CALL_ERRORS) as refused:
                await client.web.chat_postMessage(channel="C1", text="x")
            assert not delivery_error(refused.value, posting=True).unknown_outcome
            with pytest.raises(RequestNotSent) as unsent:
                await client.respond("https://hooks.slack.invalid/1", {"text": "x"})
            error = delivery_error(unsent.value, posting=True)
            assert (error.detail, error.unknown_outcome) == ("cannot connect to Slack", False)


def test_a_connection_that_is_not_made_in_time_means_never_sent() -> None:
    assert not delivery_error(aiohttp.ConnectionTimeoutError(), posting=True).unknown_outcome
    assert delivery_error(aiohttp.SocketTimeoutError(), posting=True).unknown_outcome
