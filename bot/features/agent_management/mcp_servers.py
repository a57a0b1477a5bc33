"""`/mcp`: list the MCP servers with their tools, and turn them on or off."""

from __future__ import annotations

from collections.abc import Sequence

from agent.shared.schemas import McpServerState, ServerState
from bot.access import Permission
from bot.commands.registry import SWITCH, Invocation, Result, nearest, nearest_line
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.texts import Texts

TOOLS_SHOWN = 8
"""Maximum number of tools per server in the list of all servers."""


async def mcp(call: Invocation) -> Result:
    """List the servers with state and tools, show one, or turn one on or off."""
    texts = call.texts
    wanted = SWITCH.get(call.words[1].lower()) if len(call.words) == 2 else None
    if len(call.words) > 2 or (len(call.words) == 2 and wanted is None):
        return Result(texts("mcp_usage"))
    try:
        found = (await call.core.runtime.management.list_mcp_servers()).servers
    except RuntimeRefused:
        return Result(texts("mcp_unlisted"))
    except RuntimeProblem:
        return Result(texts("mcp_unreachable"))
    return await _show_or_switch(call, found, wanted) if call.words else Result(_list_servers(texts, found))


async def _show_or_switch(call: Invocation, found: Sequence[McpServerState], wanted: bool | None) -> Result:
    texts, name = call.texts, call.words[0].strip("`")
    one = next((server for server in found if server.name.lower() == name.lower()), None)
    if one is None:
        near = nearest(name, [server.name for server in found])
        return Result(texts("mcp_unknown", name=name, nearest=nearest_line(texts, near, mark="")))
    if wanted is None:
        return Result(
            "\n\n".join(filter(None, [_server_line(texts, one, most=len(one.tools)), one.description]))
        )
    if not call.may(Permission.EXTEND):
        return Result(texts("all_accounts_only", name=call.name), refused=True)
    await call.core.runtime.management.switch_mcp_server(one.name, wanted)
    return Result(texts("mcp_on" if wanted else "mcp_off", name=one.name))


def _list_servers(texts: Texts, found: Sequence[McpServerState]) -> str:
    if not found:
        return texts("mcp_none")
    lines = [f"- {_server_line(texts, one, most=TOOLS_SHOWN)}" for one in found]
    return "\n".join([texts("mcp_title"), "", *lines, "", texts("mcp_hint")])


def _server_line(texts: Texts, one: McpServerState, most: int) -> str:
    """Format name and state, then the tools of a ready server and problems with others, or its error."""
    if one.state is ServerState.READY:
        if not one.tools:
            return texts("mcp_ready_bare", name=one.name)
        problem = "\n  " + texts("mcp_left_out", reason=one.detail) if one.detail else ""
        tools = texts("list_separator").join(f"`{tool.name}`" for tool in one.tools[:most])
        more = "" if len(one.tools) <= most else f" … (+{len(one.tools) - most})"
        return texts("mcp_ready", name=one.name, count=len(one.tools), tools=f"{tools}{more}") + problem
    if one.state is ServerState.UNAVAILABLE:
        return texts("mcp_unavailable", name=one.name, reason=one.detail or "")
    return texts(f"mcp_{one.state.value}_now", name=one.name)
