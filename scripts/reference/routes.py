"""HTTP route reference, from the OpenAPI documents of the service and the agent runtime."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute, Route

from agent.management.routes import management_routes
from agent.runtime.http import assistants, crons, graph_tools, protocol, runs, store, threads
from agent.shared.live_token import LiveToken
from bot.access import Role
from bot.app.home import prepare_home
from bot.app.http_server import api_services
from bot.app.service import BotService, StartOptions
from bot.clock import SystemClock
from bot.config import Config, LoadedConfig
from bot.features.agent_management.runtime_proxy import ProxiedCall, least_for
from bot.server.api.app import create_app
from bot.server.api.auth import least_role
from bot.store import open_database
from scripts.reference.markdown import code, first_line, page, table

INTRO = """
The service listens on a single port (`server.port`, default 2026). The OpenAPI document of its routes is at
`/api/openapi.json`. It links to the agent runtime's own document, `/api/langgraph/openapi.json` (for
owners), which lists the LangGraph API without a prefix. The runtime's management routes have the same paths
in the service.

- On every address, each route whose role is not `anyone` requires a credential: the token that `roebot
  token` prints, in the header `Authorization: Bearer` or `X-Api-Key`, or the cookie that `POST /api/session`
  returns. The `Host` and `Origin` headers are always checked.
- Request bodies are `application/json`; uploads are `multipart/form-data`. Errors have the form `{"detail":
  "…"}`.
- Lists take `limit` and `cursor`; `next` in the response is the cursor of the next page.
- `role` is the minimum role required. `anyone` means that no sign-in is needed; a `member` can access only
  their own data. A caller with the token is an owner. See [What each role
  sees](../howto/manage-in-the-web-console.md#what-each-role-sees).
"""
AGENT = """
## Agent runtime

The service forwards requests for these routes to the agent runtime. `roebot agent serve` handles them
directly, but only for callers that present its token.
"""
LANGGRAPH = """
## LangGraph API

The service provides this API to owners under `/api/langgraph`, except crons and `/mcp`. `roebot agent serve`
and the bundled runtime provide all of it at the root. Use `langgraph-sdk` as the client.
"""
PLACE = re.compile(r"\{[^}]*\}")


def render_http_routes() -> str:
    """Return the page as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        document, roles = asyncio.run(_service(Path(folder)))
        empty = Path(folder) / "config.yaml"
        empty.touch()
        managed = management_routes(Path(folder), empty)
    modules = (assistants, threads, runs, protocol, crons, store, graph_tools)
    langgraph = [route for module in modules for route in module.router.routes]
    head = ["method", "path", "role", "description"]
    return page(
        "HTTP routes",
        INTRO,
        "## Service",
        table(head, _documented(document, roles)),
        AGENT,
        table(head, _passed_on(managed)),
        LANGGRAPH,
        table(["method", "path", "description"], _plain(langgraph)),
    )


def load_openapi() -> dict[str, Any]:
    """Return the OpenAPI document of the service."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_service(Path(folder)))[0]


async def _service(home: Path) -> tuple[dict[str, Any], Mapping[str, Role]]:
    """The document of a service with the zero configuration, and the least role of each of its routes; its
    runtime is never called.
    """
    config = Config.model_validate({"runtime": {"url": "http://127.0.0.1:2024"}})
    prepare_home(home)
    database = await open_database(home)
    settings = StartOptions(home, LoadedConfig(config), None, dict(os.environ), home, LiveToken("unused"))
    service = BotService(settings, database, SystemClock())
    try:
        app = create_app(api_services(service, port=0))
        return app.openapi(), _roles(app)
    finally:
        await service.runtime.close()
        await database.close()


def _roles(app: FastAPI) -> Mapping[str, Role]:
    """Return the least role of each route, by method and path."""
    found = {}
    for route in app.routes:
        included = getattr(route, "effective_route_contexts", None)
        contexts: Iterable[Any] = included() if included else [route]
        for one in contexts:
            for method in getattr(one, "methods", None) or ():
                found[f"{method} {one.path}".replace(":path}", "}")] = least_role(one.endpoint)
    return found


def _documented(document: dict[str, Any], roles: Mapping[str, Role]) -> Iterable[list[str]]:
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            role = roles[f"{method.upper()} {path}"]
            yield [method.upper(), code(path), _word(role), first_line(about.get("description"))]


def _passed_on(found: Iterable[BaseRoute]) -> Iterable[list[str]]:
    """Yield the proxied routes with the roles that the proxy policy requires."""
    for route in found:
        if isinstance(route, Route) and route.path.startswith("/api/"):
            area, _, rest = PLACE.sub("x", route.path.removeprefix("/api/")).partition("/")
            for method in _methods(route):
                role = least_for(ProxiedCall(method, area, rest))
                yield [method, code(route.path), _word(role), first_line(route.endpoint.__doc__)]


def _plain(found: Iterable[BaseRoute]) -> Iterable[list[str]]:
    for route in found:
        if isinstance(route, Route):
            yield [", ".join(_methods(route)), code(route.path), first_line(route.endpoint.__doc__)]


def _methods(route: Route) -> list[str]:
    return sorted((route.methods or set()) - {"HEAD"})


def _word(role: Role) -> str:
    return "anyone" if role is Role.BLOCKED else role.name.lower()
