"""`langgraph dev` in an environment of its own, offline."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.harness.free_ports import free_port

CLI = "langgraph-cli[inmem]==0.4.40"
START_SECONDS = 300.0
OFFLINE = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
}


def environment() -> Path:
    """The environment's folder; it is made on first use and kept below the temp directory."""
    folder = Path(tempfile.gettempdir()) / f"roebot-oracle-{os.getuid()}-{CLI.rpartition('=')[2]}"
    if (folder / "complete").exists():
        return folder
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, CLI], check=True)
    (folder / "complete").touch()
    return folder


@asynccontextmanager
async def langgraph_dev(folder: Path) -> AsyncIterator[str]:
    """A server of the graph beside this module, working in `folder`; its address."""
    shutil.copy(Path(__file__).with_name("graph.py"), folder / "graph.py")
    graphs = {"dependencies": ["."], "graphs": {"lead_agent": "./graph.py:graph"}}
    (folder / "langgraph.json").write_text(json.dumps(graphs))
    async with project_server(folder) as url:
        yield url


@asynccontextmanager
async def project_server(folder: Path, *arguments: str) -> AsyncIterator[str]:
    """A server of the `langgraph.json` in `folder`, with additional arguments of the command; its address."""
    binary = await asyncio.to_thread(environment) / "bin" / "langgraph"
    port = free_port()
    command = [str(binary), "dev", "--no-browser", "--no-reload", "--allow-blocking", "--port", str(port)]
    command.extend(arguments)
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("LANGSMITH", "LANGCHAIN"))
    }
    with (folder / "server.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdout=log, stderr=log, env={**clean, **OFFLINE}
        )
    try:
        url = f"http://127.0.0.1:{port}"
        await _ready(url, process, folder / "server.log")
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 10)
            except TimeoutError:
                process.kill()
                await process.wait()


async def _ready(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(START_SECONDS), httpx.AsyncClient(base_url=url, trust_env=False) as client:
        while True:
            if process.returncode is not None:
                raise AssertionError(f"langgraph dev ended: {log.read_text(errors='replace')[-2000:]}")
            try:
                if (await client.get("/ok")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)
