"""The MCP servers of an event loop: configured by the extensions file, started on first use."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import structlog
from langchain_core.tools import BaseTool

from agent.config.extensions import McpServer
from agent.core.background_loop import PerLoop
from agent.core.run_context import RunContext
from agent.mcp.call_watch import CallTimer, Report
from agent.mcp.live_calls import current_step
from agent.mcp.server import McpServerClient
from agent.mcp.sign_ins import SignIns

log = structlog.get_logger(__name__)
START_WAIT_SECONDS = 5.0
"""Maximum time that a run waits for servers to start; slower ones are available to later runs."""
IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
NAME_LENGTH = 64
SIGN_IN = "\0sign_in"
"""Our tool for sign-ins, which needs no session."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, eq=False, slots=True)
class McpToolSet:
    """The tools of all servers, each named `<server>_<tool>`. Compared by identity."""

    tools: tuple[BaseTool, ...] = ()

    def select(self, servers: frozenset[str]) -> tuple[BaseTool, ...]:
        return tuple(tool for tool in self.tools if (tool.metadata or {}).get("mcp_server") in servers)


NO_TOOLS = McpToolSet()


class McpPool:
    """Belongs to the loop of its first use. Close it, or let the end of the loop cancel its tasks.

    Its tools also work on other loops, where they get sessions of their own, which end with that loop.
    """

    def __init__(
        self,
        *,
        sign_ins: SignIns | None = None,
        start_wait: float = START_WAIT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.sign_ins = sign_ins
        self._start_wait, self._idle = start_wait, idle_seconds
        self._clock, self._sleep = clock, sleep
        self._servers: dict[str, McpServerClient] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._elsewhere = PerLoop(self._make_sibling)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._cached: tuple[tuple[tuple[str, int, int], ...], McpToolSet] = ((), NO_TOOLS)

    @property
    def servers(self) -> Mapping[str, McpServerClient]:
        return self._servers

    async def load_tools(self, configured: Mapping[str, McpServer]) -> McpToolSet:
        """Return the tools of all enabled servers: the same object while nothing changes.

        Applies the configuration: changed and removed servers are closed, others keep their sessions. A
        server that can't be started is skipped and retried in a later run.
        """
        self._loop = self._loop or asyncio.get_running_loop()
        self._apply_config({name: one for name, one in configured.items() if one.enabled})
        now = self._clock()
        for server in self._servers.values():
            if server.needs_listing():
                server.listing_task, server.listing_started_at = self._start_task(server.list_tools()), now
                self._start_sweeper()
        waited_for = [
            server.listing_task
            for server in self._servers.values()
            if server.listing_task is not None and now - server.listing_started_at < self._start_wait
        ]
        if waited_for:
            await asyncio.wait(waited_for, timeout=self._start_wait)
        key = tuple((name, id(server), server.version) for name, server in self._servers.items())
        if key != self._cached[0]:
            self._cached = (key, await asyncio.to_thread(self._build_tools))
        return self._cached[1]

    async def aclose(self) -> None:
        """Close all sessions and cancel all tasks."""
        servers, self._servers = list(self._servers.values()), {}
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(server.close() for server in servers))
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _apply_config(self, wanted: Mapping[str, McpServer]) -> None:
        for name, server in list(self._servers.items()):
            if wanted.get(name) != server.config:
                del self._servers[name]
                self._start_task(server.close())
                log.info("mcp_server_dropped", server=name)
        for name, config in wanted.items():
            if name not in self._servers:
                self._servers[name] = McpServerClient(name, config, sign_ins=self.sign_ins, clock=self._clock)
        self._servers = {name: self._servers[name] for name in wanted}

    def _build_tools(self) -> McpToolSet:
        made = [tool for server in list(self._servers.values()) for tool in _convert_tools(self, server)]
        return McpToolSet(tuple(made))

    def find_client(self, server: McpServerClient) -> McpServerClient:
        """Return the client of the server whose sessions belong to the running loop."""
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return server
        return self._elsewhere.get()._share_server(server)

    def _make_sibling(self) -> McpPool:
        return McpPool(sign_ins=self.sign_ins, idle_seconds=self._idle, clock=self._clock, sleep=self._sleep)

    def _share_server(self, server: McpServerClient) -> McpServerClient:
        """Return this pool's client of a server that another loop's pool has listed."""
        known = self._servers.get(server.name)
        if known is not None and known.config == server.config:
            return known
        if known is not None:
            self._start_task(known.close())
        made = McpServerClient(server.name, server.config, sign_ins=self.sign_ins, clock=self._clock)
        self._servers[server.name] = made
        self._start_sweeper()
        return made

    def _start_task(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _start_sweeper(self) -> None:
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = self._start_task(self._close_idle_sessions())

    async def _close_idle_sessions(self) -> None:
        with suppress(asyncio.CancelledError):
            while self._servers:
                await self._sleep(min(SWEEP_SECONDS, self._idle))
                for server in list(self._servers.values()):
                    await server.close_idle(self._idle)


def _convert_tools(pool: McpPool, server: McpServerClient) -> Iterator[BaseTool]:
    if server.tools is None:
        return
    wire = import_module("agent.mcp.wire")
    taken: set[str] = set()
    own = [wire.sign_in_tool()] if server.sign_in is not None else []
    for tool in (*filter(lambda tool: server.config.offers(tool.name), server.tools), *own):
        name = _unique_tool_name(server.name, tool.name, taken)
        taken.add(name)
        leave_out = partial(server.left_out.__setitem__, tool.name)
        try:
            call = partial(_call_tool, pool, server)
            yield wire.convert_tool(tool, name=name, server=server.name, call=call, leave_out=leave_out)
        except wire.UNUSABLE as error:
            log.warning(
                "mcp_tool_left_out", tool=name, detail=f"its schema is invalid: {type(error).__name__}"
            )
            leave_out("its schema is invalid")


async def _call_tool(
    pool: McpPool, listed: McpServerClient, tool: str, arguments: dict[str, Any], report: Report
) -> Any:
    """Call the tool for the current run; the server may ask a person of its conversation."""
    server = pool.find_client(listed)
    context, step = RunContext.of(), current_step()
    if tool == SIGN_IN and server.sign_in is not None:
        return {"content": [{"type": "text", "text": await server.sign_in.ask_to_sign_in(context)}]}
    key = server.session_key(context)
    if server.live_calls is None or step is None:
        return await server.call_tool(key, tool, arguments, CallTimer(), report)
    start = partial(server.call_tool, key, tool, arguments)
    return await server.live_calls.run(step, start, report)


def _unique_tool_name(server: str, tool: str, taken: set[str]) -> str:
    """Return a unique name that all providers accept: at most 64 letters, digits, `_` and `-`."""
    whole = _UNFIT.sub("_", f"{server}_{tool}")
    if len(whole) <= NAME_LENGTH and whole not in taken:
        return whole
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{whole[: NAME_LENGTH - 9]}_{mark}"


_open: list[tuple[asyncio.AbstractEventLoop, McpPool]] = []


@asynccontextmanager
async def open_shared_pool(sign_ins: SignIns | None = None) -> AsyncIterator[None]:
    """Provide a shared pool for the lead agents of this loop that have none, while the context is open."""
    entry = (asyncio.get_running_loop(), McpPool(sign_ins=sign_ins))
    _open.append(entry)
    try:
        yield
    finally:
        _open.remove(entry)
        await entry[1].aclose()


def current_pool() -> McpPool | None:
    """Return the shared pool of the running loop, or None."""
    loop = asyncio.get_running_loop()
    return next((pool for owner, pool in reversed(_open) if owner is loop), None)
