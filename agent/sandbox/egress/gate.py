"""A sandbox's gate to the network: a port on its own loopback address, served by the proxy outside.

The sandbox has a network namespace of its own without any route. A short program in it opens a listening
socket on 127.0.0.1 there, sends it to the service over a Unix socket, and becomes the command. A socket
belongs to the namespace that it was opened in, so the service accepts the sandbox's connections although both
have no network in common. Nothing of the gate runs in the sandbox, and no Unix socket is left in it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from agent.sandbox.egress.forwarding import EgressUsage
from agent.sandbox.egress.proxy import EgressProxy, log_usage

log = structlog.get_logger(__name__)
PORT = 3128
SOCKET_NAME = "gate"
BACKLOG = 64
# Arguments: the number of an inherited socket or the path of one, a port, and the command. The module
# `socket` itself would double the time to start.
_PROGRAM = """
import os, sys, _socket as socket
to, port, *command = sys.argv[1:]
inside = socket.socket()
inside.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
inside.bind(("127.0.0.1", int(port)))
inside.listen(64)
if to.isdigit():
    out = socket.socket(fileno=int(to))
else:
    out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    out.connect(to)
rights = inside.fileno().to_bytes(4, sys.byteorder)
out.sendmsg([b"1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
out.close()
inside.close()
os.execvp(command[0], command)
"""


def opening_words(python: str, to: str) -> list[str]:
    """Return the words that precede a command to open the gate; `to` is a descriptor or path in the
    sandbox.
    """
    return [python, "-I", "-S", "-c", _PROGRAM, to, str(PORT)]


def proxy_environment(url: str = f"http://127.0.0.1:{PORT}") -> dict[str, str]:
    """Return the variables by which programs in a sandbox find the proxy, by default the gate."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    # npm prefers its own variables, and Node.js only uses the others if configured to do so.
    own = {"npm_config_proxy": url, "npm_config_https_proxy": url, "NODE_USE_ENV_PROXY": "1"}
    return {**dict.fromkeys(names, url), "NO_PROXY": "", "no_proxy": "", **own}


@asynccontextmanager
async def open_gate(
    proxy: EgressProxy, thread_id: str, receiver: socket.socket
) -> AsyncIterator[EgressUsage]:
    """Serve the sandbox that sends its listening socket over `receiver`, and close `receiver` afterwards.

    Only the first message counts. The traffic is logged at the end.
    """
    gate = _Gate(proxy, receiver)
    loop = asyncio.get_running_loop()
    loop.add_reader(receiver.fileno(), gate.receive)
    try:
        yield gate.usage
    finally:
        gate.stop_receiving()
        await gate.close()
        log_usage(thread_id, gate.usage)


def make_pair() -> tuple[socket.socket, socket.socket]:
    """Return the receiver and the socket for a sandbox to inherit."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.setblocking(False)
    return ours, theirs


def bind_in_folder(folder: Path) -> socket.socket:
    """Return a receiver with a path in the folder, which only its sandbox can access. Blocks.

    The folder's own parents keep other users out, so the socket is writable for the user of the sandbox.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # A service's umask excludes other users, which includes the sandbox's user if the service is root.
    folder.chmod(0o755)
    (folder / SOCKET_NAME).unlink(missing_ok=True)
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.setblocking(False)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A socket path is limited to 107 bytes, and a data directory's path may be longer.
        receiver.bind(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
        (folder / SOCKET_NAME).chmod(0o666)
    except OSError:
        receiver.close()
        raise
    finally:
        os.close(directory)
    return receiver


class _Gate:
    def __init__(self, proxy: EgressProxy, receiver: socket.socket) -> None:
        self.usage = EgressUsage()
        self._proxy, self._receiver = proxy, receiver
        self._starting: asyncio.Task[asyncio.Server] | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def receive(self) -> None:
        """Receive the sandbox's listening socket."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self._receiver, 1, 1)
        except BlockingIOError:
            return
        self.stop_receiving()
        listener = _accepting(descriptors)
        if listener is None:
            log.warning("sandbox_gate_refused")
            return
        self._starting = asyncio.create_task(
            asyncio.start_server(self._serve, sock=listener, backlog=BACKLOG), name="sandbox-gate"
        )

    def stop_receiving(self) -> None:
        if self._receiver.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._receiver.fileno())
            self._receiver.close()

    async def close(self) -> None:
        if self._starting is not None:
            (await self._starting).close()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._proxy.serve(reader, writer, self.usage), name="sandbox-egress")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)


def _accepting(descriptors: list[int]) -> socket.socket | None:
    """Return the only listening TCP socket among the descriptors, and close all others."""
    for descriptor in descriptors:
        with suppress(OSError):
            found = socket.socket(fileno=descriptor)
            kind = found.family, found.type
            if kind == (socket.AF_INET, socket.SOCK_STREAM) and found.getsockopt(
                socket.SOL_SOCKET, socket.SO_ACCEPTCONN
            ):
                found.setblocking(False)
                return found
            found.close()
            continue
        os.close(descriptor)
    return None
