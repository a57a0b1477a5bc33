"""The lean HTTP client against servers that behave well, badly, and not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from bot.platforms.telegram import connection as connecting
from bot.platforms.telegram.connection import Broken, NotSent, Origin, Pool
from bot.platforms.telegram.request import NeverSent, checked, parsed, proxied

REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(handle: Handler, size: int = 4) -> AsyncIterator[tuple[Pool, list[int]]]:
    """A raw server, a pool to it, and one entry for each connection that was made."""
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    pool = Pool(Origin("127.0.0.1", listening.sockets[0].getsockname()[1]), size)
    async with listening:
        yield pool, connections
        pool.close()


def answers(*replies: bytes) -> Handler:
    """A server that gives these answers on each connection, then hangs up."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply)

    return handle


async def ask(pool: Pool, wait: float = 5.0) -> tuple[int, bytes]:
    return await pool.request(REQUEST, connect=5.0, wait=wait)


async def test_a_connection_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(answers(OK, OK, OK)) as (pool, connections):
        assert [await ask(pool) for _ in range(3)] == [(200, b"ok")] * 3
        assert len(connections) == 1


async def test_a_connection_that_rested_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(answers(OK, OK)) as (pool, connections):
        await ask(pool)
        monkeypatch.setattr(connecting, "IDLE_SECONDS", 0.0)
        await ask(pool)
        assert len(connections) == 2


async def test_a_server_that_closes_politely_gets_a_new_connection() -> None:
    close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    async with server(answers(close)) as (pool, connections):
        await ask(pool)
        await ask(pool)
        assert len(connections) == 2


async def test_chunked_answers_and_other_statuses() -> None:
    chunked = b"HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    async with server(answers(chunked, OK)) as (pool, _):
        assert await ask(pool) == (502, b"abc")
        assert await ask(pool) == (200, b"ok")


@pytest.mark.parametrize(
    "reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"not http at all\r\n\r\n"]
)
async def test_an_answer_that_breaks_off_is_unknown_and_the_next_one_is_fine(reply: bytes) -> None:
    replies = iter([reply, OK])

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next(replies))
        await writer.drain()

    async with server(handle) as (pool, connections):
        with pytest.raises(Broken):
            await ask(pool)
        assert await ask(pool) == (200, b"ok")
        assert len(connections) == 2


async def test_an_answer_beyond_all_measure_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "BODY_LIMIT", 1)
    async with server(answers(OK)) as (pool, _):
        with pytest.raises(Broken, match="too large"):
            await ask(pool)


async def test_silence_is_a_time_out_and_the_connection_is_not_reused() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server(handle) as (pool, connections):
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await ask(pool, wait=0.01)
        assert len(connections) == 2


async def test_nobody_there_means_not_sent() -> None:
    pool = Pool(Origin("127.0.0.1", 9), 1)
    with pytest.raises(NotSent, match="cannot connect to"):
        await ask(pool)
    pool.close()


async def test_a_full_pool_means_not_sent_and_a_freed_place_is_taken() -> None:
    go_on = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await go_on.wait()
        writer.write(OK)
        await writer.drain()

    async with server(handle, size=1) as (pool, _):
        first = asyncio.create_task(ask(pool))
        await asyncio.sleep(0)
        with pytest.raises(NotSent, match="busy"):
            await pool.request(REQUEST, connect=0.01, wait=1)
        go_on.set()
        assert await first == (200, b"ok")
        assert await ask(pool) == (200, b"ok")


async def test_closing_ends_what_is_under_way() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server(handle) as (pool, connections):
        waiting = asyncio.create_task(ask(pool))
        while not connections:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.001)
        pool.close()
        with pytest.raises(Broken):
            await waiting
        with pytest.raises(NotSent, match="closed"):
            await ask(pool)


async def test_being_cancelled_does_not_leave_a_half_used_connection() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server(handle) as (pool, connections):
        waiting = asyncio.create_task(ask(pool))
        while not connections:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.001)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert pool._open == set() and pool._idle == []


async def test_it_is_told_when_the_request_has_left() -> None:
    told: list[str] = []
    async with server(answers(OK)) as (pool, _):
        await pool.request(REQUEST, connect=5, wait=5, on_sent=lambda: told.append("sent"))
    assert told == ["sent"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"ok": true}', b""])
def test_an_answer_that_is_none_of_the_bot_api(body: bytes) -> None:
    from telegram.error import NetworkError

    with pytest.raises(NetworkError, match="the answer is not"):
        parsed(body)


def test_a_refusal_without_words_is_still_one() -> None:
    from bot.platforms.telegram.request import ApiRefused

    for body in (b"<html>", b"[1]", b'{"parameters": 5}'):
        with pytest.raises(ApiRefused, match="HTTP status 503") as refused:
            checked(503, body)
        assert refused.value.status == 503
    with pytest.raises(ApiRefused) as limited:
        checked(429, b"{}")
    assert limited.value.retry_after == 1.0


def test_a_proxy_is_used_where_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert not proxied("https://api.telegram.org")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    assert proxied("https://api.telegram.org")
    assert not proxied("http://127.0.0.1:8081")
    monkeypatch.setenv("no_proxy", "telegram.org")
    assert not proxied("https://api.telegram.org")


async def test_behind_a_proxy_the_sdks_own_client_goes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from bot.platforms.telegram.client import Client
    from bot.platforms.telegram.request import ApiRefused

    seen: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head.split(b"\r\n")[0])
        refusal = b'{"ok":false,"error_code":403,"description":"Forbidden: by proxy"}'
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: %d\r\n\r\n" % len(refusal) + refusal)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with listening:
        client = Client("123456:abcdefghijklmnop", "http://telegram.invalid")
        with pytest.raises(ApiRefused, match="by proxy"):
            await client.call("getMe")
        with pytest.raises(ApiRefused, match="by proxy"):
            await client.poll(None, 0, ["message"], lambda: None)
        await client.close()
    assert seen[0].startswith(b"POST http://telegram.invalid/bot123456:")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    unreachable = Client("123456:abcdefghijklmnop", "http://telegram.invalid")
    with pytest.raises(NeverSent):
        await unreachable.call("getMe")
    await unreachable.close()
