"""`/mcp`: what the servers do, and their switches."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shared.schemas import McpServerState, McpToolInfo, ServerState
from bot.access import Role
from tests.bot.features.agent_management.test_agent_command import said
from tests.component.dispatch.bench import Bench

MANY = [McpToolInfo(name=f"tool{number}") for number in range(11)]
SERVED = (
    McpServerState(
        name="Time",
        state=ServerState.READY,
        description="Clocks.",
        tools=[McpToolInfo(name="convert"), McpToolInfo(name="now")],
    ),
    McpServerState(name="many", state=ServerState.READY, tools=MANY, detail="bad: its schema is invalid"),
    McpServerState(name="bare", state=ServerState.READY),
    McpServerState(name="lost", state=ServerState.UNAVAILABLE, detail="can't be reached."),
    McpServerState(name="slow", state=ServerState.STARTING),
    McpServerState(name="late", state=ServerState.IDLE),
    McpServerState(name="off", state=ServerState.OFF),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/mcp", ["**MCP servers**", "- `Time` is ready. Tools (2): `convert`, `now`", "`/mcp NAME on`"]),
        (
            "/mcp",
            [
                "Tools (11): `tool0`",
                "`tool7` … (+3)\n  ⚠️ Tools that can't be used: bad",
                "- `bare` is ready, but has no tools.",
            ],
        ),
        ("/mcp", ["- ⚠️ `lost` is unavailable: can't be reached.", "- `slow` is starting."]),
        ("/mcp", ["- `late` is on and will start with the next answer.", "- `off` is off."]),
        ("/mcp time", ["`Time` is ready. Tools (2)", "Clocks."]),
        ("/mcp many", ["`tool9`, `tool10`"]),
        ("/mcp `TIME` off", ["The MCP server `Time` is off. The agent can no longer use its tools"]),
        ("/mcp off ON", ["The MCP server `off` is on"]),
        ("/mcp Tiem off", ["There is no MCP server named `Tiem`. Did you mean `Time`"]),
        ("/mcp xyzzy", ["There is no MCP server named `xyzzy`. `/mcp` lists the servers."]),
        ("/mcp time maybe", ["Use `/mcp`"]),
        ("/mcp time on off", ["Use `/mcp`"]),
        ("/help mcp", ["`/mcp [NAME] [on/off]`", "starts those that are switched on"]),
    ],
)
async def test_what_it_says(at: Bench, text: str, expected: list[str]) -> None:
    at.runtime.served = SERVED
    async with at.running():
        told = await said(at, text)
    for part in expected:
        assert part in told
    assert at.runtime.runs == {}


async def test_a_switch_is_seen(at: Bench) -> None:
    at.runtime.served = SERVED
    async with at.running():
        await said(at, "/mcp Time off", "/mcp off on")
        told = await said(at, "/mcp")
    assert "- `Time` is off." in told
    assert "- `off` is on and will start" in told


@pytest.mark.parametrize(
    ("served", "down", "expected"),
    [
        ((), False, "No MCP servers are configured."),
        (None, False, "does not list MCP servers"),
        ((), True, "I can't check the MCP servers"),
    ],
)
async def test_without_any(at: Bench, served: Any, down: bool, expected: str) -> None:
    at.runtime.served, at.runtime.down = served, down
    async with at.running():
        assert expected in await said(at, "/mcp")


async def test_it_is_for_admins(at: Bench) -> None:
    at.runtime.served, at.role = SERVED, Role.MEMBER
    async with at.running():
        assert await said(at, "/mcp time off") == "Only admins can use `/mcp`."
    assert at.runtime.served == SERVED
