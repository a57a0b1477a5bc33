"""The FastAPI application behind the public port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.middleware import Middleware

from agent.shared.body_limits import BodyLimits
from agent.shared.metrics import measure_lag
from bot.access import Role
from bot.dispatch.side_tasks import keep_running
from bot.platforms.local.files import InboxFiles
from bot.server.api import (
    api_tokens,
    channels,
    conversations,
    display_names,
    documentation,
    health,
    metrics,
    overview,
    search,
    sign_in,
    sign_on,
    turn_changes,
    turns,
)
from bot.server.api.api_tokens import revoke_expired_roles
from bot.server.api.auth import authorize, open_to
from bot.server.api.credential_attempts import make_attempts
from bot.server.api.dependencies import ApiServices, RuntimeClients
from bot.server.api.errors import add_handlers
from bot.server.api.metrics import Gauges
from bot.server.api.request_guard import HEADERS, UnexpectedErrorHandler, guard_requests, make_body_rules
from bot.server.api.sessions import LinkSessions, TokenSessions
from bot.server.api.sse import Subscriptions
from bot.server.console.page import add_console

SWEEP_EVERY = 3600.0
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ROUTED = (
    health,
    metrics,
    sign_in,
    sign_on,
    api_tokens,
    channels,
    conversations,
    display_names,
    documentation,
    overview,
    turns,
    turn_changes,
    search,
)


def create_app(services: ApiServices) -> FastAPI:
    """Build the guarded application: web console and API.

    Its lifespan owns the HTTP clients and the background tasks.
    """
    gauges = Gauges()
    sessions, links = TokenSessions(services.token), LinkSessions(services)
    attempts = make_attempts(services)
    app = FastAPI(
        title="Roebot",
        version=services.version,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        description="Requests to `/api/agents`, `/api/config`, `/api/mcp`, `/api/memory`, `/api/models`, "
        "`/api/skills` and `/api/threads` are forwarded to the agent runtime, whose routes are described in "
        "`/api/langgraph/openapi.json` (for owners).",
        lifespan=_lifespan,
        dependencies=[Depends(authorize)],
        middleware=[
            Middleware(
                BodyLimits,
                make_body_rules(services.server.limits, services.file_bytes),
                seconds=services.server.limits.body_seconds,
                response_headers=HEADERS,
                refused=gauges.refused_bodies,
            ),
            Middleware(
                guard_requests,
                server=services.server,
                port=services.port,
                sessions=sessions,
                attempts=attempts,
                links=links,
            ),
            Middleware(UnexpectedErrorHandler),
        ],
    )
    app.state.services = services
    app.state.sessions = sessions
    app.state.links = links
    app.state.attempts = attempts
    app.state.identity_provider = sign_on.make_provider(services)
    app.state.feeds = feeds = Subscriptions()
    app.state.gauges = gauges
    services.bus.watch_accepted(feeds.accepted)
    services.bus.watch_others(feeds.changed)
    services.bus.watch_accepted(gauges.count_turn)
    add_handlers(app)
    for module in ROUTED:
        app.include_router(module.router)
    for feature in services.features:
        for router in feature.routers:
            app.include_router(router)
    add_console(app)
    app.add_api_route("/api/{path:path}", refuse_unknown, methods=METHODS, include_in_schema=False)
    return app


@open_to(Role.MEMBER)
async def refuse_unknown(path: str) -> None:
    """Refuse a path without a route."""
    raise HTTPException(404, "Route not found.")


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: ApiServices = app.state.services
    langgraph = services.runtime_client()
    management = services.management_client() if services.management_client else langgraph
    app.state.runtime = RuntimeClients(langgraph, management)
    works: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "token_file": services.token.follow_file,
        "loop_lag": partial(measure_lag, services.clock.sleep),
        "inbox_sweep": partial(_sweep, services),
    }
    upkeep = [
        asyncio.create_task(keep_running(name, work, services.clock, services.core.outages), name=name)
        for name, work in works.items()
    ]
    try:
        yield
    finally:
        app.state.feeds.close()
        for task in upkeep:
            task.cancel()
        for task in upkeep:
            with suppress(asyncio.CancelledError):
                await task
        await app.state.runtime.close()


async def _sweep(services: ApiServices) -> None:
    """Delete expired files of accepted messages and the roles of expired API tokens, hourly."""
    inbox = InboxFiles(services.home)
    while True:
        await inbox.delete_expired(services.clock.now())
        await revoke_expired_roles(services)
        await services.clock.sleep(SWEEP_EVERY)
