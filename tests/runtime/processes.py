"""The runtime as a process of its own, to be killed and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from agent.runtime.faults import VARIABLE
from tests.harness.broker import forked_command

ROOT = Path(__file__).parents[2]
TOKEN = "t0ken"


@dataclass
class Process:
    """A running runtime process."""

    process: asyncio.subprocess.Process
    client: LangGraphClient
    port: int

    async def died(self) -> int:
        """Wait for its end; the exit code."""
        return await asyncio.wait_for(self.process.wait(), 30)

    async def terminate(self) -> int:
        """SIGTERM, then wait."""
        self.process.send_signal(signal.SIGTERM)
        return await self.died()


def graphs_file(home: Path, keys: Mapping[str, Any] = MappingProxyType({})) -> Path:
    """A `langgraph.json` of the crash graphs, with more keys."""
    home.mkdir(parents=True, exist_ok=True)
    file = home.parent / "langgraph.json"
    graphs = {name: f"tests.runtime.crash_graphs:{name}" for name in ("counted", "patient", "asking")}
    graphs["tooled"] = "tests.runtime.tool_graphs:tooled"
    file.write_text(json.dumps({"graphs": graphs, **keys}))
    return file


@asynccontextmanager
async def runtime(
    home: Path,
    *,
    fault: str | None = None,
    arguments: tuple[str, ...] = (),
    forked: bool = False,
    stderr: int = asyncio.subprocess.DEVNULL,
    keys: Mapping[str, Any] = MappingProxyType({}),
) -> AsyncIterator[Process]:
    """Start the process, hand it out when it accepts, kill it at the end."""
    environment = {**os.environ, "ROEBOT_RUNTIME_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
    environment.pop(VARIABLE, None)
    if fault is not None:
        environment[VARIABLE] = fault
    file = await asyncio.to_thread(graphs_file, home, keys)
    ready = home.parent / f"{uuid4().hex}.port"
    process = await asyncio.create_subprocess_exec(
        *(forked_command("agent.serve") if forked else (sys.executable, "-m", "agent.serve")),
        *("--port", "0", "--home", str(home), "--graphs", str(file), "--port-file", str(ready), *arguments),
        env=environment,
        cwd=ROOT,
        stderr=stderr,
    )
    try:
        while not ready.exists() and process.returncode is None:
            await asyncio.sleep(0.01)
        port = int(ready.read_text()) if ready.exists() else 0
        client = get_client(url=f"http://127.0.0.1:{port}", api_key=TOKEN)
        yield Process(process, client, port)
        await client.aclose()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
