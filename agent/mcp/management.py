"""What the management methods and routes do with MCP servers: their configuration, how they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent.config.errors import ConfigErrors
from agent.config.extensions import McpServer
from agent.config.extensions_file import LoadedExtensions
from agent.config.extensions_source import ExtensionsSource
from agent.core.schemas import McpConfig, McpServerInfo, McpServerList, McpServerState, McpToolInfo
from agent.errors import Invalid, NotFound
from agent.mcp.masking import find_masked, mask_secrets, restore_secrets
from agent.mcp.pool import McpPool
from agent.mcp.process import current_pool
from agent.mcp.server import McpServerClient

_TARGET_KEYS = ("command", "url", "type")
Json = dict[str, Any]


class McpManagement:
    """Reads, replaces and switches the servers of `extensions_config.json`.

    `pool` gives what runs them, on the loop that asks; None where nothing does.
    """

    def __init__(
        self, extensions: ExtensionsSource, pool: Callable[[], McpPool | None] = current_pool
    ) -> None:
        self._extensions, self._pool = extensions, pool

    async def load_config(self) -> McpConfig:
        """All servers; secrets are hidden."""
        return _build_config(await self._extensions.get_loaded())

    async def replace_servers(self, servers: Mapping[str, Any]) -> McpConfig:
        """Put these in the place of all servers. What is sent back as it was shown stays as it is.

        Raises Invalid for what does not fit, and for a hidden value that stands for nothing; then nothing
        is changed.
        """
        before = _build_config(await self._extensions.get_loaded())

        def change(data: Json) -> None:
            stored = data.get("mcpServers") or {}
            data["mcpServers"] = {
                name: _merge_entry(name, server, stored.get(name), before.mcp_servers.get(name))
                for name, server in servers.items()
            }

        try:
            return _build_config(await self._extensions.change_file(change))
        except ConfigErrors as error:
            raise Invalid("; ".join(str(error).splitlines())) from error

    async def list_servers(self) -> McpServerList:
        """How they do. Those that are on are started where they are not, and waited for as a run waits."""
        configured = (await self._extensions.get_extensions()).mcpServers
        pool = self._pool()
        if pool is not None:
            await pool.load_tools(configured)
        running = pool.servers if pool is not None else {}
        return McpServerList(
            servers=[_describe_server(name, server, running.get(name)) for name, server in configured.items()]
        )

    async def set_enabled(self, name: str, *, enabled: bool) -> McpServerState:
        """Switch one on or off.

        Raises NotFound, and Invalid where it can't be on as it is configured.
        """
        if name not in (await self._extensions.get_extensions()).mcpServers:
            raise NotFound(f'There is no MCP server named "{name[:64]}".')

        def change(data: Json) -> None:
            servers = data.get("mcpServers") or {}
            data["mcpServers"] = {**servers, name: {**(servers.get(name) or {}), "enabled": enabled}}

        try:
            loaded = await self._extensions.change_file(change)
        except ConfigErrors as error:
            raise Invalid("; ".join(str(error).splitlines())) from error
        return _describe_server(name, loaded.config.mcpServers[name], None)


def _describe_server(name: str, configured: McpServer, server: McpServerClient | None) -> McpServerState:
    tools = [
        McpToolInfo(name=str(tool.name), description=" ".join(str(tool.description or "").split()))
        for tool in (server.tools or () if server is not None and configured.enabled else ())
    ]
    state = _server_state(configured, server)
    detail = server.problem if server is not None and state == "unavailable" else None
    return McpServerState(
        name=name, state=state, description=configured.description, detail=detail or None, tools=tools
    )


def _server_state(configured: McpServer, server: McpServerClient | None) -> str:
    if not configured.enabled:
        return "off"
    if server is None:
        return "idle"
    if server.problem:
        return "unavailable"
    return "starting" if server.tools is None else "ready"


def _build_config(loaded: LoadedExtensions) -> McpConfig:
    stored: Mapping[str, Any] = loaded.data.get("mcpServers") or {}
    return McpConfig(
        mcp_servers={
            name: _mask_entry(stored.get(name) or {}, server)
            for name, server in loaded.config.mcpServers.items()
        }
    )


def _mask_entry(stored: Mapping[str, Any], server: McpServer) -> McpServerInfo:
    hidden = {key: value for key, value in mask_secrets(stored).items() if value is not None}
    plain = server.model_dump(include={"enabled", "scope", "timeout_seconds", "start_seconds"})
    return McpServerInfo.model_validate({**hidden, **plain, "type": server.transport})


def _merge_entry(name: str, new: Any, stored: Json | None, before: McpServerInfo | None) -> Any:
    """The entry to store: of what was shown and comes back, what is stored; of defaults, nothing."""
    if not isinstance(new, Mapping):
        return new
    seen = before.model_dump() if before is not None and stored is not None else {}
    stored = stored or {}
    defaults = McpServerInfo(type=str(new.get("type") or "stdio")).model_dump()
    if any(new.get(key, seen.get(key)) != seen.get(key) for key in _TARGET_KEYS):
        # A secret goes nowhere else than where it was meant to go.
        seen = {
            key: value for key, value in seen.items() if key not in {"env", "headers", "oauth", "args", "url"}
        }
    result: Json = {}
    for key, value in new.items():
        if key in seen and value == seen[key] and key not in stored:
            continue
        if key in seen and key in stored:
            result[key] = restore_secrets(value, stored[key], seen[key])
        elif key == "type" or value != defaults.get(key, ...):
            result[key] = value
    if place := find_masked(result, f"mcp_servers.{name}"):
        raise Invalid(
            f"{place}: a hidden value stands for nothing here (it is kept only while command, url and type "
            "stay as they are); write it out, or as $NAME"
        )
    return result
