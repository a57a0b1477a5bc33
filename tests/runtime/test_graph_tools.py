"""Graphs as tools of the Model Context Protocol, called by the client of the package mcp."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

from agent.runtime.settings import ProjectSettings
from agent.shared.tls import tls_context
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block


@asynccontextmanager
async def connected(served: Served, **headers: str) -> AsyncIterator[ClientSession]:
    """A session of the official client."""
    found = {"x-api-key": served.token, **headers}
    async with (
        httpx.AsyncClient(headers=found, verify=tls_context(), timeout=30) as http,
        streamable_http_client(f"{served.url}/mcp", http_client=http) as (read, write, _),
        ClientSession(read, write) as at,
    ):
        await at.initialize()
        yield at


async def test_assistants_are_tools_with_the_schemas_of_their_inputs(served: Served) -> None:
    made = await served.client.assistants.create(
        "gated", name="My own: tool?", description="It is mine", if_exists="do_nothing"
    )
    async with connected(served) as session:
        await session.send_ping()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert {"chat", "gated", "asking", "My_own_tool"} <= tools.keys()
    assert (tools["My_own_tool"].title, tools["My_own_tool"].description) == (made["name"], "It is mine")
    assert tools["gated"].description
    schema = tools["gated"].inputSchema
    assert schema["type"] == "object"
    assert schema["properties"]["ask"]["type"] == "string"
    # Messages are one text, so that the schema stays short.
    assert tools["chat"].inputSchema["properties"]["messages"]["type"] == "string"
    assert "$defs" not in tools["chat"].inputSchema


async def test_a_call_runs_the_graph_and_leaves_no_thread(served: Served) -> None:
    graphs.gate("x").set()
    async with connected(served) as session:
        result = await session.call_tool("gated", {"ask": "x"})
        said = await session.call_tool("chat", {"messages": "hello"})
    assert not result.isError
    [content] = result.content
    assert json.loads(content.text)["log"] == ["first x", "second x"]  # type: ignore[union-attr]
    assert json.loads(said.content[0].text)["messages"][0]["content"] == "hello"  # type: ignore[union-attr]
    assert await served.client.threads.search() == []


async def test_calls_at_the_same_time_have_sessions_of_their_own(served: Served) -> None:
    async with connected(served) as one, connected(served) as other:
        calls = [
            asyncio.create_task(at.call_tool("gated", {"ask": name}))
            for at, name in ((one, "a"), (other, "b"))
        ]
        for name in "ab":
            await graphs.arrived(name).wait()
        for name in "ba":
            graphs.gate(name).set()
        results = await asyncio.gather(*calls)
    assert [json.loads(found.content[0].text)["log"][0] for found in results] == ["first a", "first b"]  # type: ignore[union-attr]


async def test_failures_of_the_graph_and_unknown_tools_are_told_apart(served: Served) -> None:
    async with connected(served) as session:
        result = await session.call_tool("failing", {})
        with pytest.raises(McpError, match="Unknown tool: nobody") as caught:
            await session.call_tool("nobody", {})
    assert caught.value.error.code == -32602
    assert result.isError
    text = result.content[0].text  # type: ignore[union-attr]
    assert text.startswith("ValueError: it broke")
    assert "sk-abcdefghijklmnop1234" not in text


async def test_an_open_interrupt_is_in_the_result(served: Served) -> None:
    async with connected(served) as session:
        result = await session.call_tool("asking", {})
    found = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert found["__interrupt__"][0]["value"] == {"question": "which?"}


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202)],
)
async def test_other_messages(served: Served, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    assert (await served.http.post("/mcp", content=body, headers=headers)).status_code == status
    assert (await served.http.get("/mcp")).status_code == 405


async def test_it_needs_the_token_and_can_be_disabled(served: Served, tmp_path: Path) -> None:
    assert (await served.http.post("/mcp", json={}, headers={"x-api-key": "wrong"})).status_code == 401
    options: Any = {"project": ProjectSettings(disabled=frozenset({"mcp"}))}
    async with serve(tmp_path / "other", settings=options) as other:
        assert (await other.http.post("/mcp", json={})).status_code == 404
