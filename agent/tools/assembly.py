"""From configuration, MCP servers and ACP agents to the tools of an agent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog
from langchain_core.tools import BaseTool

from agent.acp.runner import AcpRunner
from agent.acp.tool import enabled_agents, make_invoke_tool
from agent.config.custom_agents import CustomAgent, check_tool_groups
from agent.config.harness import DEFERRED_TOOLS_THRESHOLD
from agent.config.models import AgentConfig
from agent.config.tool_groups import ACP_GROUP, MCP_GROUP
from agent.errors import ToolUnavailable
from agent.mcp.pool import McpToolSet
from agent.tools.loading import load_tools
from agent.tools.sandbox import sandbox_tools

log = structlog.get_logger(__name__)


def agent_tools(
    config: AgentConfig, profile: CustomAgent | None, mcp: McpToolSet, acp: AcpRunner | None = None
) -> list[BaseTool]:
    """The tools that the agent gets: those of the configuration, of ACP agents, then of MCP servers.

    An agent of one's own that names `tool_groups` gets these alone. A configured tool wins over one of the
    others that has its name. Blocking. Raises ToolUnavailable or ProfileBroken.
    """
    groups = check_tool_groups(profile, config) if profile else None
    own = load_tools(config.tools, groups)
    taken = {tool.name for tool in own}
    for tool in _of_acp(config, acp, groups):
        if tool.name not in taken:
            own.append(tool)
            taken.add(tool.name)
    if config.sandbox.enabled:
        taken |= {tool.name for tool in sandbox_tools_for(config, profile)}
    for tool in _of_groups(mcp, groups):
        if tool.name in taken:
            log.warning("mcp_tool_left_out", tool=tool.name, detail="another tool has this name")
            continue
        taken.add(tool.name)
        own.append(tool)
    return own


def sandbox_tools_for(config: AgentConfig, profile: CustomAgent | None) -> list[BaseTool]:
    """The tools of the sandbox that the agent gets, but for those that the configuration has by itself."""
    return sandbox_tools(profile.tool_groups if profile else None, [tool.name for tool in config.tools])


def beside_built_in(tools: Sequence[BaseTool], built_in: Collection[str]) -> list[BaseTool]:
    """The tools that can stand beside those of the chain: providers refuse two of one name.

    What a server calls like a built-in one is left out. Raises ToolUnavailable for a configured one.
    """
    kept: list[BaseTool] = []
    for tool in tools:
        if tool.name not in built_in:
            kept.append(tool)
        elif is_mcp(tool):
            log.warning("mcp_tool_left_out", tool=tool.name, detail="a built-in tool has this name")
        else:
            raise ToolUnavailable("has the name of a built-in one; rename it.", name=tool.name)
    return kept


def always_shown(tools: Sequence[BaseTool]) -> tuple[str, ...] | None:
    """Where tools are many, the names of those that don't come from MCP servers; None where they are few."""
    own = tuple(tool.name for tool in tools if not is_mcp(tool))
    return own if len(tools) > DEFERRED_TOOLS_THRESHOLD and len(own) < len(tools) else None


def is_mcp(tool: BaseTool) -> bool:
    """Whether a server brought it."""
    return "mcp_server" in (tool.metadata or {})


def _of_acp(config: AgentConfig, acp: AcpRunner | None, groups: Sequence[str] | None) -> list[BaseTool]:
    agents = enabled_agents(config.acp_agents)
    wanted = groups is None or ACP_GROUP in groups
    return [make_invoke_tool(acp, agents)] if acp is not None and agents and wanted else []


def _of_groups(mcp: McpToolSet, groups: Sequence[str] | None) -> Sequence[BaseTool]:
    if groups is None or MCP_GROUP in groups:
        return mcp.tools
    prefix = f"{MCP_GROUP}:"
    return mcp.select(frozenset(group.removeprefix(prefix) for group in groups if group.startswith(prefix)))
