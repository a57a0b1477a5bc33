"""MCP servers as processes, and pools to reach them with."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from agent.config.extensions import Extensions, McpServer
from agent.mcp.pool import McpPool

ROOT = Path(__file__).parents[2]
OURS = {"command": sys.executable, "args": ["-m", "tests.harness.mcp_server", "stdio"]}
PATIENT = 120.0
"""Seconds that a slow machine may take to start a program."""


class Time:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def configured(**servers: Any) -> Mapping[str, McpServer]:
    """Servers as the file would have them."""
    entries = {name: {"start_seconds": PATIENT, **entry} for name, entry in servers.items()}
    return Extensions.model_validate({"mcpServers": entries}).mcpServers


def ours(**more: Any) -> dict[str, Any]:
    """Our test server over stdio, found wherever the test runs."""
    return {**OURS, "env": {"PYTHONPATH": str(ROOT), **more.pop("env", {})}, **more}


@asynccontextmanager
async def pooled(**options: Any) -> AsyncIterator[McpPool]:
    """A pool that is closed at the end, with every program that it started."""
    pool = McpPool(**{"start_wait": PATIENT, **options})
    before = children()
    try:
        yield pool
    finally:
        await pool.aclose()
        left = children() - before
        assert not left, f"left behind: {left}"


def children() -> set[int]:
    """The programs that this process started and that still run."""
    found = psutil.Process().children(recursive=True)
    return {child.pid for child in found if child.status() != psutil.STATUS_ZOMBIE}


async def call(tools: Mapping[str, BaseTool], name: str, thread: str = "t", /, **arguments: Any) -> str:
    """The text of a tool's answer in a thread."""
    config: Any = {"configurable": {"thread_id": thread}}
    request: Any = {"type": "tool_call", "id": "c", "name": name, "args": arguments}
    message = await in_thread(tools[name], request, config)
    return str(message.text)


async def in_thread(tool: BaseTool, request: Any, config: Any) -> ToolMessage:
    """Run a tool as langgraph does: with the run's config around it."""
    from langchain_core.runnables.config import var_child_runnable_config

    token = var_child_runnable_config.set(config)
    try:
        found = await tool.ainvoke(request, config)
    finally:
        var_child_runnable_config.reset(token)
    assert isinstance(found, ToolMessage)
    return found


async def turns() -> None:
    """Let the loop go round until what is under way has been sent."""
    for _ in range(50):
        await asyncio.sleep(0)


def named(tools: Any) -> dict[str, BaseTool]:
    """Tools by name."""
    return {tool.name: tool for tool in tools.tools}


@asynccontextmanager
async def listening(*arguments: str) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """A program that prints its port and serves there; its port and process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENT)
        yield int(line), process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def our_server(transport: str, *more: str) -> Any:
    """Our test server over HTTP."""
    return listening("-m", "tests.harness.mcp_server", transport, *more)
