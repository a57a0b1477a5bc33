"""Servers that support only the protocol version 2026-07-28, and detection of older ones."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langchain_core.tools import BaseTool
from structlog.testing import capture_logs

from agent.errors import McpCallFailed
from agent.mcp import client_session
from agent.mcp.pool import McpPool
from roebot_testing.agent import ToolUse
from tests.contract.mcp.test_conversation import Chat
from tests.harness.broker import forked_command
from tests.harness.mcp import call, children, configured, forked_entry, named, pooled, serve_forked, served
from tests.harness.mcp_old import RESPONSES, STATUSES

BOTH = ["stdio", "http"]


@asynccontextmanager
async def offered(transport: str, **more: Any) -> AsyncIterator[tuple[dict[str, BaseTool], McpPool]]:
    async with served("mcp_stateless", transport) as entry, pooled() as pool:
        yield named(await pool.load_tools(configured(new={**entry, **more}))), pool


async def until_changed(pool: McpPool) -> None:
    async with asyncio.timeout(20):
        while not pool.servers["new"].needs_listing():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("transport", BOTH)
async def test_tools_are_called_without_a_session(transport: str) -> None:
    with capture_logs() as logs:
        async with offered(transport) as (tools, _):
            left_out = [one["tool"] for one in logs if one["event"] == "mcp_tool_left_out"]
            assert left_out == (["wrong"] if transport == "http" else []), "its header mark is invalid"
            assert {"new_add", "new_what_happened", "new_read_resource", "new_get_prompt"} <= set(tools)
            assert await call(tools, "new_add", a=1, b=2) == "3[1, null]"
            assert await call(tools, "new_add", "other", a=2, b=2) == "4[1, null]"
            assert await call(tools, "new_fail") == "no such thing"
            assert "Review it." in await call(tools, "new_get_prompt", name="review")
            assert await call(tools, "new_work") == "worked"


@pytest.mark.parametrize("transport", BOTH)
async def test_arguments_are_sent_in_headers(transport: str) -> None:
    async with offered(transport) as (tools, _):
        arguments = {"region": " Zürich\n", "deep": {"big": True}}
        assert '"big": true' in await call(tools, "new_headed", **arguments)
        assert await call(tools, "new_headed") == "{}"
        await call(tools, "new_move")
        assert "region" in await call(tools, "new_headed", **arguments), "the tools are listed again"


@pytest.mark.parametrize("transport", BOTH)
@pytest.mark.parametrize(
    ("tool", "questions", "result"),
    [
        ("order", [("size", "large")], "large"),
        ("order", [("size", "Don't answer")], "decline"),
        ("twice", [("Question 1?", "Continue"), ("Question 2?", "Continue")], "accept"),
        ("both", [("A?", "Continue"), ("B?", "Don't answer")], "accept decline"),
        ("link", [("Open this link: https://example.com/x", "Done")], "accept"),
        ("job", [("size", "small")], "printed small"),
    ],
)
async def test_a_call_is_repeated_with_the_answers_of_a_person(
    transport: str, tool: str, questions: list[tuple[str, str]], result: str
) -> None:
    async with offered(transport) as (tools, _):
        chat = Chat(tools)
        found = await chat.ask(ToolUse(f"new_{tool}"))
        for question, answer in questions:
            assert question in found
            found = await chat.answer(answer)
        assert found == result


async def test_reading_a_resource_can_ask_a_person() -> None:
    async with offered("http") as (tools, _):
        chat = Chat(tools)
        assert "Which page?" in await chat.ask(ToolUse("new_read_resource", {"uri": "notes://tödäy"}))
        assert "Buy cheese." in await chat.answer("Continue")


@pytest.mark.parametrize("transport", BOTH)
@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("later", "late"),
        ("think", "The server reported an error: Missing capability: sampling"),
        ("failing_job", "The server reported an error: no paper"),
    ],
)
async def test_results_and_errors_without_a_question(transport: str, tool: str, result: str) -> None:
    async with offered(transport) as (tools, _):
        assert await call(tools, f"new_{tool}") == result


@pytest.mark.parametrize(
    ("tool", "why"), [("rude", "asks for sampling/createMessage"), ("odd", r"unknown kind \(strange\)")]
)
async def test_unsupported_results_are_named(tool: str, why: str) -> None:
    async with offered("stdio") as (tools, _):
        with pytest.raises(McpCallFailed, match=why):
            await call(tools, f"new_{tool}")


@pytest.mark.parametrize("transport", BOTH)
async def test_a_shared_server_cannot_ask(transport: str) -> None:
    async with offered(transport, scope="shared") as (tools, _):
        assert await call(tools, "new_order") == (
            "The server reported an error: Missing capability: elicitation"
        )


@pytest.mark.parametrize("transport", BOTH)
async def test_changed_tools_are_listed_again(transport: str) -> None:
    async with offered(transport) as (tools, pool):
        assert await call(tools, "new_grow") == "grown"
        await until_changed(pool)
        entry = {"new": pool.servers["new"].config}
        assert "new_extra" in named(await pool.load_tools(entry))


@pytest.mark.parametrize("transport", BOTH)
async def test_a_call_that_times_out_is_canceled_on_the_server(transport: str) -> None:
    async with offered(transport, timeout_seconds=1) as (tools, _):
        with pytest.raises(McpCallFailed, match="within 1 seconds"):
            await call(tools, "new_hang")
        async with asyncio.timeout(20):
            while await call(tools, "new_what_happened") != "stopped":
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("tool", ["crash", "drop"])
async def test_a_program_that_exits_is_restarted(tool: str) -> None:
    async with offered("stdio") as (tools, _):
        first = await call(tools, "new_pid")
        with pytest.raises(McpCallFailed, match="during the call"):
            await call(tools, f"new_{tool}")
        assert await call(tools, "new_pid") != first


async def test_a_server_restarts_while_a_person_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process continues the call, and its changes are received, too."""
    monkeypatch.setattr(client_session, "LISTEN_PAUSE_SECONDS", 0.05)
    async with pooled() as pool:
        with serve_forked("mcp_stateless", "http") as (port, _):
            entry = configured(new={"url": f"http://127.0.0.1:{port}/mcp"})
            tools = named(await pool.load_tools(entry))
            chat = Chat(tools)
            assert "size" in await chat.ask(ToolUse("new_order"))
        with serve_forked("mcp_stateless", "http", str(port)):
            assert await chat.answer("small") == "small"
            assert await call(tools, "new_what_happened") == "ordered"
            await pool.load_tools(entry)
            await call(tools, "new_grow")
            async with asyncio.timeout(20):
                while "new_extra" not in named(await pool.load_tools(entry)):
                    await asyncio.sleep(0.05)


async def test_a_program_is_killed_while_a_person_is_asked() -> None:
    before = children()
    async with offered("stdio") as (tools, pool):
        chat = Chat(tools)
        assert "size" in await chat.ask(ToolUse("new_order"))
        [pid] = children() - before
        os.kill(pid, signal.SIGKILL)
        await until_changed(pool)
        assert await chat.answer("small") == "small"
        assert children() - before != {pid}


async def test_closing_a_program_logs_no_error() -> None:
    with capture_logs() as logs:
        async with offered("stdio") as (tools, _):
            assert await call(tools, "new_add", a=1, b=2) == "3[1, null]"
    assert [one for one in logs if one["event"] == "mcp_session_ended"] == []


META = "io.modelcontextprotocol/"
FIELDS = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "pid",
}
OLD = {**FIELDS, f"{META}protocolVersion": "2025-11-25"}


@pytest.mark.parametrize(
    ("method", "headers", "meta", "status", "code"),
    [
        ("tools/call", {}, FIELDS, 200, None),
        ("tools/call", {"Mcp-Method": "tools/list"}, FIELDS, 400, -32020),
        ("tools/call", {"Mcp-Name": "add"}, FIELDS, 400, -32020),
        ("tools/call", {"Mcp-Name": ""}, FIELDS, 400, -32020),
        ("tools/call", {"MCP-Protocol-Version": "2025-11-25"}, FIELDS, 400, -32020),
        ("tools/call", {"MCP-Protocol-Version": "2025-11-25"}, OLD, 400, -32022),
        ("tools/call", {"Mcp-Session-Id": "1"}, FIELDS, 400, -32600),
        ("tools/call", {"Accept": "application/json"}, FIELDS, 400, -32600),
        ("tools/call", {}, {f"{META}protocolVersion": "2026-07-28"}, 400, -32602),
        ("initialize", {"Mcp-Method": "initialize"}, FIELDS, 400, -32601),
        ("ping", {"Mcp-Method": "ping"}, FIELDS, 404, -32601),
    ],
)
async def test_the_test_server_rejects_invalid_requests(
    method: str, headers: dict[str, str], meta: dict[str, Any], status: int, code: int | None
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "pid", "_meta": meta}}
    with serve_forked("mcp_stateless", "http") as (port, _):
        async with httpx.AsyncClient(trust_env=False) as http:
            url = f"http://127.0.0.1:{port}/mcp"
            found = await http.post(url, json=message, headers={**HEADERS, **headers})
            assert (found.status_code, found.json().get("error", {}).get("code")) == (status, code)
            assert (await http.get(url)).status_code == 405


async def test_simultaneous_conversations_detect_an_old_server() -> None:
    with serve_forked("mcp_old", "http", "early") as (port, _):
        async with pooled() as pool:
            entry = configured(old={"url": f"http://127.0.0.1:{port}/mcp"})
            tools = named(await pool.load_tools(entry))
            pool.servers["old"]._era.is_stateless = None
            calls = [call(tools, "old_hello", f"thread {number}") for number in range(5)]
            assert await asyncio.gather(*calls) == ["hello"] * 5


@pytest.mark.parametrize(
    ("versions", "why"),
    [("2027-01-01,2027-05-05", "only protocol versions that Roebot doesn't (2027-01-01, 2027-05-05)")],
)
async def test_unknown_versions_are_named(versions: str, why: str) -> None:
    async with pooled() as pool:
        entry = {**forked_entry("mcp_stateless"), "env": {"MCP_TEST_VERSIONS": versions}}
        await pool.load_tools(configured(new=entry))
        assert why in pool.servers["new"].problem


@pytest.mark.parametrize("kind", [*RESPONSES, "slow"])
async def test_an_old_program_is_detected_by_any_response(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_session, "SILENT_SECONDS", 0.3)
    command, *arguments = forked_command("tests.harness.mcp_old", "stdio", kind)
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(old={"command": command, "args": arguments})))
        if kind == "slow":
            assert await call(tools, "old_add", a=1, b=1) == "2[1, null]"
        else:
            assert await call(tools, "old_hello") == "hello"


@pytest.mark.parametrize(
    "kind", [*(kind for kind in RESPONSES if kind not in ("noise", "dies")), *STATUSES, "hangs"]
)
async def test_an_old_server_is_detected_by_any_response(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_session, "PROBE_SECONDS", 1.0)
    with serve_forked("mcp_old", "http", kind) as (port, _):
        async with pooled() as pool:
            tools = named(await pool.load_tools(configured(old={"url": f"http://127.0.0.1:{port}/mcp"})))
            assert await call(tools, "old_hello") == "hello"
