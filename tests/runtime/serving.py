"""A real server on a loopback port, in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from agent.runtime.app import create_app
from agent.runtime.settings import RuntimeSettings
from agent.shared.live_token import LiveToken
from agent.shared.tls import tls_context
from tests.harness.credentials import AGENT_TOKEN
from tests.runtime import graphs

SOURCES: Mapping[str, Callable[[], Any]] = {
    "chat": graphs.chat,
    "long": lambda: graphs.chat(tokens=200),
    "slow": lambda: graphs.chat(tokens=10_000, delay=0.01),
    "gated": graphs.gated,
    "asking": graphs.asking,
    "asking_twice": graphs.asking_twice,
    "asking_beside": graphs.asking_beside,
    "asking_gated": graphs.asking_gated,
    "failing": graphs.failing,
    "nested": graphs.nested,
    "delta": graphs.delta,
    "slow_delta": lambda: graphs.delta(tokens=10_000, delay=0.01),
}


@dataclass
class Served:
    """A running server and its client."""

    url: str
    client: LangGraphClient
    http: httpx.AsyncClient
    server: uvicorn.Server
    token: str


@asynccontextmanager
async def serve(home: Path, **options: Any) -> AsyncIterator[Served]:
    """Serve the test graphs below `home`; `settings` is for `RuntimeSettings`, the rest for `create_app`."""
    settings = RuntimeSettings(home=home, **{"heartbeat": 0.2, "drain": 0.2, **options.pop("settings", {})})
    sources = options.pop("sources", SOURCES)
    token = options.pop("token", AGENT_TOKEN)
    app = create_app(settings, sources, token=LiveToken(token), **options)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            await task
            raise RuntimeError("the server did not start")
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    client = get_client(url=url, api_key=token)
    headers = {"x-api-key": token}
    try:
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, verify=tls_context()) as http:
            yield Served(url, client, http, server, token)
    finally:
        await client.aclose()
        server.should_exit = True
        server.force_exit = options.get("force", False)
        await task
