"""The runtime's uvicorn server: readiness, logs, and a shutdown that allows runs to resume at the next
start.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from starlette.routing import BaseRoute
from structlog.typing import Processor
from uvicorn.lifespan.on import LifespanOn

from agent.errors import GraphLoadError
from agent.runtime.app import GuardedRuntime, create_app
from agent.runtime.failures import log_failure, redact_secrets
from agent.runtime.faults import Faults
from agent.runtime.settings import RuntimeSettings, ServeSettings
from agent.shared.atomic_file import replace_file
from agent.shared.gc_tuning import freeze_heap
from agent.shared.http_protocol import LimitedConfig
from agent.shared.live_token import LiveToken
from agent.shared.safe_logging import configure_safe_logging

if TYPE_CHECKING:
    from agent.runtime.loader import LoadedFile

log = structlog.get_logger("agent.runtime")
PRELOAD_AFTER = 1.0
"""Seconds from the start until graphs are loaded, unless a run needs them before."""


class ServerFailed(Exception):
    """The server could not start; the message is one line for display."""


def configure_logging(level: str = "info") -> None:
    """Log JSON lines of at least this level to stderr, with secrets redacted."""

    def redact_event(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {
            key: redact_secrets(value) if isinstance(value, str) else value for key, value in event.items()
        }

    steps: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_event,
        structlog.processors.JSONRenderer(),
    ]
    configure_safe_logging(steps, logging.getLevelNamesMapping()[level.upper()], sys.stderr)


class RuntimeServer(uvicorn.Server):
    """Server that closes the runtime's streams before its connections, and monitors its parent process."""

    def __init__(
        self,
        config: uvicorn.Config,
        guard: GuardedRuntime,
        settings: ServeSettings,
        preloaded: Sequence[str] = (),
    ) -> None:
        super().__init__(config)
        self._preloaded = preloaded
        self._guard = guard
        self._settings = settings
        self._watchers = AsyncExitStack()
        self.has_failed = False
        """True if the application closed before the server was asked to exit."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, then announce the port."""
        await super().startup(sockets)
        if not self.started:
            return
        port = 0 if self._settings.uds else self.servers[0].sockets[0].getsockname()[1]
        log.info("runtime_ready", host=self._settings.host, port=port, **self._token_source())
        await asyncio.to_thread(self._announce_port, port)
        freeze_heap()
        for watch in (self._watch_parent(), self._preload_graphs()):
            self._watchers.callback(asyncio.create_task(watch).cancel)
        if self._settings.until_stdin_closes:
            self._watch_stdin()

    async def on_tick(self, counter: int) -> bool:
        """Return whether to exit: on request, or because the runtime has closed."""
        lifespan = self.lifespan
        if isinstance(lifespan, LifespanOn) and lifespan.shutdown_event.is_set():
            self.has_failed = True
            log.error("runtime_closed")
            return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the runs, which resume at the next start, then close connections."""
        log.info("runtime_stopping")
        await self._watchers.aclose()
        for server in self.servers:
            server.close()
        runtime = getattr(self._guard.application.state, "runtime", None)
        if runtime is not None:
            await runtime.manager.stop()
        await super().shutdown(sockets)

    def _token_source(self) -> dict[str, str]:
        """Return where clients find the token, unless the process's starter has set one."""
        return {} if self._settings.token else {"token_file": str(self._settings.token_file)}

    def _announce_port(self, port: int) -> None:
        if self._settings.port_file is not None:
            replace_file(self._settings.port_file, str(port), mode=None)
        if self._settings.ready_fd is not None:
            os.write(self._settings.ready_fd, f"{port}\n".encode())
            os.close(self._settings.ready_fd)

    async def _preload_graphs(self) -> None:
        """Load graphs during idle time; otherwise the first run takes a second longer."""
        await asyncio.sleep(PRELOAD_AFTER)
        for name in self._preloaded:
            try:
                await self._guard.application.state.runtime.graphs.load_source(name)
            except GraphLoadError as error:
                log.warning("graph_not_loaded", graph=name, problem=str(error))
            except Exception as error:  # noqa: BLE001 - the graph's first run reports it
                await log_failure("graph_not_loaded", error, graph=name)

    async def _watch_parent(self) -> None:
        parent = self._settings.parent_pid
        while parent is not None:
            if os.getppid() != parent:
                self.should_exit = True
                log.warning("parent_gone", parent=parent)
                return
            await asyncio.sleep(0.5)

    def _watch_stdin(self) -> None:
        loop = asyncio.get_running_loop()

        def on_readable() -> None:
            if not os.read(0, 4096):
                loop.remove_reader(0)
                self.should_exit = True
                log.warning("stdin_closed")

        os.set_blocking(0, False)
        loop.add_reader(0, on_readable)
        self._watchers.callback(loop.remove_reader, 0)


def serve(
    settings: ServeSettings,
    token: LiveToken,
    graphs: LoadedFile,
    *,
    extra_routes: Sequence[BaseRoute] = (),
    around: Sequence[AbstractAsyncContextManager[None]] = (),
    preloaded: Sequence[str] = (),
) -> None:
    """Serve graphs by name until a signal. `around` is open while the server runs; `preloaded` are graphs to
    load before a run needs them.

    Raises ServerFailed and AgentError.
    """
    if settings.parent_pid is not None and os.getppid() != settings.parent_pid:
        log.warning("parent_gone", parent=settings.parent_pid)
        return
    runtime = RuntimeSettings(
        home=settings.home,
        database_url=settings.database_url,
        replica=settings.replica,
        max_runs=settings.max_runs,
        body_bytes=settings.body_bytes,
        body_seconds=settings.connections.body_seconds,
        signing_key=settings.signing_key,
        project=graphs.project,
    )
    guard = create_app(
        runtime,
        graphs.sources,
        descriptions=graphs.descriptions,
        token=token,
        allowed_hosts=settings.allowed_hosts,
        cors=graphs.cors,
        extra_routes=extra_routes,
        around=around,
        faults=Faults.from_environment(),
    )
    server = RuntimeServer(_make_server_config(guard, settings), guard, settings, preloaded)
    if settings.uds is not None:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(settings.uds.stat().st_mode):
                settings.uds.unlink()
    _install_signal_handlers(server)
    try:
        server.run(None if settings.uds else [_open_listener(settings)])
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
    if server.has_failed:
        raise ServerFailed("the runtime stopped unexpectedly; see the log for details")


def _make_server_config(guard: GuardedRuntime, settings: ServeSettings) -> LimitedConfig:
    limits = settings.connections
    if settings.uds is not None:
        # Only the bot connects, once for each turn that runs.
        limits = replace(limits, total=sys.maxsize)
    return LimitedConfig(
        guard,
        limits,
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


def _install_signal_handlers(server: uvicorn.Server) -> None:
    """Exit on a signal before startup; ignore the signal that uvicorn raises again after a clean stop."""

    def on_signal(_number: int, _frame: object) -> None:
        if not server.started:
            raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _open_listener(settings: ServeSettings) -> socket.socket:
    """Open the listening socket. Raises `ServerFailed`."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small responses at once (TCP_NODELAY) only on sockets that name their protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
