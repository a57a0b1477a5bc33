"""The SDK's way to Telegram against servers that behave well, badly, and not at all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import aiohttp
import pytest
from telegram import InputFile
from telegram.error import NetworkError, TimedOut
from telegram.request import RequestData
from telegram.request._requestparameter import RequestParameter

from bot.platforms import http as transporting
from bot.platforms.telegram.errors import TelegramNotSent, TelegramRefused, check_status, parse_answer
from bot.platforms.telegram.http import TelegramClient, TelegramTransport
from roebot_testing.emulators.telegram import TelegramEmulator

from .conftest import eventually

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            head += await reader.readexactly(int(line.partition(b":")[2]))
    return head


class Site:
    """A raw server, a transport to it, and what happened there."""

    def __init__(self, transport: TelegramTransport, url: str) -> None:
        self.transport = transport
        self.url = url
        self.connections = 0
        self.requests: list[bytes] = []

    async def ask(self, wait: float = 5.0) -> tuple[int, bytes]:
        return await self.transport.do_request(f"{self.url}/x", "POST", read_timeout=wait)


@asynccontextmanager
async def site(handle: Handler, size: int = 4) -> AsyncIterator[Site]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    found = Site(TelegramTransport(url, size), url)
    await found.transport.initialize()
    async with listening:
        try:
            yield found
        finally:
            await found.transport.shutdown()


def answers(*replies: bytes) -> Handler:
    """A server that gives these answers on each connection, then hangs up."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            await read_request(reader)
            writer.write(reply)

    return handle


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that only listens."""
    while await reader.read(65536):
        pass


async def test_a_connection_is_kept() -> None:
    async with site(answers(OK, OK, OK)) as there:
        assert [await there.ask() for _ in range(3)] == [(200, b"ok")] * 3
        assert there.connections == 1


async def test_a_connection_that_rested_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transporting, "IDLE_SECONDS", 0.0)
    async with site(answers(OK, OK)) as there:
        await there.ask()
        await there.ask()
        assert there.connections == 2


async def test_a_server_that_closes_politely_gets_a_new_connection() -> None:
    close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    async with site(answers(close)) as there:
        await there.ask()
        await there.ask()
        assert there.connections == 2


async def test_chunked_answers_and_other_statuses() -> None:
    chunked = b"HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    async with site(answers(chunked, OK)) as there:
        with pytest.raises(TelegramRefused, match="HTTP status 502"):
            await there.ask()
        assert await there.ask() == (200, b"ok")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirection_is_a_refusal_and_no_second_post(status: int) -> None:
    elsewhere = b"HTTP/1.1 %d Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n" % status
    async with site(answers(elsewhere, OK)) as there:
        with pytest.raises(TelegramRefused, match=f"HTTP status {status}"):
            await there.ask()
        assert await there.ask() == (200, b"ok")


@pytest.mark.parametrize(
    "reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"not http at all\r\n\r\n"]
)
async def test_an_answer_that_breaks_off_is_unknown_and_the_next_one_is_fine(reply: bytes) -> None:
    replies = iter([reply, OK])

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(next(replies))
        await writer.drain()

    async with site(handle) as there:
        with pytest.raises(NetworkError, match="the connection broke off") as broken:
            await there.ask()
        assert not isinstance(broken.value, TelegramNotSent | TimedOut)
        assert await there.ask() == (200, b"ok")
        assert there.connections == 2


async def test_a_kept_connection_that_dies_under_a_post_is_no_reason_to_post_again() -> None:
    posts: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        posts.append(await read_request(reader))
        writer.write(OK)
        posts.append(await read_request(reader))

    async with site(handle) as there:
        await there.ask()
        with pytest.raises(NetworkError) as broken:
            await there.ask()
        assert not isinstance(broken.value, TelegramNotSent)
        assert len(posts) == 2 and there.connections == 1


@pytest.mark.parametrize("fault", ["close", "drop"])
@pytest.mark.parametrize("upload", [False, True])
async def test_no_post_is_ever_repeated(emulator: TelegramEmulator, fault: str, upload: bool) -> None:
    emulator.people.says("go", user=7)
    client = TelegramClient(emulator.token, emulator.url)
    await client.open()
    await client.call("getMe")
    method = "sendDocument" if upload else "sendMessage"
    content = {"document": client.input_file(b"a", "a.txt")} if upload else {"text": "once"}
    emulator.fault(fault, method=method)
    with pytest.raises(NetworkError) as broken:
        await client.call(method, chat_id=7, **content)
    assert not isinstance(broken.value, TelegramNotSent)
    assert emulator.counters()["faults_struck"] == 1
    assert emulator.counters()["calls"].get(method, 0) == 1
    shown = [message for message in emulator.view(7)["messages"] if message["from_bot"]]
    assert len(shown) == (fault == "drop")
    await client.close()


async def test_an_answer_beyond_all_measure_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transporting, "ANSWER_LIMIT", 1)
    async with site(answers(OK)) as there:
        with pytest.raises(NetworkError, match="too large"):
            await there.ask()


async def test_silence_is_a_time_out_and_the_connection_is_not_reused() -> None:
    async with site(silence) as there:
        for _ in range(2):
            with pytest.raises(TimedOut):
                await there.ask(wait=0.01)
        assert there.connections == 2


async def test_nobody_there_means_never_sent() -> None:
    transport = TelegramTransport("http://127.0.0.1:9", 1)
    await transport.initialize()
    with pytest.raises(TelegramNotSent, match="cannot connect to"):
        await transport.do_request("http://127.0.0.1:9/x", "POST")
    await transport.shutdown()


async def test_an_address_that_does_not_exist_means_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", unknown)
    transport = TelegramTransport("http://telegram.invalid", 1)
    await transport.initialize()
    with pytest.raises(TelegramNotSent):
        await transport.do_request("http://telegram.invalid/x", "POST")
    await transport.shutdown()


async def test_a_server_that_does_not_accept_means_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transporting, "CONNECT_SECONDS", 0.01)
    with closing(socket.socket()) as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with closing(socket.create_connection(address)):
            url = f"http://127.0.0.1:{address[1]}"
            transport = TelegramTransport(url, 4)
            await transport.initialize()
            results = await asyncio.gather(
                *(transport.do_request(f"{url}/x", "POST", read_timeout=0.01) for _ in range(3)),
                return_exceptions=True,
            )
            await transport.shutdown()
    assert any(isinstance(result, TelegramNotSent) for result in results)
    assert all(isinstance(result, TelegramNotSent | TimedOut) for result in results)


async def test_a_server_that_speaks_no_tls_means_never_sent() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(OK)

    async with site(handle) as there:
        secure = there.url.replace("http:", "https:")
        transport = TelegramTransport(secure, 1)
        await transport.initialize()
        with pytest.raises(TelegramNotSent):
            await transport.do_request(f"{secure}/x", "POST")
        await transport.shutdown()


async def test_a_full_pool_means_never_sent_and_a_freed_place_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on, reached = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reached.set()
        await go_on.wait()
        writer.write(OK)
        await writer.drain()

    async with site(handle, size=1) as there:
        first = asyncio.create_task(there.ask())
        await reached.wait()
        with monkeypatch.context() as hasty:
            hasty.setattr(transporting, "CONNECT_SECONDS", 0.01)
            with pytest.raises(TelegramNotSent):
                await there.ask()
        second = asyncio.create_task(there.ask())
        go_on.set()
        assert await first == await second == (200, b"ok")


async def test_closing_ends_what_is_under_way_and_what_waits() -> None:
    reached = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reached.set()
        await silence(reader, writer)

    async with site(handle, size=1) as there:
        asked = asyncio.create_task(there.ask())
        await reached.wait()
        waiting = asyncio.create_task(there.ask())
        await asyncio.sleep(0)
        await there.transport.shutdown()
        with pytest.raises(NetworkError) as broken:
            await asked
        assert not isinstance(broken.value, TelegramNotSent)
        with pytest.raises(TelegramNotSent, match="closed"):
            await waiting
        with pytest.raises(TelegramNotSent, match="closed"):
            await there.ask()
        await there.transport.shutdown()


async def test_closing_does_not_wait_for_a_server_that_does_not_read() -> None:
    reached, done = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        await done.wait()
        writer.transport.abort()

    async with site(handle) as there:
        document = InputFile(bytes(32 * 1024 * 1024), filename="a")
        upload = RequestData([RequestParameter("document", document.attach_uri, [document])])
        asked = asyncio.create_task(there.transport.do_request(f"{there.url}/x", "POST", upload))
        await reached.wait()
        async with asyncio.timeout(5):
            await there.transport.shutdown()
        done.set()
        with pytest.raises(NetworkError):
            await asked


async def test_nothing_goes_out_before_it_is_open() -> None:
    transport = TelegramTransport("http://127.0.0.1:9", 1)
    with pytest.raises(TelegramNotSent, match="closed"):
        await transport.do_request("http://127.0.0.1:9/x", "POST")
    await transport.shutdown()


async def test_opening_twice_keeps_the_connections() -> None:
    async with site(answers(OK, OK)) as there:
        await there.ask()
        await there.transport.initialize()
        await there.ask()
        assert there.connections == 1
        assert there.transport.read_timeout == transporting.ANSWER_SECONDS


@pytest.mark.parametrize("full", [False, True])
async def test_being_cancelled_stays_that_and_leaves_nothing_half_used(full: bool) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            reached.set()
            await go_on.wait()
            writer.write(OK)

    async with site(handle, size=1 if full else 4) as there:
        first = asyncio.create_task(there.ask())
        await reached.wait()
        second = asyncio.create_task(there.ask())
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go_on.set()
        assert await there.ask() == (200, b"ok")


async def test_being_cancelled_while_it_closes_is_still_being_cancelled() -> None:
    reached = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reached.set()
        await silence(reader, writer)

    async with site(handle, size=1) as there:
        first = asyncio.create_task(there.ask())
        await reached.wait()
        waiting = asyncio.create_task(there.ask())
        await asyncio.sleep(0)
        waiting.cancel()
        await there.transport.shutdown()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(NetworkError):
            await first


async def test_it_is_told_when_the_request_has_left_and_before_the_answer() -> None:
    told = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await told.wait()
        writer.write(OK)
        await writer.drain()

    async with site(handle) as there:
        there.transport.on_sent = told.set
        assert await there.ask() == (200, b"ok")


async def test_it_is_not_told_of_a_request_that_never_left() -> None:
    transport = TelegramTransport("http://127.0.0.1:9", 1)
    await transport.initialize()
    told: list[str] = []
    transport.on_sent = lambda: told.append("sent")
    with pytest.raises(TelegramNotSent):
        await transport.do_request("http://127.0.0.1:9/x", "POST")
    await transport.shutdown()
    assert told == []


async def test_polls_and_calls_do_not_stand_in_each_others_way(emulator: TelegramEmulator) -> None:
    client = TelegramClient(emulator.token, emulator.url)
    await client.open()
    emulator.stall()
    polls = [asyncio.create_task(client.poll_updates(None, 5, ["message"], lambda: None)) for _ in range(2)]
    await eventually(lambda: emulator.counters()["calls"].get("getUpdates", 0) >= 1)
    assert (await client.call("getMe"))["is_bot"]
    for poll in polls:
        poll.cancel()
    await asyncio.gather(*polls, return_exceptions=True)
    emulator.release()
    await client.close()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"ok": true}', b""])
def test_an_answer_that_is_none_of_the_bot_api(body: bytes) -> None:
    with pytest.raises(NetworkError, match=r"the response (is not JSON|does not match)"):
        parse_answer(body)


def test_a_refusal_without_words_is_still_one() -> None:
    for body in (b"<html>", b"[1]", b'{"parameters": 5}'):
        with pytest.raises(TelegramRefused, match="HTTP status 503") as refused:
            check_status(503, body)
        assert refused.value.status == 503
    with pytest.raises(TelegramRefused) as limited:
        check_status(429, b"{}")
    assert limited.value.retry_after == 1.0
