"""The HTTP routes, from the OpenAPI document of the service and the routes of the agent runtime."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute, Route

from agent.api import management_routes
from agent.runtime.http import assistants, items, runs, threads
from bot.api.app import create_app
from bot.api.compose import api_services
from bot.clock import SystemClock
from bot.config import Config, LoadedConfig
from bot.home import prepare_home
from bot.service import Service, Settings
from bot.store import BotStore, open_database
from scripts.reference.markdown import code, first_line, page, table

INTRO = """
The service answers on one port (`server.port`, 2026). `/api/openapi.json` is the OpenAPI document.

- With `server.token` set, every route but `/`, `/health`, `/api/session` and `/static/` needs it:
  `Authorization: Bearer TOKEN`, or the cookie that `POST /api/session` gives for it.
- Without a token only loopback is served. Host and Origin are checked all the same.
- Bodies are `application/json`; uploads are `multipart/form-data`. Errors are `{"detail": "…"}`.
- Lists take `limit` and `cursor`; `next` in the answer is the cursor of the following page.
"""
AGENT = """
## Routes of the agent runtime

The service passes them on; `roebot agent serve` serves them itself. `/health` is the server's own.
"""
LANGGRAPH = """
## The LangGraph API

Below `/api/langgraph` at the service, at the root of `roebot agent serve` and of the bundled runtime. The
client is `langgraph-sdk`.
"""


def routes() -> str:
    """The page."""
    with tempfile.TemporaryDirectory() as folder:
        document = asyncio.run(_openapi(Path(folder)))
        empty = Path(folder) / "config.yaml"
        empty.touch()
        managed = management_routes(Path(folder), empty)
    langgraph = [*assistants.ROUTES, *threads.ROUTES, *runs.ROUTES, *items.ROUTES]
    head = ["method", "path", "what it does"]
    return page(
        "HTTP routes",
        INTRO,
        "## Routes of the service",
        table(head, _documented(document)),
        AGENT,
        table(["method", "path"], _plain(managed)),
        LANGGRAPH,
        table(head, _plain(langgraph, described=True)),
    )


async def _openapi(home: Path) -> dict[str, Any]:
    """The document of a service with the zero configuration; its runtime is never called."""
    config = Config.model_validate({"runtime": {"url": "http://127.0.0.1:2024"}})
    prepare_home(home)
    database = await open_database(home)
    settings = Settings(home, LoadedConfig(config), None, dict(os.environ), home)
    service = Service(settings, BotStore(database), SystemClock())
    try:
        return create_app(api_services(service, port=0)).openapi()
    finally:
        await service.runtime.close()
        await database.close()


def _documented(document: dict[str, Any]) -> Iterable[list[str]]:
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            yield [method.upper(), code(path), first_line(about.get("description"))]


def _plain(found: Iterable[BaseRoute], *, described: bool = False) -> Iterable[list[str]]:
    for route in found:
        if isinstance(route, Route):
            methods = sorted((route.methods or set()) - {"HEAD"})
            more = [first_line(route.endpoint.__doc__)] if described else []
            yield [", ".join(methods), code(route.path), *more]
