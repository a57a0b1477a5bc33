"""Attacks on the egress proxy by commands of a sandbox with network access.

The provider has to apply `EgressSite.rules`, for which one address of this machine is the public internet.
"""

from __future__ import annotations

import asyncio
import errno
import shlex
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from agent.core.interfaces import Sandbox, SandboxProvider
from agent.sandbox.egress.gate import PORT
from agent.sandbox.egress.rules import EgressRules
from agent.shared.public_address import is_public
from roebot_testing.agent.conformance.attacks_base import OTHER, AttackBase, run_python

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OPEN, CLOSED = "127.0.0.2", "127.0.0.1"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\npublic"
NAMES: dict[str, tuple[str, ...]] = {
    "open.test": (OPEN,),
    "loopback.test": (CLOSED,),
    "loopback6.test": ("::1",),
    "mapped.test": (f"::ffff:{CLOSED}",),
    "nat64.test": ("64:ff9b::7f00:1",),
    "mixed.test": (OPEN, CLOSED),
    "private.test": ("10.0.0.1",),
    "metadata.test": ("169.254.169.254",),
    "localhost": (CLOSED, "::1"),
}
SPELLINGS = (
    *("127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1"),
    *("0", "0.0.0.0", "[::1]", "[::]", "::1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"),  # noqa: S104 - attacks
    *("[::1%25lo]", "[fe80::1%lo]", "[::1", "localhost", "LOCALHOST.", "localhost.", "127.0.0.1%20"),
    *(OPEN, "127.2", "0x7f000002", "2130706434", "open.test@127.0.0.1", "127.0.0.1@open.test"),
    *("open.test#@127.0.0.1", "open.test?.127.0.0.1", "open.test%00.localhost", "open.test\\@127.0.0.1"),
)
"""Spellings of the loopback address, and of the public one, since addresses are refused in general."""
INSIDE = (
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "100.100.100.200"),
    *("168.63.129.16", "224.0.0.1", "255.255.255.255", "[fd00:ec2::254]", "[fe80::1]", "[fc00::1]"),
)
_ASK = """
import json, socket, sys
gate, port, targets = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
def ask(data):
    with socket.create_connection(("127.0.0.1", gate), 10) as s:
        s.sendall(data)
        answer = b""
        while piece := s.recv(65536):
            answer += piece
            if answer.startswith(b"HTTP/1.1 200 Connection"):
                break
        return answer.split(b"\\r\\n")[0].decode()
for target in targets:
    authority = f"{target}:{port}"
    for head in (f"CONNECT {authority}", f"GET http://{authority}/"):
        try:
            status = ask(f"{head} HTTP/1.1\\r\\nHost: {authority}\\r\\n\\r\\n".encode())
        except OSError as error:
            status = repr(error)
        print(target, head.split()[0], status, sep=" | ")
"""
_DIRECT = """
import socket
for family, address in [
    (socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("127.0.0.2", {port})),
    (socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET, ("169.254.169.254", 80)),
    (socket.AF_INET6, ("::1", {port})), (socket.AF_UNIX, "\\0{abstract}"),
]:
    try:
        s = socket.socket(family); s.settimeout(2); s.connect(address); print("connected", address)
    except OSError as error:
        print("refused", error.errno)
try:
    socket.getaddrinfo("open.test", 80); print("resolved")
except OSError:
    print("no names")
"""
_LOOK = """
find / '(' -path /proc -o -path /sys ')' -prune -o -type s -print 2>/dev/null
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); \
s.connect("/opt/roebot-egress/gate"); print("connected")' 2>/dev/null
awk '$4 == "0A"' /proc/net/tcp | wc -l
"""
_REDIRECT = """
import urllib.request, urllib.error
for path in {paths!r}:
    try:
        print("read", urllib.request.urlopen("http://open.test:{port}" + path, timeout=10).read())
    except urllib.error.HTTPError as error:
        print("refused", error.code, error.url)
"""


@dataclass
class EgressSite:
    """A web server on the public address, and on the same port one on the loopback address.

    `/to/HOST` redirects to that host; every other path has one answer. `heads` are the requests to the public
    server, `intrusions` the connections to the other one; `asked` are the names that were resolved. A
    `handler` serves the public connections instead.
    """

    port: int
    heads: list[str] = field(default_factory=list)
    intrusions: list[object] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    handler: Handler | None = None

    @property
    def rules(self) -> EgressRules:
        """Rules for which the server's address is public."""
        return EgressRules(
            ports=frozenset({80, 443, self.port}),
            resolve=self.resolve,
            permitted=lambda address: address == OPEN or is_public(address),
        )

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Resolve the names of the attacks, and addresses as system resolvers do."""
        self.asked.append(host)
        if host == "flipping.test":
            return [OPEN if self.asked.count(host) == 1 else CLOSED]
        if host not in NAMES:
            return [socket.inet_ntoa(socket.inet_aton(host))]
        return NAMES[host]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        if self.handler is not None:
            await self.handler(reader, writer)
            return
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            path = head.split()[1]
            if path.startswith("/to/"):
                location = f"http://{path.removeprefix('/to/')}:{self.port}/"
                writer.write(
                    f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
                )
            else:
                writer.write(ANSWER)
            await writer.drain()
        writer.close()

    async def intrude(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note a connection that must not happen."""
        self.intrusions.append(writer.get_extra_info("peername"))
        writer.close()


@asynccontextmanager
async def open_site() -> AsyncIterator[EgressSite]:
    """Start both servers."""
    site = EgressSite(0)
    open_socket, closed_socket = _bind_one_port()
    async with (
        await asyncio.start_server(site.serve, sock=open_socket),
        await asyncio.start_server(site.intrude, sock=closed_socket),
    ):
        site.port = open_socket.getsockname()[1]
        yield site


def _bind_one_port() -> tuple[socket.socket, socket.socket]:
    """Bind a port that is free on both addresses; the system chooses for the first without the second."""
    while True:
        open_socket, closed_socket = socket.socket(), socket.socket()
        open_socket.bind((OPEN, 0))
        try:
            closed_socket.bind((CLOSED, open_socket.getsockname()[1]))
        except OSError as error:
            open_socket.close()
            closed_socket.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return open_socket, closed_socket


async def ask(sandbox: Sandbox, port: int, targets: Sequence[str]) -> dict[str, set[str]]:
    """Ask the proxy for each target by both methods, and return the status codes by target."""
    await sandbox.write_file("ask.py", _ASK.encode())
    result = await sandbox.execute_command(shlex.join(["python3", "ask.py", str(PORT), str(port), *targets]))
    found: dict[str, set[str]] = {}
    for line in result.output.splitlines():
        target, _, status = line.split(" | ")
        found.setdefault(target, set()).add(status.split()[1])
    assert set(found) == set(targets), result.output
    return found


def refused(found: dict[str, set[str]]) -> bool:
    """Return whether the proxy refused everything."""
    return set().union(*found.values()) <= {"400", "403"}


@pytest.mark.asyncio
class EgressAttacks(AttackBase):
    """Commands reach the public internet by the proxy, and nothing else by any way."""

    @pytest_asyncio.fixture
    async def site(self) -> AsyncIterator[EgressSite]:
        """The servers."""
        async with open_site() as site:
            yield site

    async def test_a_public_host_is_reached(self, sandbox: Sandbox, site: EgressSite) -> None:
        """Both methods work, without headers that reveal the proxy."""
        found = await ask(sandbox, site.port, ["open.test", "OPEN.test."])
        assert found == {"open.test": {"200"}, "OPEN.test.": {"200"}}
        assert [head.splitlines()[0] for head in site.heads] == ["GET / HTTP/1.1"] * 2
        assert site.intrusions == []

    async def test_every_spelling_of_an_address(self, sandbox: Sandbox, site: EgressSite) -> None:
        """No spelling is connected to: decimal, octal, hexadecimal, mapped, with a zone, next to a name."""
        assert refused(await ask(sandbox, site.port, SPELLINGS))
        assert site.heads == site.intrusions == []

    async def test_addresses_inside(self, sandbox: Sandbox, site: EgressSite) -> None:
        """Private ranges, link-local, carrier-grade NAT, multicast, and the metadata of clouds."""
        assert refused(await ask(sandbox, site.port, INSIDE))
        assert site.asked == [], "an address is no name"

    async def test_names_of_addresses_inside(self, sandbox: Sandbox, site: EgressSite) -> None:
        """A name with one such address among others is refused too."""
        names = [name for name in NAMES if name != "open.test"]
        assert refused(await ask(sandbox, site.port, names))
        assert set(site.asked) == set(names)
        assert site.heads == site.intrusions == []

    async def test_a_name_that_changes_its_address(self, sandbox: Sandbox, site: EgressSite) -> None:
        """The connection is made to the address that was checked."""
        assert await ask(sandbox, site.port, ["flipping.test"]) == {"flipping.test": {"200", "403"}}
        assert site.asked == ["flipping.test"] * 2, "once for each request"
        assert site.intrusions == []

    async def test_a_redirect(self, sandbox: Sandbox, site: EgressSite) -> None:
        """The client follows it through the proxy again."""
        hosts = (
            "loopback.test",
            "127.0.0.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "metadata.test",
            "10.0.0.1",
        )
        paths = [f"/to/{host}" for host in hosts]
        result = await run_python(sandbox, _REDIRECT.format(paths=[*paths, "/to/open.test"], port=site.port))
        *refused, last = result.output.splitlines()
        assert [line.split()[0] for line in refused] == ["refused"] * len(hosts)
        assert last == "read b'public'"
        assert site.intrusions == []

    async def test_ways_around_the_proxy(self, sandbox: Sandbox, site: EgressSite) -> None:
        """No address is reached and no name resolved without it; no Unix socket is left."""
        abstract = f"roebot-egress-{site.port}"
        async with await asyncio.start_unix_server(site.intrude, f"\0{abstract}"):
            result = await run_python(sandbox, _DIRECT.format(port=site.port, abstract=abstract))
        assert "connected" not in result.output
        assert "no names" in result.output
        assert site.intrusions == []
        devices = await sandbox.execute_command("tail -n +3 /proc/net/dev | cut -d: -f1")
        assert "lo" in devices.output.split()
        assert (await sandbox.execute_command("tail -n +2 /proc/net/route")).output == "", "no way out"

    async def test_ports(self, sandbox: Sandbox, site: EgressSite) -> None:
        """Mail and shells are not the web."""
        for port in (22, 25, 0, 65_536, 99_999):
            assert refused(await ask(sandbox, port, ["open.test"]))

    async def test_the_gate_of_another_sandbox(
        self, sandbox: Sandbox, provider: SandboxProvider, site: EgressSite
    ) -> None:
        """While another one has its gate open, its port and its socket are out of reach."""
        other = provider.get(await provider.acquire(OTHER))
        assert other is not None
        waiting = asyncio.create_task(other.execute_command("touch begun; sleep 30"))
        try:
            await _wait_for_file(other, "begun")
            result = await sandbox.execute_command(_LOOK)
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])
            await provider.release(await provider.acquire(OTHER))
        *sockets, listening = result.output.splitlines()
        assert set(sockets) <= {"/opt/roebot-egress/gate"}, "a container's own, which nobody reads any more"
        assert listening == "1", "its own gate"


async def _wait_for_file(sandbox: Sandbox, name: str) -> None:
    async with asyncio.timeout(10):
        while name not in {entry.name for entry in await sandbox.list_dir(".")}:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
