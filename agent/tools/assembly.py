"""Assembly of an agent's tools: configured tools, MCP servers, ACP agents and the sandbox.

`use` of an entry of `tools` names one of these; further keys of the entry are its arguments:
- a subclass of BaseTool;
- a function that is annotated to return a tool;
- a tool, or any other function (its docstring is the tool's description), without arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, get_type_hints

import structlog
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from agent.acp.runner import AcpRunner
from agent.acp.tool import enabled_agents, make_invoke_tool
from agent.config.custom_agents import CustomAgent, check_tool_groups
from agent.config.harness import DEFERRED_TOOLS_THRESHOLD, ToolEntry
from agent.config.models import ACP_GROUP, MCP_GROUP, AgentConfig
from agent.core.import_string import ImportStringError, import_object
from agent.errors import ToolUnavailable, redact_line
from agent.mcp.pool import McpToolSet
from agent.tools.sandbox import sandbox_tools

log = structlog.get_logger(__name__)


def agent_tools(
    config: AgentConfig,
    profile: CustomAgent | None,
    mcp: McpToolSet,
    acp: AcpRunner | None = None,
    web: Sequence[ToolEntry] = (),
) -> list[BaseTool]:
    """Return an agent's tools: configured ones, web tools, ACP agents and MCP servers.

    `web` are default tools; one whose package is missing is skipped. A custom agent with `tool_groups` gets
    only these groups. If two tools have the same name, the first wins. Blocks. Raises ToolUnavailable or
    ProfileBroken.
    """
    groups = check_tool_groups(profile, config) if profile else None
    own = [*load_tools(config.tools, groups), *_load_default_tools(web, groups)]
    taken = {tool.name for tool in own}
    for tool in _make_acp_tools(config, acp, groups):
        if tool.name not in taken:
            own.append(tool)
            taken.add(tool.name)
    if config.sandbox.enabled:
        taken |= {tool.name for tool in sandbox_tools_for(config, profile)}
    for tool in _select_mcp_tools(mcp, groups):
        if tool.name in taken:
            log.warning("mcp_tool_left_out", tool=tool.name, detail="another tool has this name")
            continue
        taken.add(tool.name)
        own.append(tool)
    return own


def sandbox_tools_for(config: AgentConfig, profile: CustomAgent | None) -> list[BaseTool]:
    """Return an agent's sandbox tools, except those that are configured separately."""
    return sandbox_tools(profile.tool_groups if profile else None, [tool.name for tool in config.tools])


def without_built_in(tools: Sequence[BaseTool], built_in: Collection[str]) -> list[BaseTool]:
    """Return the tools whose names differ from all built-in tools, since providers reject duplicate names.

    An MCP tool with such a name is skipped. Raises ToolUnavailable for a configured one.
    """
    usable: list[BaseTool] = []
    for tool in tools:
        if tool.name not in built_in:
            usable.append(tool)
        elif is_mcp(tool):
            log.warning("mcp_tool_left_out", tool=tool.name, detail="a built-in tool has this name")
        else:
            raise ToolUnavailable("has the same name as a built-in tool; rename it.", name=tool.name)
    return usable


def always_shown(tools: Sequence[BaseTool]) -> tuple[str, ...] | None:
    """Return the tools that are never deferred if there are too many, or None if all are shown.

    The tools of MCP servers are deferred.
    """
    own = tuple(tool.name for tool in tools if not is_mcp(tool))
    return own if len(tools) > DEFERRED_TOOLS_THRESHOLD and len(own) < len(tools) else None


def is_mcp(tool: BaseTool) -> bool:
    return "mcp_server" in (tool.metadata or {})


def _load_default_tools(entries: Sequence[ToolEntry], groups: Collection[str] | None) -> Iterator[BaseTool]:
    for entry in entries:
        try:
            yield from load_tools([entry], groups)
        except ToolUnavailable as error:
            log.warning("default_tool_left_out", tool=entry.name, detail=str(error))


def _make_acp_tools(
    config: AgentConfig, acp: AcpRunner | None, groups: Sequence[str] | None
) -> list[BaseTool]:
    agents = enabled_agents(config.acp_agents)
    wanted = groups is None or ACP_GROUP in groups
    return [make_invoke_tool(acp, agents)] if acp is not None and agents and wanted else []


def _select_mcp_tools(mcp: McpToolSet, groups: Sequence[str] | None) -> Sequence[BaseTool]:
    if groups is None or MCP_GROUP in groups:
        return mcp.tools
    prefix = f"{MCP_GROUP}:"
    return mcp.select(frozenset(group.removeprefix(prefix) for group in groups if group.startswith(prefix)))


def load_tools(entries: Iterable[ToolEntry], groups: Collection[str] | None = None) -> list[BaseTool]:
    """Load the tools of these groups (None: all groups) under their entries' names. Blocks.

    Raises ToolUnavailable, for a missing package with the command that installs it.
    """
    return [load_tool(entry) for entry in entries if groups is None or entry.group in groups]


def load_tool(entry: ToolEntry) -> BaseTool:
    """Load an entry's tool. Blocks. Raises ToolUnavailable, whose message contains no setting values."""
    try:
        found = import_object(entry.use)
    except ImportStringError as error:
        raise ToolUnavailable(f"can't be loaded: {error}", name=entry.name) from error
    try:
        tool = _make_tool(found, entry)
    except ToolUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - supervisor: a foreign class may raise anything; it is named
        detail = redact_line(f"{type(error).__name__}: {error}".splitlines()[0])
        raise ToolUnavailable(f"can't be created from {entry.use} ({detail}).", name=entry.name) from None
    return tool if tool.name == entry.name else tool.model_copy(update={"name": entry.name})


def _make_tool(found: Any, entry: ToolEntry) -> BaseTool:
    keys = entry.extra_arguments()
    if isinstance(found, type) and issubclass(found, BaseTool):
        made: Any = found(**keys)
    elif callable(found) and not isinstance(found, type | BaseTool) and _makes_tools(found):
        made = found(**keys)
    elif keys:
        raise ToolUnavailable(
            f"accepts no other keys, because {entry.use} is already a tool: "
            f"remove {', '.join(sorted(keys))}.",
            name=entry.name,
        )
    elif inspect.isroutine(found):
        made = as_tool(found)
    else:
        made = found
    if not isinstance(made, BaseTool):
        kind = type(made).__name__
        raise ToolUnavailable(f"is not a tool: {entry.use} has the type {kind}.", name=entry.name)
    return made


def _makes_tools(function: Callable[..., Any]) -> bool:
    try:
        returned = get_type_hints(function).get("return")
    except (NameError, TypeError):
        return False
    return isinstance(returned, type) and issubclass(returned, BaseTool)
