"""The public HTTP server: uvicorn in the service's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn

from bot.errors import StartError

if TYPE_CHECKING:
    from bot.app.service import BotService

BACKLOG = 1024
STOP_SECONDS = 1.5


class _Server(uvicorn.Server):
    """A server that leaves signals to the command line, which stops the whole service."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket. Raises StartError if the port is in use or the address is not this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror}."
            " Choose another one with --port or server.port, or stop what uses it."
        ) from error
    return bound


def socket_url(bound: socket.socket) -> str:
    """Return the URL at which this machine reaches a bound socket."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _serve_until_cancelled(server: uvicorn.Server, bound: socket.socket) -> None:
    """Serve until cancelled, then let the server close its connections itself."""
    work = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        server.should_exit = True
        await asyncio.wait({work}, timeout=STOP_SECONDS)
        work.cancel()
        raise


async def serve_api(service: BotService, ready: Callable[[str], None]) -> None:
    """Serve console, API and runtime proxy until cancelled; `ready` gets the URL once the server answers."""
    from bot.app.api_wiring import api_services
    from bot.server.api.app import create_app

    server = service.config.server
    bound = bind_socket(server.host, server.port)
    try:
        app = create_app(api_services(service, port=bound.getsockname()[1]))
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            backlog=BACKLOG,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        await _serve_until_cancelled(_Server(config, lambda: ready(socket_url(bound))), bound)
    finally:
        bound.close()
