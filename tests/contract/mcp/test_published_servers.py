"""Servers that others made, from PyPI: time, fetch and one with a database, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from agent.errors import McpCallFailed, McpError
from tests.harness.local_server import served
from tests.harness.mcp import call, children, configured, named, pooled, turns
from tests.harness.mcp_bridge import module, over, proxied

# Their packages warn about things of their own.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def sqlite(folder: Path) -> dict[str, Any]:
    code = "import mcp_server_sqlite; mcp_server_sqlite.main()"
    return {"command": sys.executable, "args": ["-c", code, "--db-path", str(folder / "notes.db")]}


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_time(transport: str) -> None:
    program = module("mcp_server_time", "--local-timezone", "UTC")
    async with over(program, transport) as entry, pooled() as pool:
        tools = named(await pool.load_tools(configured(time=entry)))
        assert set(tools) == {"time_get_current_time", "time_convert_time"}
        text = await call(
            tools,
            "time_convert_time",
            source_timezone="UTC",
            time="12:00",
            target_timezone="Asia/Tokyo",
        )
        assert json.loads(text)["target"]["datetime"].endswith("21:00:00+09:00")
        wrong = await call(tools, "time_get_current_time", timezone="Nowhere/None")
        assert "Nowhere" in wrong or "timezone" in wrong.lower()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_fetch(transport: str) -> None:
    async def page(_: Request) -> Response:
        return HTMLResponse("<html><body><h1>Release</h1><p>It is out since noon.</p></body></html>")

    async def robots(_: Request) -> Response:
        return PlainTextResponse("User-agent: *\nAllow: /\n")

    routes = [Route("/news", page), Route("/robots.txt", robots)]
    async with (
        served(routes) as site,
        over(module("mcp_server_fetch", "--allow-private-ips"), transport) as entry,
        pooled() as pool,
    ):
        tools = named(await pool.load_tools(configured(fetch=entry)))
        text = await call(tools, "fetch_fetch", url=f"{site.base_url}/news", raw=True)
        assert "It is out since noon." in text


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_one_with_state(tmp_path: Path, transport: str) -> None:
    async with over(sqlite(tmp_path), transport) as entry, pooled() as pool:
        tools = named(await pool.load_tools(configured(db={**entry, "scope": "shared"})))
        await call(tools, "db_create_table", "a", query="CREATE TABLE notes (word TEXT)")
        await call(tools, "db_write_query", "a", query="INSERT INTO notes VALUES ('cheese')")
        assert "cheese" in await call(tools, "db_read_query", "b", query="SELECT * FROM notes")
        assert pool.servers["db"].open_sessions == 1


async def test_one_that_is_killed_in_mid_call(tmp_path: Path) -> None:
    """The program is stopped so that it can't answer, then killed while a call waits."""
    before = children()
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(db=sqlite(tmp_path))))
        await call(tools, "db_create_table", query="CREATE TABLE notes (word TEXT)")
        [pid] = children() - before
        psutil.Process(pid).suspend()
        waiting = asyncio.create_task(call(tools, "db_list_tables"))
        async with asyncio.timeout(60):
            while not any(session.active_calls for session in pool.servers["db"]._sessions.values()):
                await asyncio.sleep(0.01)
        await turns()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(McpCallFailed, match="during the call"):
            await waiting
        assert "notes" in await call(tools, "db_list_tables"), "its state is where it keeps it"


async def test_one_behind_http_that_is_killed_in_mid_call() -> None:
    program = module("mcp_server_time", "--local-timezone", "UTC")
    async with proxied(program, "http") as (entry, pid), pooled() as pool:
        tools = named(await pool.load_tools(configured(time=entry)))
        assert "UTC" in await call(tools, "time_get_current_time", timezone="UTC")
        proxy = psutil.Process(pid)
        proxy.suspend()
        waiting = asyncio.create_task(call(tools, "time_get_current_time", timezone="UTC"))
        async with asyncio.timeout(60):
            while not any(session.active_calls for session in pool.servers["time"]._sessions.values()):
                await asyncio.sleep(0.01)
        await turns()
        proxy.kill()
        with pytest.raises(McpError, match=r"during the call|can't be reached"):
            await waiting
