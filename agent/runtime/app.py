"""The runtime as one ASGI application, and the life of its parts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.core.home import make_private_folder
from agent.errors import AgentError, ApiError, GraphLoadError
from agent.runtime.domain import Clock
from agent.runtime.execute import Executor
from agent.runtime.failures import log_failure
from agent.runtime.faults import Faults
from agent.runtime.graphs import GraphRegistry
from agent.runtime.http import assistants, runs, threads
from agent.runtime.http import store as items
from agent.runtime.http.context import Parts
from agent.runtime.http.openapi import document_route
from agent.runtime.http.responses import answer, on_api_error, refusal
from agent.runtime.manager import RunManager
from agent.runtime.saver import RuntimeSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.states import ThreadStates
from agent.runtime.store import RuntimeStore, SqliteRuntimeStore
from agent.runtime.store_items import ItemStore
from agent.shared.http_guard import (
    LOOPBACK_NAMES,
    HostCheck,
    HttpGuard,
    json_required,
    origin_from,
    token_required,
)

log = structlog.get_logger("agent.runtime")
VERSION = version("roebot")
LANGGRAPH_VERSION = version("langgraph")
Sources = Mapping[str, Callable[[], Any]]
FORM_PATHS = ("/uploads", "/skills/install")
"""Ends of the paths that take multipart forms."""


class GuardedRuntime(HttpGuard):
    """The runtime's application behind its guard."""

    def __init__(self, application: Starlette, *, token: str | None, allowed_hosts: Iterable[str]) -> None:
        """`allowed_hosts` are served in addition to the loopback names (`*`: any host)."""
        hosts = HostCheck(LOOPBACK_NAMES | {host.lower() for host in allowed_hosts})
        checks = (
            hosts,
            origin_from(hosts),
            token_required(token, open_paths={"/ok"}, api_key=True),
            json_required(form_suffixes=FORM_PATHS),
        )
        super().__init__(application, checks)
        self.application = application
        self.failure: AgentError | None = None
        """Why the runtime could not open, once its lifespan has failed."""


@asynccontextmanager
async def open_runtime(
    settings: RuntimeSettings,
    sources: Sources,
    *,
    descriptions: Mapping[str, str] | None = None,
    clock: Clock = time.time,
    faults: Faults | None = None,
) -> AsyncIterator[Parts]:
    """Open the databases, take up earlier runs, and close it all again. Raises `HomeInUse`."""
    await asyncio.to_thread(make_private_folder, settings.home)
    faults = faults or Faults()
    async with AsyncExitStack() as stack:
        store = SqliteRuntimeStore(settings.database, clock=clock)
        stack.push_async_callback(store.close)
        await store.open()
        saver = await stack.enter_async_context(RuntimeSaver.open(settings.checkpoints, faults=faults))
        kept = await stack.enter_async_context(ItemStore.open(settings.items))
        graphs = GraphRegistry(
            sources, saver=saver, store=kept, started_at=clock(), descriptions=descriptions
        )
        executor = Executor(graphs, saver, faults)
        manager = RunManager(
            store=store, saver=saver, executor=executor, settings=settings, faults=faults, clock=clock
        )
        await stack.enter_async_context(manager)
        states = ThreadStates(store=store, saver=saver, graphs=graphs, clock=clock)
        pruner = asyncio.create_task(_prune(store, settings, clock))
        stack.push_async_callback(_cancel, pruner)
        yield Parts(settings, store, saver, kept, graphs, manager, states, clock)


async def _prune(store: RuntimeStore, settings: RuntimeSettings, clock: Clock) -> None:
    """Keep the finished logs bounded."""
    bounds = settings.log
    while True:
        gone = await store.prune_logs(before=clock() - bounds.keep_seconds, keep=bounds.keep_events)
        if gone:
            log.info("event_logs_pruned", runs=gone)
            continue
        await asyncio.sleep(bounds.prune_every)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def ok(_request: Request) -> Response:
    """The process answers."""
    return answer({"ok": True})


async def info(_request: Request) -> Response:
    """What this server is and can do."""
    return answer(
        {
            "version": VERSION,
            "langgraph_py_version": LANGGRAPH_VERSION,
            "flags": {"assistants": True, "crons": False, "langsmith": False, "webhooks": False},
            "server": "roebot",
        }
    )


async def _not_found(_request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    return refusal(status, str(getattr(error, "detail", "Not Found")))


async def _crashed(request: Request, error: Exception) -> Response:
    await log_failure("request_failed", error, path=request.url.path)
    return refusal(500, "Internal error; the log has the details")


async def _graph_failed(_request: Request, error: Exception) -> Response:
    return refusal(500, str(error))


def create_app(
    settings: RuntimeSettings,
    sources: Sources,
    *,
    descriptions: Mapping[str, str] | None = None,
    token: str | None = None,
    allowed_hosts: Iterable[str] = (),
    extra_routes: Iterable[BaseRoute] | None = None,
    around: Iterable[AbstractAsyncContextManager[None]] = (),
    clock: Clock = time.time,
    faults: Faults | None = None,
) -> GuardedRuntime:
    """The guarded application. Its lifespan opens and closes the runtime; why it can't is its `failure`.

    `around` are entered before the runtime opens, in the server's loop, and left after it has closed.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for outer in around:
                await stack.enter_async_context(outer)
            opening = open_runtime(settings, sources, descriptions=descriptions, clock=clock, faults=faults)
            try:
                app.state.parts = await stack.enter_async_context(opening)
            except AgentError as error:
                guard.failure = error
                raise
            yield

    routes: list[BaseRoute] = [Route("/ok", ok, methods=["GET"]), Route("/info", info, methods=["GET"])]
    for module in (runs, threads, assistants, items):
        routes += module.ROUTES
    routes += extra_routes or [Route("/health", ok, methods=["GET"])]
    about = document_route(routes, title="Roebot agent runtime", version=VERSION)
    app = Starlette(
        routes=[*routes, about],
        lifespan=lifespan,
        exception_handlers={
            ApiError: on_api_error,
            GraphLoadError: _graph_failed,
            Exception: _crashed,
            404: _not_found,
            405: _not_found,
        },
    )
    guard = GuardedRuntime(app, token=token, allowed_hosts=allowed_hosts)
    return guard
