"""Serve an ASGI app on loopback, inside a running loop or as the whole process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, MutableMapping
from typing import Any

import uvicorn

LOOPBACK = "127.0.0.1"
GRACE = 1.0
"""Seconds that a request may continue after the server has ended."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Server(uvicorn.Server):
    """uvicorn without signal handlers, with an event that is set once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.ending = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def main_loop(self) -> None:
        """Tick once a second, for the responses' date, and stop immediately."""
        while not self.should_exit:
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ending.wait(), 1.0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as uvicorn does, without its pause: the connections are cut already."""
        for server in self.servers:
            server.close()
        for bound in sockets or []:
            bound.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            _, late = await asyncio.wait(set(self.server_state.tasks), timeout=GRACE)
            for task in late:
                task.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


class LoopbackServer:
    """A listening socket on 127.0.0.1; `port` 0 selects a free port."""

    def __init__(self, app: App, port: int = 0) -> None:
        # With the protocol named, asyncio switches Nagle off: each answer would wait 40 ms otherwise.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            http="httptools",
            ws="auto",
            timeout_keep_alive=75,
        )
        self._server = _Server(config)

    @property
    def url(self) -> str:
        """Origin of the server, without a trailing slash."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def connections(self) -> int:
        """Number of open connections, WebSockets included."""
        return len(self._server.server_state.connections)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen within the context, closing open connections on exit."""
        task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="emulator-server")
        listening = asyncio.create_task(self._server.listening.wait(), name="emulator:listens")
        try:
            await asyncio.wait({task, listening}, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            listening.cancel()
            self._server.should_exit = True
            self._server.ending.set()
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()
            try:
                await task
            finally:
                self._socket.close()

    async def abort(self, scope: Scope, receive: Receive) -> None:
        """Close the connection of the request `scope` without sending a response."""
        for connection in list(self._server.server_state.connections):
            if getattr(connection, "client", None) == scope["client"]:
                connection.transport.abort()
                break
        while (await receive())["type"] != "http.disconnect":
            pass


async def until_signalled() -> None:
    """Wait for SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
