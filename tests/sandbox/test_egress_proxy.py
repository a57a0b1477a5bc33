"""The egress proxy by itself: what it forwards, and requests that must not get past it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agent.sandbox.egress.forwarding import EgressUsage
from agent.sandbox.egress.gate import SOCKET_NAME, bind_in_folder, make_pair, open_gate
from agent.sandbox.egress.http_peer import HEAD_BYTES
from agent.sandbox.egress.proxy import EgressLimits, EgressProxy
from roebot_testing.agent.conformance.attacks_egress import CLOSED, EgressSite, open_site

LIMITS = EgressLimits(head_seconds=5.0, connect_seconds=5.0, idle_seconds=5.0)

HOST = "\nHost: open.test:PORT\n"
POST = f"POST http://open.test:PORT/ HTTP/1.1{HOST}"
GET = f"GET http://open.test:PORT/ HTTP/1.1{HOST}\n"


@dataclass
class Way:
    """A proxy on this machine's own loopback address, without a sandbox."""

    site: EgressSite
    port: int
    usage: EgressUsage

    async def ask(self, data: str | bytes) -> bytes:
        """Everything that is answered to a request, until the connection ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data if isinstance(data, bytes) else self.filled(data))
        try:
            async with asyncio.timeout(10):
                return await reader.read()
        except ConnectionError:
            return b"reset"
        finally:
            writer.close()

    def filled(self, data: str) -> bytes:
        """With line ends of HTTP, and the site's port for PORT."""
        return data.replace("\n", "\r\n").replace("PORT", str(self.site.port)).encode("latin-1")


@asynccontextmanager
async def opened(limits: EgressLimits = LIMITS, **changed: Any) -> AsyncIterator[Way]:
    async with open_site() as here:
        proxy, usage = EgressProxy(replace(here.rules, **changed), limits), EgressUsage()
        server = await asyncio.start_server(lambda r, w: proxy.serve(r, w, usage), "127.0.0.1", 0)
        async with server:
            yield Way(here, server.sockets[0].getsockname()[1], usage)


@pytest.fixture
async def way() -> AsyncIterator[Way]:
    async with opened() as made:
        yield made


@pytest.mark.guard(
    "egress: headers for the proxy stay",
    "agent/sandbox/egress/http_peer.py",
    ' and not name.lower().startswith(b"proxy-")',
    "",
    against="network",
)
@pytest.mark.guard(
    "egress: headers for the connection stay",
    "agent/sandbox/egress/http_peer.py",
    "if name.lower() not in _HOP_BY_HOP | named and",
    "if",
    against="network",
)
async def test_a_request_arrives_without_the_headers_of_the_way(way: Way) -> None:
    answer = await way.ask(
        "GET http://open.test:PORT/a?b=c HTTP/1.1\nHost: open.test:PORT\nProxy-Authorization: Basic eA==\n"
        "Proxy-Connection: keep-alive\nConnection: keep-alive, X-Mine\nX-Mine: 1\nKeep-Alive: 5\n"
        "TE: trailers\nUpgrade: h2c\nX-Other: 2\n\n"
    )
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\npublic")
    [head] = way.site.heads
    assert head.splitlines()[0] == "GET /a?b=c HTTP/1.1"
    names = {line.split(":")[0].lower() for line in head.splitlines()[1:] if line}
    assert names == {"host", "x-other", "connection"}
    assert "connection: close" in head.lower()
    assert (way.usage.connections, way.usage.received, way.usage.refused) == (1, 6, [])


async def test_an_old_client_without_a_host(way: Way) -> None:
    """The server is told the host of the target, which a list of connection headers can't remove either."""
    await way.ask("GET http://OPEN.test:PORT/ HTTP/1.0\n\n")
    await way.ask("GET http://open.test:PORT/ HTTP/1.1\nHost: open.test:PORT\nConnection: host\n\n")
    for head in way.site.heads:
        assert f"\r\nhost: open.test:{way.site.port}\r\n" in head.lower()
    assert len(way.site.heads) == 2


async def test_bodies_arrive_in_both_forms(way: Way) -> None:
    bodies: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        rest = b"abcdef" if b"chunked" not in head else b"6\r\nabcdef\r\n0\r\n\r\n"
        bodies.append(await reader.readexactly(len(rest)))
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n")
        writer.close()

    way.site.handler = take
    sized = await way.ask(f"{POST}Expect: 100-continue\nContent-Length: 6\n\nabcdef")
    chunked = await way.ask(f"{POST}Transfer-Encoding: chunked\n\n6\nabcdef\n0\n\n")
    assert bodies == [b"abcdef", b"6\r\nabcdef\r\n0\r\n\r\n"]
    assert all(answer.endswith(b"3\r\nyes\r\n0\r\n\r\n") for answer in (sized, chunked))
    assert way.usage.sent == 12


async def test_a_tunnel_carries_bytes_and_half_closes(way: Way) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"<" + await reader.read() + b">")
        writer.close()

    way.site.handler = echo
    reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
    writer.write(way.filled("CONNECT open.test:PORT HTTP/1.1\nHost: open.test:PORT\n\nearly "))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
    writer.write(b"x" * 200_000)
    writer.write_eof()
    assert await reader.read() == b"<early " + b"x" * 200_000 + b">"
    writer.close()
    assert (way.usage.sent, way.usage.received) == (200_006, 200_008)


BAD = {
    "origin form": f"GET / HTTP/1.1{HOST}\n",
    "a path that ends like an address": f"GET /xxxxxxopen.test:PORT/ HTTP/1.1{HOST}\n",
    "other scheme": f"GET https://open.test:PORT/ HTTP/1.1{HOST}\n",
    "another host": "GET http://open.test:PORT/ HTTP/1.1\nHost: loopback.test:PORT\n\n",
    "another port": "GET http://open.test:PORT/ HTTP/1.1\nHost: open.test:1\n\n",
    "a host of a tunnel": "CONNECT open.test:PORT HTTP/1.1\nHost: loopback.test:PORT\n\n",
    "no host": "GET http://open.test:PORT/ HTTP/1.1\n\n",
    "two hosts": f"GET http://open.test:PORT/ HTTP/1.1{HOST}Host: loopback.test\n\n",
    "two lengths": f"{POST}Content-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n",
    "different lengths": f"{POST}Content-Length: 3\nContent-Length: 4\n\nabcd",
    "another coding": f"{POST}Transfer-Encoding: xchunked\n\n0\n\n",
    "a space before the colon": f"{POST}Content-Length : 3\n\nabc",
    "a tunnel with a body": f"CONNECT open.test:PORT HTTP/1.1{HOST}Content-Length: 3\n\nabc",
    "a bare line end": "GET http://open.test:PORT/ HTTP/1.1\nHost: open.test:PORT\nX: a\rY: b\n\n",
    "no http": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
    "a user": f"GET http://user@open.test:PORT/ HTTP/1.1{HOST}\n",
    "no port": f"CONNECT open.test HTTP/1.1{HOST}\n",
}


@pytest.mark.guard(
    "egress: a request has one length",
    "agent/sandbox/egress/forwarding.py",
    "<= set(names):",
    "<= set():",
    against="network",
)
@pytest.mark.guard(
    "egress: a tunnel has no body",
    "agent/sandbox/egress/forwarding.py",
    'if b"content-length" in names or b"transfer-encoding" in names:',
    "if False:",
    against="network",
)
@pytest.mark.guard(
    "egress: the Host header is the target",
    "agent/sandbox/egress/forwarding.py",
    "default) != target:",
    "default) is None:",
    against="network",
)
@pytest.mark.guard(
    "egress: only http without a tunnel",
    "agent/sandbox/egress/forwarding.py",
    "if not text.lower().startswith(_SCHEME):",
    "if False:",
    against="network",
)
@pytest.mark.parametrize("name", BAD)
async def test_a_request_with_two_meanings_is_refused(way: Way, name: str) -> None:
    answer = await way.ask(BAD[name])
    assert answer.split(b" ")[1] in {b"400", b"403", b"501"}, answer
    assert way.site.heads == way.site.intrusions == []
    assert len(way.usage.refused) == 1


async def test_a_second_request_does_not_follow_on_the_connection(way: Way) -> None:
    """Neither to the first server nor unchecked."""
    answer = await way.ask(
        "GET http://open.test:PORT/one HTTP/1.1\nHost: open.test:PORT\n\n"
        "GET http://loopback.test:PORT/two HTTP/1.1\nHost: loopback.test:PORT\n\n"
    )
    assert answer.count(b"HTTP/1.1") == 1
    assert [head.split()[1] for head in way.site.heads] == ["/one"]
    assert way.site.intrusions == []


async def test_a_refused_body_is_read_so_that_the_answer_is_seen(way: Way) -> None:
    body = "x" * 500_000
    head = POST.replace("open.test", "loopback.test")
    answer = await way.ask(f"{head}Content-Length: {len(body)}\n\n{body}")
    assert answer.startswith(b"HTTP/1.1 403 loopback.test is not on the public internet\r\n")


@pytest.mark.guard(
    "egress: no service of this machine",
    "agent/sandbox/egress/proxy.py",
    "if _is_own_address(writer):",
    "if False:",
    against="network",
)
async def test_a_server_on_this_machine_is_refused_whatever_its_address() -> None:
    """A public address may be the machine's own, whose services may trust it."""
    async with opened(permitted=lambda address: True) as way:
        answer = await way.ask(GET.replace("open.test", "loopback.test"))
    assert answer.startswith(b"HTTP/1.1 403 loopback.test is this machine\r\n")


@pytest.mark.guard(
    "egress: heads have a time limit",
    "agent/sandbox/egress/http_peer.py",
    "async with asyncio.timeout(seconds):",
    "async with asyncio.timeout(None):",
    against="network",
)
@pytest.mark.guard(
    "egress: heads have a size limit",
    "agent/sandbox/egress/http_peer.py",
    "max_incomplete_event_size=HEAD_BYTES",
    "max_incomplete_event_size=1 << 30",
    against="network",
)
async def test_a_large_head_and_a_slow_one_end() -> None:
    async with opened(replace(LIMITS, head_seconds=0.3)) as way:
        large = await way.ask("GET http://open.test/ HTTP/1.1\nX: " + "x" * HEAD_BYTES)
        slow = await way.ask("GET http://open.test:PORT/ HTTP/1.1\n")
    assert large.split(b" ")[1] == b"400"
    assert slow.split(b" ")[1] == b"408"


@pytest.mark.guard(
    "egress: idle tunnels end",
    "agent/sandbox/egress/forwarding.py",
    "+ self._idle)",
    "+ 1_000 * self._idle)",
    against="network",
)
async def test_an_idle_tunnel_ends() -> None:
    async with opened(replace(LIMITS, idle_seconds=0.2)) as way:
        answer = await way.ask("CONNECT open.test:PORT HTTP/1.1\nHost: open.test:PORT\n\n")
        assert answer in {b"HTTP/1.1 200 Connection established\r\n\r\n", b"reset"}
        assert way.usage.open == 0


@pytest.mark.guard(
    "egress: connections are limited",
    "agent/sandbox/egress/proxy.py",
    "if self._has_room(usage):",
    "if True:",
    against="network",
)
async def test_connections_are_limited() -> None:
    async with opened(replace(LIMITS, sandbox_connections=2)) as way:
        held = [await asyncio.open_connection("127.0.0.1", way.port) for _ in range(2)]
        while way.usage.open < 2:
            await asyncio.sleep(0.01)
        request = GET
        assert await way.ask(request) in {b"", b"reset"}
        assert way.usage.refused == ["too many connections"]
        held.pop()[1].close()
        while way.usage.open > 1:
            await asyncio.sleep(0.01)
        assert (await way.ask(request)).startswith(b"HTTP/1.1 200 OK\r\n")
        held.pop()[1].close()


BROKEN = [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_broken_server_is_said(way: Way, answer: bytes) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    way.site.handler = broken
    said = await way.ask(GET)
    assert said.startswith(b"HTTP/1.1 502 the server's response is invalid\r\n")


@pytest.mark.guard(
    "egress: only a listening socket is served",
    "agent/sandbox/egress/gate.py",
    "if listener is None:",
    "if listener is None and not descriptors:",
    against="network",
)
@pytest.mark.guard(
    "egress: one socket for each command",
    "agent/sandbox/egress/gate.py",
    "        self.stop_receiving()\n        listener",
    "        listener",
    against="network",
)
@pytest.mark.may_block
async def test_what_is_sent_to_the_gate_is_a_listening_socket_or_nothing(tmp_path: Path) -> None:
    """Other descriptors are closed, and no second one is taken."""
    unix, end = socket.socketpair()
    with socket.socket() as plain, unix, end, (tmp_path / "file").open("w") as file:
        for sent in (plain.fileno(), unix.fileno(), file.fileno()):
            before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
            ours, theirs = make_pair()
            async with open_gate(EgressProxy(EgressSite(0).rules), "t", ours) as usage:
                socket.send_fds(theirs, [b"1"], [sent])
                async with asyncio.timeout(5):
                    while ours.fileno() >= 0:
                        await asyncio.sleep(0.01)
                with pytest.raises(OSError, match=r"."):
                    socket.send_fds(theirs, [b"1"], [sent])
            theirs.close()
            assert usage.connections == 0
            assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.may_block
async def test_a_gate_in_a_folder_with_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120) / "gate"
    with bind_in_folder(folder) as first:
        assert first.fileno() >= 0
    with bind_in_folder(folder) as again, socket.socket() as listener:
        listener.bind((CLOSED, 0))
        listener.listen()
        assert (folder / SOCKET_NAME).is_socket()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            directory = os.open(folder, os.O_RDONLY)
            out.connect(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
            os.close(directory)
            async with open_site() as site, open_gate(EgressProxy(site.rules), "t", again) as usage:
                socket.send_fds(out, [b"1"], [listener.fileno()])
                way = Way(site, listener.getsockname()[1], usage)
                answer = await way.ask(GET)
    assert answer.endswith(b"public")


def test_the_user_of_a_container_reaches_the_gate_whatever_the_umask(tmp_path: Path) -> None:
    """The service keeps its files private, and as root it has another user than its containers."""
    before = os.umask(0o077)
    try:
        bind_in_folder(tmp_path / "gate").close()
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "gate", tmp_path / "gate" / SOCKET_NAME)]
    assert modes == [0o755, 0o666]
