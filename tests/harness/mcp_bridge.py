"""Programs that speak MCP over stdio, behind a bridge that speaks HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.harness.free_ports import free_port
from tests.harness.mcp import PATIENT


def module(name: str, *arguments: str) -> dict[str, Any]:
    """The entry of a Python module over stdio."""
    return {"command": sys.executable, "args": ["-m", name, *arguments]}


@asynccontextmanager
async def listener(*command: str, port: int, env: Mapping[str, str] | None = None) -> AsyncIterator[int]:
    """A program that listens on the port after a while; its pid."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PATIENT):
            while not await _answers(port):
                assert process.returncode is None, f"{command[0]} ended with {process.returncode}"
                await asyncio.sleep(0.1)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def proxied(program: dict[str, Any], transport: str) -> AsyncIterator[tuple[dict[str, Any], int]]:
    """The program behind mcp-proxy, which speaks HTTP; its configuration and the proxy's pid."""
    port = free_port()
    bridge = (sys.executable, "-m", "mcp_proxy", "--port", str(port), "--host", "127.0.0.1", "--")
    async with listener(*bridge, program["command"], *program["args"], port=port) as pid:
        path = "mcp" if transport == "http" else "sse"
        yield {"type": transport, "url": f"http://127.0.0.1:{port}/{path}"}, pid


@asynccontextmanager
async def over(program: dict[str, Any], transport: str) -> AsyncIterator[dict[str, Any]]:
    """The configuration of a program over stdio, or behind the bridge."""
    if transport == "stdio":
        yield program
    else:
        async with proxied(program, transport) as (entry, _):
            yield entry


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
