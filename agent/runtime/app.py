"""The runtime's ASGI application, which opens and closes its databases and runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from langgraph.store.base import InvalidNamespaceError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from agent.core.paths import make_private_folder
from agent.errors import AgentError, ApiError, GraphLoadError, HomeInUse, Refused
from agent.runtime.cors import CorsSettings, CrossOriginAccess
from agent.runtime.crons import CronRunner
from agent.runtime.domain import Clock
from agent.runtime.executor import Executor
from agent.runtime.failures import keep_running, log_failure
from agent.runtime.faults import Faults
from agent.runtime.graphs import GraphRegistry
from agent.runtime.health import DatabaseProbe
from agent.runtime.http import assistants, crons, graph_tools, protocol, runs, storage, store, threads
from agent.runtime.http.base import OpenRuntime, Runtime, error_response, json_response
from agent.runtime.http.crons import start_cron_run
from agent.runtime.manager import RunManager
from agent.runtime.metrics import render_runtime_metrics
from agent.runtime.settings import RuntimeSettings
from agent.runtime.states import ThreadStates
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import EventLog, prune_logs
from agent.runtime.store.leases import name_owner
from agent.runtime.store.retries import Sleep
from agent.runtime.stores import open_items, open_saver
from agent.runtime.thread_removal import sweep_threads
from agent.runtime.webhooks import WebhookSender
from agent.shared.body_limits import BodyLimits, BodyRule
from agent.shared.failure_limit import FailureLimiter
from agent.shared.http_guard import (
    LOOPBACK_NAMES,
    HostCheck,
    HttpGuard,
    attach_client,
    json_required,
    origin_from,
    token_required,
)
from agent.shared.json_routes import describe_invalid_request, make_router
from agent.shared.live_token import LiveToken
from agent.shared.metrics import measure_lag
from agent.shared.replica_folder import replica_folder
from agent.shared.table_copy import find_missing_copy

log = structlog.get_logger("agent.runtime")
VERSION = version("roebot")
LANGGRAPH_VERSION = version("langgraph")
Sources = Mapping[str, Callable[[], Any]]
FORM_PATHS = ("/uploads", "/skills/install", "/skills/check")
"""Suffixes of the paths that accept multipart forms."""
FORM_BYTES = 1_000_000_000
"""Size limit of a multipart form, which is stored as it arrives; its route limits the files in it."""
ORIGIN_REFUSED = (
    "Web pages of this origin may not call the server. Allow the origin with --cors-origin, or with "
    "http.cors in langgraph.json, and restart the server"
)
server_routes = make_router("server")
meta_routes = make_router("server")
health_route = make_router("server")


class GuardedRuntime(HttpGuard):
    """The runtime's application behind its guard."""

    def __init__(
        self,
        application: FastAPI,
        settings: RuntimeSettings,
        *,
        token: LiveToken,
        allowed_hosts: Iterable[str],
        cors: CorsSettings,
    ) -> None:
        """`allowed_hosts` are served in addition to the loopback names (`*`: any host)."""
        hosts = HostCheck(LOOPBACK_NAMES | {host.lower() for host in allowed_hosts})
        custom, auth, failures = settings.project.app, settings.project.auth, FailureLimiter(time.monotonic)
        if auth is None:
            check_caller = token_required(token, failures, open_paths={"/ok"})
        else:
            open_routes = custom.routes if custom and settings.project.has_open_app else ()
            check_caller = auth.require_caller(token, failures, open_routes)
        checks = (
            attach_client(),
            hosts,
            origin_from(hosts, is_allowed=cors.is_allowed, detail=ORIGIN_REFUSED),
            check_caller,
            json_required(form_suffixes=FORM_PATHS, reads_plain_text=True),
        )
        if custom is not None:
            custom.router.default = application
        super().__init__(application if custom is None else custom, checks)
        self.application = application
        self.failure: AgentError | None = None
        """Why the runtime could not open, once its lifespan has failed."""
        limits = BodyLimits(
            super().__call__, partial(_body_rule, settings.body_bytes), seconds=settings.body_seconds
        )
        self._layers = CrossOriginAccess(limits, cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        layers = self.application if scope["type"] == "lifespan" else self._layers
        await layers(scope, receive, send)


def _body_rule(body_bytes: int, scope: Scope) -> BodyRule:
    return BodyRule(FORM_BYTES if scope["path"].endswith(FORM_PATHS) else body_bytes)


@asynccontextmanager
async def open_runtime(
    settings: RuntimeSettings,
    sources: Sources,
    *,
    descriptions: Mapping[str, str] | None = None,
    clock: Clock = time.time,
    sleep: Sleep = asyncio.sleep,
    faults: Faults | None = None,
) -> AsyncIterator[OpenRuntime]:
    """Open the databases and resume unfinished runs; close everything at exit. Raises `HomeInUse`."""
    await asyncio.to_thread(make_private_folder, settings.home)
    faults = faults or Faults()
    async with AsyncExitStack() as stack:
        own = replica_folder(settings.home, settings.replica)
        await asyncio.to_thread(make_private_folder, own)
        lock = own / settings.database.with_suffix(".lock").name
        database = RuntimeDatabase(settings.database_url or settings.database, lock=lock, sleep=sleep)
        stack.push_async_callback(database.close)
        await database.open()
        await _require_copied_data(database, settings)
        event_log = EventLog(database)
        url = settings.database_url
        opening_saver = await asyncio.to_thread(open_saver, url or settings.checkpoints, faults=faults)
        saver = await stack.enter_async_context(opening_saver)
        opening_items = await asyncio.to_thread(open_items, url or settings.items)
        items = await stack.enter_async_context(opening_items)
        graphs = GraphRegistry(
            sources, saver=saver, store=items, started_at=clock(), descriptions=descriptions
        )
        project = settings.project
        secret = project.webhook_secret
        hooks = WebhookSender(database, project.webhooks, secret, clock=clock, sleep=sleep)
        manager = RunManager(
            database=database,
            event_log=event_log,
            saver=saver,
            executor=Executor(graphs, saver, faults),
            settings=settings,
            faults=faults,
            webhooks=hooks,
            owner=await asyncio.to_thread(name_owner, own),
            clock=clock,
            sleep=sleep,
        )
        await stack.enter_async_context(manager)
        states = ThreadStates(database=database, saver=saver, graphs=graphs, clock=clock)
        probe = DatabaseProbe(database, clock)
        stack.push_async_callback(probe.close)
        runner = CronRunner(database, clock=clock, sleep=sleep)
        runtime = OpenRuntime(
            settings, database, event_log, saver, items, graphs, manager, states, clock, probe, runner, hooks
        )
        jobs: dict[str, Callable[[], Awaitable[None]]] = {
            "prune logs": partial(_prune_logs, database, settings, clock, sleep),
            "expire threads": partial(sweep_threads, runtime, sleep),
            "start runs of crons": partial(runner.run, partial(start_cron_run, runtime)),
            "call webhooks": hooks.run,
            "measure lag": partial(measure_lag, asyncio.sleep),
        }
        if url is not None:  # a SQLite file has a single owner
            jobs["keep leases"] = manager.keep_leases
        for name, work in jobs.items():
            task = asyncio.create_task(keep_running(name, work, sleep), name=name)
            stack.push_async_callback(_cancel_task, task)
        yield runtime


async def _require_copied_data(database: RuntimeDatabase, settings: RuntimeSettings) -> None:
    """Raise `HomeInUse` if the database is an unfinished copy, or the threads are still in SQLite."""
    earlier = settings.database if settings.database_url else None
    if problem := await database.read(find_missing_copy, "agent", "threads", earlier):
        raise HomeInUse(problem)


async def _prune_logs(
    database: RuntimeDatabase, settings: RuntimeSettings, clock: Clock, sleep: Sleep
) -> None:
    bounds = settings.log
    while True:
        before = clock() - bounds.keep_seconds
        pruned = await database.write(prune_logs, before=before, keep=bounds.keep_events)
        if pruned:
            log.info("event_logs_pruned", runs=pruned)
            continue
        await sleep(bounds.prune_every)


async def _cancel_task(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@server_routes.get("/ok")
async def check_server(runtime: Runtime) -> Response:
    """Check that the server responds and that its database can be written and read."""
    await runtime.probe.check()
    return json_response({"ok": True})


@server_routes.get("/metrics")
async def get_metrics(request: Request, runtime: Runtime) -> Response:
    """Return the metrics of this process, as OpenMetrics if accepted. Users may not read them."""
    if runtime.access.user is not None:
        raise Refused("Only holders of the token may read the metrics.", 403)
    text, media_type = await asyncio.to_thread(
        render_runtime_metrics, request.headers, runtime.manager.list_active()
    )
    return Response(text, headers={"content-type": media_type})


health_route.add_api_route("/health", check_server, methods=["GET"], name="get_health")


@meta_routes.get("/info")
async def get_info(runtime: Runtime) -> Response:
    """Return the versions and features of this server."""
    webhooks = runtime.settings.project.webhooks is not None
    return json_response(
        {
            "version": VERSION,
            "langgraph_py_version": LANGGRAPH_VERSION,
            "flags": {"assistants": True, "crons": True, "langsmith": False, "webhooks": webhooks},
            "server": "roebot",
        }
    )


async def _on_api_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error.status, str(error), headers=error.headers)


async def _on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail)


async def _on_invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(422, describe_invalid_request(error))


async def _on_invalid_namespace(_request: Request, error: Exception) -> Response:
    return error_response(400, str(error))


async def _on_graph_error(_request: Request, error: Exception) -> Response:
    return error_response(500, str(error))


async def _on_unexpected_error(request: Request, error: Exception) -> Response:
    await log_failure("request_failed", error, path=request.url.path)
    return error_response(500, "Internal error; see the log for details")


_ERROR_HANDLERS: dict[int | type[Exception], Any] = {
    ApiError: _on_api_error,
    GraphLoadError: _on_graph_error,
    InvalidNamespaceError: _on_invalid_namespace,
    HTTPException: _on_http_error,
    RequestValidationError: _on_invalid_request,
    Exception: _on_unexpected_error,
}
_ROUTERS = (
    ("", server_routes),
    ("meta", meta_routes),
    ("runs", crons.router),
    ("runs", runs.router),
    ("runs", protocol.router),
    ("threads", threads.router),
    ("", storage.router),
    ("assistants", assistants.router),
    ("store", store.router),
    ("mcp", graph_tools.router),
)
"""Routers, each with the name after `http.disable_` that turns it off, or "" if it is always served."""


def create_app(
    settings: RuntimeSettings,
    sources: Sources,
    *,
    descriptions: Mapping[str, str] | None = None,
    token: LiveToken,
    allowed_hosts: Iterable[str] = (),
    cors: CorsSettings | None = None,
    extra_routes: Iterable[BaseRoute] | None = None,
    around: Iterable[AbstractAsyncContextManager[None]] = (),
    clock: Clock = time.time,
    sleep: Sleep = asyncio.sleep,
    faults: Faults | None = None,
) -> GuardedRuntime:
    """Create the guarded application, whose lifespan opens and closes the runtime.

    `extra_routes` replace the runtime's own `/health`. The contexts of `around` are entered before the
    runtime opens, in the server's event loop, and left after it has closed.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for context in around:
                await stack.enter_async_context(context)
            follow = keep_running("token file", token.follow_file, sleep)
            following = asyncio.create_task(follow, name="token file")
            stack.push_async_callback(_cancel_task, following)
            opening = open_runtime(
                settings, sources, descriptions=descriptions, clock=clock, sleep=sleep, faults=faults
            )
            try:
                app.state.runtime = await stack.enter_async_context(opening)
            except AgentError as error:
                guard.failure = error
                raise
            if project.app is not None:
                await stack.enter_async_context(project.app.router.lifespan_context(project.app))
            yield

    project = settings.project
    app = FastAPI(
        title="Roebot agent runtime",
        version=VERSION,
        lifespan=lifespan,
        openapi_url=None,
        redirect_slashes=True,
        exception_handlers=_ERROR_HANDLERS,
    )
    for family, router in _ROUTERS:
        app.router.routes += [] if family in project.disabled else router.routes
    app.router.routes += extra_routes or health_route.routes
    if "meta" not in project.disabled:
        _serve_openapi(app)
    cors = cors or CorsSettings()
    guard = GuardedRuntime(app, settings, token=token, allowed_hosts=allowed_hosts, cors=cors)
    return guard


def _serve_openapi(app: FastAPI) -> None:
    make_document = cache(app.openapi)

    @app.get("/openapi.json", include_in_schema=False)
    async def get_openapi() -> Response:
        """Return the OpenAPI document of this server, generated on the first request, off the event loop."""
        return json_response(await asyncio.to_thread(make_document))
