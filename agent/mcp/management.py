"""What the management methods and routes do with the configuration of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.config.errors import ConfigErrors
from agent.config.extensions import McpServer
from agent.errors import Invalid
from agent.extensions.file import Loaded
from agent.extensions.source import ExtensionsSource
from agent.mcp.masking import left_hidden, restored, shown
from agent.results import McpConfig, McpServerInfo

_PLACES = ("command", "url", "type")
Json = dict[str, Any]


class McpManagement:
    """Reads and replaces the servers of `extensions_config.json`."""

    def __init__(self, extensions: ExtensionsSource) -> None:
        self._extensions = extensions

    async def config(self) -> McpConfig:
        """All servers; secrets are hidden."""
        return _config(await self._extensions.loaded())

    async def update(self, servers: Mapping[str, Any]) -> McpConfig:
        """Put these in the place of all servers. What is sent back as it was shown stays as it is.

        Raises Invalid for what does not fit, and for a hidden value that stands for nothing; then nothing
        is changed.
        """
        before = _config(await self._extensions.loaded())

        def change(data: Json) -> None:
            stored = data.get("mcpServers") or {}
            data["mcpServers"] = {
                name: _merged(name, server, stored.get(name), before.mcp_servers.get(name))
                for name, server in servers.items()
            }

        try:
            return _config(await self._extensions.change(change))
        except ConfigErrors as error:
            raise Invalid("; ".join(str(error).splitlines())) from error


def _config(loaded: Loaded) -> McpConfig:
    stored: Mapping[str, Any] = loaded.data.get("mcpServers") or {}
    return McpConfig(
        mcp_servers={
            name: _info(stored.get(name) or {}, server) for name, server in loaded.config.mcpServers.items()
        }
    )


def _info(stored: Mapping[str, Any], server: McpServer) -> McpServerInfo:
    hidden = {key: value for key, value in shown(stored).items() if value is not None}
    plain = server.model_dump(include={"enabled", "scope", "timeout_seconds", "start_seconds"})
    return McpServerInfo.model_validate({**hidden, **plain, "type": server.transport})


def _merged(name: str, new: Any, stored: Json | None, before: McpServerInfo | None) -> Any:
    """The entry to store: of what was shown and comes back, what is stored; of defaults, nothing."""
    if not isinstance(new, Mapping):
        return new
    seen = before.model_dump() if before is not None and stored is not None else {}
    stored = stored or {}
    defaults = McpServerInfo(type=str(new.get("type") or "stdio")).model_dump()
    if any(new.get(key, seen.get(key)) != seen.get(key) for key in _PLACES):
        # A secret goes nowhere else than where it was meant to go.
        seen = {
            key: value for key, value in seen.items() if key not in {"env", "headers", "oauth", "args", "url"}
        }
    result: Json = {}
    for key, value in new.items():
        if key in seen and value == seen[key] and key not in stored:
            continue
        if key in seen and key in stored:
            result[key] = restored(value, stored[key], seen[key])
        elif key == "type" or value != defaults.get(key, ...):
            result[key] = value
    if place := left_hidden(result, f"mcp_servers.{name}"):
        raise Invalid(
            f"{place}: a hidden value stands for nothing here (it is kept only while command, url and type "
            "stay as they are); write it out, or as $NAME"
        )
    return result
