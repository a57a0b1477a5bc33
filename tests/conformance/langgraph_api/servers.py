"""The two servers of the same graphs: the runtime, and the reference."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.serve import TOKEN_VARIABLE
from tests.oracle.server import project_server

ROOT = Path(__file__).parents[3]
PROJECT = Path(__file__).with_name("project")
TOKEN = "c0nformance"
START_SECONDS = 300.0
TIMEOUT = httpx.Timeout(30.0, read=300.0)


def connect(url: str) -> LangGraphClient:
    """Return a client that opens a connection for each request.

    The reference closes a connection after an error of its own, and the next request on it would fail.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    http = httpx.AsyncClient(base_url=url, headers={"x-api-key": TOKEN}, limits=limits, timeout=TIMEOUT)
    return LangGraphClient(http)


@asynccontextmanager
async def runtime(folder: Path) -> AsyncIterator[tuple[str, LangGraphClient]]:
    """Start `python -m agent.serve` with the project's graphs. Yield its address and a client."""
    shutil.copytree(PROJECT, folder / "project")
    port_file = folder / "port"
    options = {"--port": "0", "--home": folder / "home", "--port-file": port_file}
    options["--graphs"] = folder / "project" / "langgraph.json"
    with (folder / "runtime.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agent.serve", *(str(part) for pair in options.items() for part in pair)),
            env={**os.environ, TOKEN_VARIABLE: TOKEN, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stderr=log,
        )
    try:
        async with asyncio.timeout(START_SECONDS):
            while not port_file.exists():
                if process.returncode is not None:
                    raise RuntimeError(f"the runtime ended: {(folder / 'runtime.log').read_text()[-2000:]}")
                await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{port_file.read_text()}"
        async with connect(url) as client:
            yield url, client
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


@asynccontextmanager
async def reference(folder: Path) -> AsyncIterator[tuple[str, LangGraphClient]]:
    """Start LangGraph's development server with the project's graphs. Yield its address and a client."""
    shutil.copytree(PROJECT, folder / "project")
    async with (
        project_server(folder / "project", "--n-jobs-per-worker", "64") as url,
        connect(url) as client,
    ):
        yield url, client
