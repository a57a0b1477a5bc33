"""Routes behind a real server on a free port of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI
from starlette.routing import BaseRoute

from agent.shared.tls import tls_context


@asynccontextmanager
async def served(routes: Sequence[BaseRoute]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the routes."""
    server = uvicorn.Server(uvicorn.Config(FastAPI(routes=list(routes)), log_level="warning", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            # Files are synced to disk, which can take seconds beside other tests.
            patient = httpx.AsyncClient(base_url=url, trust_env=False, verify=tls_context(), timeout=30.0)
            async with patient as http:
                yield http
        finally:
            server.should_exit = True
            await serving
