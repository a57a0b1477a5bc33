"""Entries that MCP servers publish for other clients, so that they can be copied unchanged.

Cline has `"type": "streamableHttp"`, `disabled`, `autoApprove` and `timeout` (docs.cline.bot/mcp); Roo Code
and Kilo Code `"type": "streamable-http"`, `cwd`, `disabled`, `alwaysAllow` and `timeout` (docs.roocode.com/
features/mcp/using-mcp-in-roo, kilo.ai/docs/automate/mcp/using-in-cli); Gemini CLI `httpUrl` and `trust`;
Windsurf `serverUrl`; FastMCP and LangChain `transport`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IGNORED = frozenset({"alwaysAllow", "autoApprove", "trust", "timeout"})
"""Keys that mean nothing here: approvals have their own rules, and clients disagree on the unit of times."""
_OTHER_NAMES = {"transport": "type", "httpUrl": "url", "serverUrl": "url"}
_HTTP = frozenset({"streamable-http", "streamable_http", "streamablehttp"})


def with_own_keys(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's entry with other clients' keys replaced by those of
    `agent.config.extensions.McpServer`.

    A key that contradicts another one stays, and is an unknown key then.
    """
    found = {key: value for key, value in entry.items() if key not in IGNORED}
    for other, own in _OTHER_NAMES.items():
        if other in found and found.get(own, found[other]) == found[other]:
            found[own] = found.pop(other)
    if isinstance(kind := found.get("type"), str) and kind.lower() in _HTTP:
        found["type"] = "http"
    disabled = found.get("disabled")
    if isinstance(disabled, bool) and found.get("enabled", not disabled) is not disabled:
        del found["disabled"]
        found["enabled"] = not disabled
    return found


def ignored_keys(entry: Mapping[str, Any]) -> list[str]:
    """Return the entry's keys that are ignored."""
    return sorted(IGNORED & entry.keys())


def translate_servers(servers: object) -> object:
    """Return the value of `mcpServers` with this product's keys; anything but a mapping is unchanged."""
    if not isinstance(servers, Mapping):
        return servers
    return {
        name: with_own_keys(entry) if isinstance(entry, Mapping) else entry for name, entry in servers.items()
    }
