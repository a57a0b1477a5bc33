"""MCP servers as processes, and pools to reach them with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psutil
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from agent.config.extensions import Extensions, McpServer
from agent.mcp.pool import McpPool
from tests.harness.broker import LAUNCHER, forked_command
from tests.harness.forks import Program, list_running, start

ROOT = Path(__file__).parents[2]
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
    """Our test server over stdio."""
    return {**forked_entry("mcp_server"), **more}


def forked_entry(module: str) -> dict[str, Any]:
    """A server of this package over stdio."""
    command, *arguments = forked_command(f"{__package__}.{module}", "stdio")
    return {"command": command, "args": arguments}


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
    """The programs that this process started and that still run; forked ones without what starts them."""
    forked = list_running()
    found = [child for one in (psutil.Process(), *forked) for child in _descendants(one)]
    return {child.pid for child in (*found, *forked) if _is_program(child)}


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _is_program(child: psutil.Process) -> bool:
    try:
        command, by_us = child.cmdline(), child.ppid() == os.getpid()
    except psutil.NoSuchProcess:
        return False
    helps = str(LAUNCHER) in command or (by_us and any("multiprocessing" in part for part in command))
    # A zombie has no command.
    return bool(command) and not helps


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


@contextmanager
def serve_forked(module: str, transport: str, *more: str) -> Iterator[tuple[int, ForkServerProcess]]:
    """Serve one of the servers of this package over HTTP. Yield its port and process. Blocking."""
    reading, writing = os.pipe()
    program = Program(f"{__package__}.{module}", (transport, *more))
    with Path(os.devnull).open("rb") as nothing, os.fdopen(reading) as output:
        with os.fdopen(writing, "wb") as printed:
            process = start(program, nothing, printed, printed)
        try:
            yield int(output.readline()), process
        finally:
            process.kill()
            process.join()


@asynccontextmanager
async def our_server(transport: str, *more: str) -> AsyncIterator[tuple[int, ForkServerProcess]]:
    """Our test server over HTTP; its port and process."""
    with serve_forked("mcp_server", transport, *more) as found:
        yield found


@asynccontextmanager
async def served(module: str, transport: str) -> AsyncIterator[dict[str, Any]]:
    """The entry of one of the servers of this package."""
    if transport == "stdio":
        yield forked_entry(module)
        return
    with serve_forked(module, "http") as (port, _):
        yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
