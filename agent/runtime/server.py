"""uvicorn around the application: readiness, logs, and an end that leaves runs to the next start."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any

import structlog
import uvicorn
from starlette.routing import BaseRoute

from agent.runtime.app import GuardedRuntime, create_app
from agent.runtime.faults import Faults
from agent.runtime.redact import scrub
from agent.runtime.settings import RuntimeSettings, ServeSettings
from agent.shared.gc_tuning import freeze_heap

log = structlog.get_logger("agent.runtime")


class ServerFailed(Exception):
    """The server could not start; its text is one line for a person."""


def configure_logging() -> None:
    """Events as JSON lines on stderr, without what looks like a secret."""

    def scrubbed(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {key: scrub(value) if isinstance(value, str) else value for key, value in event.items()}

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            scrubbed,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class RuntimeServer(uvicorn.Server):
    """Ends the runtime's streams before it waits for connections to close, and watches its parent."""

    def __init__(self, config: uvicorn.Config, guard: GuardedRuntime, settings: ServeSettings) -> None:
        super().__init__(config)
        self._guard = guard
        self._settings = settings
        self._watchers = AsyncExitStack()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept, then say so."""
        await super().startup(sockets)
        if not self.started:
            return
        port = 0 if self._settings.uds else self.servers[0].sockets[0].getsockname()[1]
        log.info("runtime_ready", host=self._settings.host, port=port)
        await asyncio.to_thread(self._announce, port)
        freeze_heap()
        watcher = asyncio.create_task(self._watch_parent())
        self._watchers.callback(watcher.cancel)
        if self._settings.until_stdin_closes:
            self._watch_stdin()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Leave runs to the next start, then close connections."""
        log.info("runtime_stopping")
        await self._watchers.aclose()
        for server in self.servers:
            server.close()
        parts = getattr(self._guard.application.state, "parts", None)
        if parts is not None:
            await parts.manager.stop()
        await super().shutdown(sockets)

    def _announce(self, port: int) -> None:
        if self._settings.port_file is not None:
            waiting = self._settings.port_file.with_suffix(".tmp")
            waiting.write_text(str(port))
            waiting.replace(self._settings.port_file)
        if self._settings.ready_fd is not None:
            os.write(self._settings.ready_fd, f"{port}\n".encode())
            os.close(self._settings.ready_fd)

    async def _watch_parent(self) -> None:
        parent = self._settings.parent_pid
        while parent is not None:
            if os.getppid() != parent:
                log.warning("parent_gone", parent=parent)
                self.should_exit = True
                return
            await asyncio.sleep(0.5)

    def _watch_stdin(self) -> None:
        loop = asyncio.get_running_loop()

        def readable() -> None:
            if not os.read(0, 4096):
                loop.remove_reader(0)
                log.warning("stdin_closed")
                self.should_exit = True

        os.set_blocking(0, False)
        loop.add_reader(0, readable)
        self._watchers.callback(loop.remove_reader, 0)


def serve(
    settings: ServeSettings,
    sources: Mapping[str, Callable[[], Any]],
    *,
    descriptions: Mapping[str, str],
    extra_routes: Sequence[BaseRoute] = (),
    around: Sequence[AbstractAsyncContextManager[None]] = (),
) -> None:
    """Serve graphs by name until a signal. `around` is open while the server runs.

    Raises ServerFailed and AgentError.
    """
    runtime = RuntimeSettings(home=settings.home, max_runs=settings.max_runs)
    guard = create_app(
        runtime,
        sources,
        descriptions=descriptions,
        token=settings.token,
        allowed_hosts=settings.allowed_hosts,
        extra_routes=extra_routes,
        around=around,
        faults=Faults.from_environment(),
    )
    config = uvicorn.Config(
        guard,
        host=settings.host,
        port=settings.port,
        uds=None if settings.uds is None else str(settings.uds),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = RuntimeServer(config, guard, settings)
    if settings.uds is not None:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(settings.uds.stat().st_mode):
                settings.uds.unlink()
    _quiet_signals(server)
    try:
        server.run(None if settings.uds else [_listen(settings)])
    except SystemExit as error:
        if not error.code:
            return
        if guard.failure is not None:
            raise guard.failure from error
        raise ServerFailed("the server could not start") from error
    if guard.failure is not None:
        raise guard.failure
    if not server.started:
        raise ServerFailed("the server could not start")


def _quiet_signals(server: uvicorn.Server) -> None:
    """A signal before the start ends the process; uvicorn's repeat of one after a clean stop does nothing."""

    def on_signal(_number: int, _frame: object) -> None:
        if not server.started:
            raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _listen(settings: ServeSettings) -> socket.socket:
    """The listening socket. Raises `ServerFailed`."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise ServerFailed(
            f"can't listen on {settings.host}:{settings.port}: {reason}; choose another --port"
        ) from error
    return listener
