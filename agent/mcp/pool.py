"""All servers of a process (or of one loop): applied from the configuration, started when first needed."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import structlog
from langchain_core.tools import BaseTool

from agent.config.extensions import McpServer
from agent.core.run_context import RunContext
from agent.mcp.server import Server

log = structlog.get_logger(__name__)
PATIENCE = 5.0
"""Seconds that a run waits for servers that start; one that takes longer joins a later run."""
IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
NAME_LENGTH = 64
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, eq=False, slots=True)
class McpTools:
    """The tools of all servers, each under `<server>_<tool>`; compared by identity."""

    tools: tuple[BaseTool, ...] = ()

    def of(self, servers: frozenset[str]) -> tuple[BaseTool, ...]:
        """Those of these servers."""
        return tuple(tool for tool in self.tools if (tool.metadata or {}).get("mcp_server") in servers)


NO_TOOLS = McpTools()


class McpPool:
    """Bound to the loop that it is first used on. Close it, or let the loop's end cancel what it runs."""

    def __init__(
        self,
        *,
        patience: float = PATIENCE,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._patience, self._idle = patience, idle_seconds
        self._clock, self._sleep = clock, sleep
        self._servers: dict[str, Server] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._made: tuple[tuple[tuple[str, int, int], ...], McpTools] = ((), NO_TOOLS)

    @property
    def servers(self) -> Mapping[str, Server]:
        """Those that are applied, by name."""
        return self._servers

    async def tools(self, configured: Mapping[str, McpServer]) -> McpTools:
        """The tools of the servers that are on: the same object as long as nothing changed.

        Applies the configuration: a server that changed or went is closed, others keep their sessions. A
        server that can't be started is left out, and is tried again at a later run.
        """
        self._apply({name: one for name, one in configured.items() if one.enabled})
        now = self._clock()
        for server in self._servers.values():
            if server.wants_listing():
                server.listing, server.listing_since = self._spawn(server.list_tools()), now
                self._sweep()
        waited_for = [
            server.listing
            for server in self._servers.values()
            if server.listing is not None and now - server.listing_since < self._patience
        ]
        if waited_for:
            await asyncio.wait(waited_for, timeout=self._patience)
        key = tuple((name, id(server), server.version) for name, server in self._servers.items())
        if key != self._made[0]:
            self._made = (key, await asyncio.to_thread(self._make))
        return self._made[1]

    async def aclose(self) -> None:
        """Close all sessions and end everything that runs."""
        servers, self._servers = list(self._servers.values()), {}
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(server.close() for server in servers))
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _apply(self, wanted: Mapping[str, McpServer]) -> None:
        for name, server in list(self._servers.items()):
            if wanted.get(name) != server.config:
                del self._servers[name]
                self._spawn(server.close())
                log.info("mcp_server_dropped", server=name)
        for name, config in wanted.items():
            if name not in self._servers:
                self._servers[name] = Server(name, config, clock=self._clock)
        self._servers = {name: self._servers[name] for name in wanted}

    def _make(self) -> McpTools:
        made = [tool for server in list(self._servers.values()) for tool in _tools_of(server)]
        return McpTools(tuple(made))

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _sweep(self) -> None:
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = self._spawn(self._sweeping())

    async def _sweeping(self) -> None:
        with suppress(asyncio.CancelledError):
            while self._servers:
                await self._sleep(min(SWEEP_SECONDS, self._idle))
                for server in list(self._servers.values()):
                    await server.close_idle(self._idle)


def _tools_of(server: Server) -> Iterator[BaseTool]:
    if server.tools is None:
        return
    wire = import_module("agent.mcp.wire")
    taken: set[str] = set()
    for tool in server.tools:
        name = _name(server.name, tool.name, taken)
        taken.add(name)
        yield wire.as_tool(tool, name=name, server=server.name, call=partial(_call, server))


async def _call(server: Server, tool: str, arguments: dict[str, Any]) -> Any:
    return await server.call(RunContext.of().thread_id or "", tool, arguments)


def _name(server: str, tool: str, taken: set[str]) -> str:
    """A name that every provider takes: letters, digits, `_` and `-`, at most 64, and no two alike."""
    whole = _UNFIT.sub("_", f"{server}_{tool}")
    if len(whole) <= NAME_LENGTH and whole not in taken:
        return whole
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{whole[: NAME_LENGTH - 9]}_{mark}"
