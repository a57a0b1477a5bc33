"""The whole service on loopback ports, in the test's own loop: store, bus, dispatcher, API and runtime."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from agent.catalog.source import ModelSource, register_source
from agent.config.extensions_file import PATH_VARIABLE
from agent.management.routes import management_routes
from agent.runtime.app import create_app as create_runtime
from agent.runtime.loader import load_object
from agent.runtime.settings import RuntimeSettings
from agent.serve import OWN_GRAPHS
from agent.shared.live_token import LiveToken
from agent.shared.tls import tls_context
from bot.app.features import load_features
from bot.app.home import prepare_home
from bot.app.http_server import api_services, bind_socket
from bot.app.service import BotService, StartOptions
from bot.app.service_token import configured_token
from bot.clock import SystemClock
from bot.config import load_config
from bot.platforms.local.adapter import LocalAdapter
from bot.server.api.app import create_app
from bot.store.audit import list_audit_entries
from roebot_testing.agent import graphs
from tests.harness.credentials import SERVICE_TOKEN, give_token
from tests.harness.store_templates import open_store

RUNTIME_TOKEN = "runtime-secret-token"
SIGNING_KEY = "runtime-signing-key"
MODELS = """
models:
  - {name: scripted, display_name: Scripted model, use: "roebot_testing.agent.model:ScriptedChatModel"}
"""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@dataclass
class World:
    """A running service and a client of it."""

    url: str
    http: httpx.AsyncClient
    service: BotService
    runtime: _Server
    runtime_url: str
    home: Path
    token: str

    def adapter(self, account: str = "web") -> LocalAdapter:
        outlet = self.service.accounts.get(account)
        assert outlet is not None
        assert isinstance(outlet.adapter, LocalAdapter)
        return outlet.adapter

    async def audited(self, limit: int = 50) -> list[dict[str, str]]:
        """The newest audit events, from the store."""
        entries = await self.service.db.transact(list_audit_entries, limit=limit)
        return [{"person": one.person, **asdict(one.deed)} for one in entries]

    async def open(self, account: str = "web", chat: str = "") -> int:
        """A conversation; its id."""
        answer = await self.http.post("/api/conversations", json={"account": account, "chat": chat})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    async def say(self, conversation: int, text: str, **more: Any) -> dict[str, Any]:
        """Post a message."""
        path = f"/api/conversations/{conversation}/messages"
        answer = await self.http.post(path, json={"text": text, **more})
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def turn(self, turn: int) -> dict[str, Any]:
        """A turn once it is closed."""
        while True:
            found: dict[str, Any] = (await self.http.get(f"/api/turns/{turn}")).json()
            if found["finished_at"]:
                return found
            await asyncio.sleep(0.02)

    @asynccontextmanager
    async def events(
        self, conversation: int, **headers: str
    ) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """The events of a conversation as (name, data)."""
        path = f"/api/conversations/{conversation}/events"
        async with self.http.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200
            yield _events(answer)


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in answer.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[tuple[str, _Server]]:
    """An application on a free loopback port."""
    bound = bind_socket("127.0.0.1", 0)
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
            # Clients close idle connections after 5 seconds; at the same time as the server, a request fails.
            timeout_keep_alive=60,
            proxy_headers=False,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started:
            if task.done():
                await task
            await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}", server
    finally:
        server.should_exit = True
        await asyncio.wait({task})
        bound.close()


class ManagementAtFirstCall(BaseRoute):
    """Replaces itself by the management routes when one of them or their description is called first: most
    tests call none, and to make them costs more than the rest of a runtime.
    """

    def __init__(self, make: Callable[[], list[BaseRoute]]) -> None:
        self._make = make
        self._replacement: asyncio.Task[None] | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        calls = scope["type"] == "http" and scope["path"].startswith(("/api/", "/health", "/openapi"))
        return (Match.FULL if calls else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        router = scope["app"].router
        if self._replacement is None:
            self._replacement = asyncio.create_task(self._replace(router.routes))
        await asyncio.shield(self._replacement)
        await router(scope, receive, send)

    async def _replace(self, routes: list[BaseRoute]) -> None:
        made = await asyncio.to_thread(self._make)
        at = routes.index(self)
        routes[at : at + 1] = made


def runtime_app(home: Path, config: Path) -> Any:
    """The real runtime with the scripted graphs, and with Roebot's own, which read ROEBOT_HOME."""
    names = ("echo", "slow", "markdown12k", "failing", "crashing", "interrupting", "approving", "artifact")
    sources: dict[str, Any] = {name: lambda name=name: getattr(graphs, name) for name in names}
    sources |= {name: partial(load_object, use) for name, use in OWN_GRAPHS.items()}
    register_source(home, ModelSource(config))
    management = ManagementAtFirstCall(partial(management_routes, home, config))
    settings = RuntimeSettings(home=home / "agent", heartbeat=1.0, drain=0.1, signing_key=SIGNING_KEY)
    return create_runtime(settings, sources, token=LiveToken(RUNTIME_TOKEN), extra_routes=[management])


def _begun(extensions: Path) -> None:
    """A test's own file stays as it is."""
    if not extensions.exists():
        extensions.write_text("{}")


@asynccontextmanager
async def world(
    home: Path,
    *,
    graph: str = "echo",
    server: str = "",
    extra: str = "",
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[World]:
    """Everything, with `graph` as the assistant; `server` and `extra` are YAML.

    The client is the owner, unless it has its own `headers`.
    """
    config_path, extensions = home / "config.yaml", home / "extensions_config.json"
    await asyncio.to_thread(prepare_home, home)
    await asyncio.to_thread(give_token, home)
    await asyncio.to_thread(config_path.write_text, MODELS)
    await asyncio.to_thread(_begun, extensions)
    async with AsyncExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv(PATH_VARIABLE, str(extensions))
        environment.setenv("ROEBOT_HOME", str(home))
        agent = await asyncio.to_thread(runtime_app, home, config_path)
        runtime_url, runtime = await stack.enter_async_context(serving(agent))
        text = (
            f"server: {{port: 0{server}}}\n"
            f"runtime: {{url: '{runtime_url}', assistant_id: {graph}, api_key: {RUNTIME_TOKEN},"
            f" signing_key: {SIGNING_KEY}}}\n{extra}"
        )
        await asyncio.to_thread(config_path.write_text, text)
        loaded = await asyncio.to_thread(load_config, config_path, {}, home)
        token = LiveToken(configured_token(loaded.config.server, {}) or SERVICE_TOKEN)
        if headers is None:
            headers = {"Authorization": f"Bearer {token.value}"}
        clock = SystemClock()
        database = await open_store(home)
        settings = StartOptions(home, loaded, config_path, {}, home, token)
        await asyncio.to_thread(load_features)
        service = BotService(settings, database, clock)
        app = create_app(api_services(service, port=0))
        try:
            async with (
                serving(app) as (url, _),
                httpx.AsyncClient(base_url=url, timeout=20, headers=headers, verify=tls_context()) as http,
                running(service),
            ):
                yield World(url, http, service, runtime, runtime_url, home, token.value)
        finally:
            await database.close()


@asynccontextmanager
async def running(service: BotService) -> AsyncIterator[None]:
    """The service at work; it ends before its port, so that whoever watches is let go."""
    work = asyncio.create_task(service.run())
    try:
        # Where the page is switched off there is nothing to wait for.
        page = service.accounts.get("web")
        async with asyncio.timeout(20):
            while page is not None and not page.ready.is_set():
                await asyncio.sleep(0.005)
        yield
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
