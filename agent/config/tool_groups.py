"""Tool groups that a custom agent can select."""

from __future__ import annotations

from collections.abc import Iterable

from agent.config.models import AgentConfig

ACP_GROUP = "acp"
"""The group of the tool that runs tasks on external agents."""
MCP_GROUP = "mcp"
"""The group of all MCP tools; those of one server are in `mcp:<server>`."""
SANDBOX_GROUPS = BASH, READ, WRITE = ("bash", "file:read", "file:write")
"""The groups of the sandbox's tools."""


def known_groups(config: AgentConfig) -> list[str]:
    """Return the configured groups, sorted. Groups of single MCP servers are not included."""
    known = {tool.group for tool in config.tools} | {group.name for group in config.tool_groups}
    known |= set(SANDBOX_GROUPS) if config.sandbox.enabled else set()
    known |= {ACP_GROUP} if config.acp_agents else set()
    return sorted(known)


def unknown_groups(groups: Iterable[str], config: AgentConfig) -> list[str]:
    """Return the groups that are not configured."""
    known = known_groups(config)
    return [group for group in groups if group not in known and group.partition(":")[0] != MCP_GROUP]
