"""The public HTTP server: uvicorn in the service's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

import httpx
import uvicorn

from agent.shared.http_protocol import LimitedConfig
from bot.errors import StartError
from bot.runtime.child import remote_client
from bot.server.api.app import create_app
from bot.server.api.dependencies import RUNTIME_TIMEOUT, ApiServices
from bot.wiring import MEGABYTE

if TYPE_CHECKING:
    from bot.app.service import BotService

BACKLOG = 1024
STOP_SECONDS = 1.5
VERSION = version("roebot")


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
    """Return a listening socket. Raises StartError if the port is in use or the address does not belong to
    this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small responses at once (TCP_NODELAY) only on sockets that name their protocol.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # Two sockets may be bound to a port that nobody listens on; the second fails here.
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror}."
            " Choose another port with --port or server.port, or stop the program that uses it."
        ) from error
    return bound


def socket_url(bound: socket.socket) -> str:
    """Return the local URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _serve_until_cancelled(server: uvicorn.Server, bound: socket.socket) -> None:
    """Serve until cancelled, then let the server close its connections itself."""
    work = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        await asyncio.shield(work)
        # Without its port, the process would look alive but be of no use.
        raise StartError("the HTTP server stopped unexpectedly; see the log for details")
    except asyncio.CancelledError:
        server.should_exit = True
        await asyncio.wait({work}, timeout=STOP_SECONDS)
        work.cancel()
        raise


def api_services(service: BotService, *, port: int) -> ApiServices:
    """Return the API's services, for a service that listens on `port`."""
    config = service.config
    return ApiServices(
        core=service.core,
        channels=service.accounts,
        bus=service.bus,
        commands=service.commands,
        features=service.features.usable,
        dispatcher=service.dispatcher,
        home=service.settings.home,
        token=service.settings.token,
        version=VERSION,
        watcher=service.watcher,
        reload=service.reload,
        runtime_client=lambda: _runtime_client(service),
        management_client=(lambda: _management_client(service)) if config.runtime.management_url else None,
        runtime_trouble=lambda: service.child.failure if service.child else "",
        port=port,
        file_bytes=config.limits.file_mb * MEGABYTE,
    )


def _runtime_client(service: BotService) -> httpx.AsyncClient:
    """Return a LangGraph API client, which for the bundled runtime remains valid across restarts of its
    process.
    """
    if service.child is not None:
        return service.child.client(timeout=RUNTIME_TIMEOUT)
    return _client(service, service.config.runtime.url)


def _management_client(service: BotService) -> httpx.AsyncClient:
    return _client(service, service.config.runtime.management_url)


def _client(service: BotService, url: str | None) -> httpx.AsyncClient:
    assert url is not None
    runtime = service.config.runtime
    return remote_client(url, runtime.api_key, runtime.signing_key, timeout=RUNTIME_TIMEOUT)


async def serve_api(service: BotService, ready: Callable[[str], None]) -> None:
    """Serve console, API and runtime proxy until cancelled, once the console's account accepts messages.

    `ready` gets the URL when the server answers.
    """
    server = service.config.server
    bound = bind_socket(server.host, server.port)
    try:
        app = create_app(api_services(service, port=bound.getsockname()[1]))
        config = LimitedConfig(
            app,
            server.limits.connection_limits(),
            log_config=None,
            access_log=False,
            lifespan="on",
            backlog=BACKLOG,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        port = _Server(config, lambda: ready(socket_url(bound)))
        app.state.gauges.connections = port.server_state.connections
        app.state.gauges.closed = config.closed
        # The console's first message must not come before its account.
        await service.accounts.wait_for_local()
        await _serve_until_cancelled(port, bound)
    finally:
        bound.close()
