"""Messages of the protocol version 2026-07-28, which has no sessions and no `initialize`.

Each request carries the version and the client's capabilities in `_meta` (basic/index, `_meta`); over HTTP,
its headers repeat parts of it (basic/transports/streamable-http, Request Metadata).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp import types as protocol
from mcp.shared.exceptions import McpError
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import RootModel, ValidationError

from agent.errors import McpUnavailable

VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
LISTEN = "subscriptions/listen"
DISCOVER = "server/discover"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
_STATELESS_ONLY = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
_META = "io.modelcontextprotocol/"
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN = re.compile(r"([!-~]([ -~]*[!-~])?)?")
_PRIMITIVE = frozenset({"string", "integer", "boolean"})
Path = tuple[str, ...]


class RawRequest(RootModel[dict[str, Any]]):
    """A request in any form, with `method` and `params`."""


class RawResult(RootModel[dict[str, Any]]):
    """A result as the server sent it, in any form."""


@dataclass(slots=True)
class Era:
    """Protocol era of a server: with sessions, or stateless (2026-07-28). None: unknown."""

    is_stateless: bool | None = None


@dataclass(slots=True)
class HeaderParameters:
    """Header names of arguments marked with `x-mcp-header`, by tool and path of the argument."""

    of_tools: dict[str, Mapping[Path, str]] = field(default_factory=dict)


def stamp(request: protocol.Request[Any, Any] | RawRequest, *, can_ask: bool) -> RawRequest:
    """Return a request with the version, name and capabilities of the client in `_meta`.

    `can_ask`: a person can answer elicitations.
    """
    data = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    params = data.get("params") or {}
    capabilities: dict[str, Any] = {"extensions": {TASKS: {}}}
    if can_ask:
        capabilities["elicitation"] = {"form": {}, "url": {}}
    meta = {
        **(params.get("_meta") or {}),
        f"{_META}protocolVersion": VERSION,
        f"{_META}clientInfo": {"name": "roebot", "version": "1"},
        f"{_META}clientCapabilities": capabilities,
    }
    return RawRequest({**data, "params": {**params, "_meta": meta}})


def build_headers(message: Mapping[str, Any], parameters: HeaderParameters) -> dict[str, str]:
    """Return the headers of a JSON-RPC request for Streamable HTTP."""
    method, params = message["method"], message.get("params") or {}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    if method in _NAMED:
        headers["Mcp-Name"] = _encode(str(params.get(_NAMED[method])))
    if method == "tools/call":
        for path, name in parameters.of_tools.get(params["name"], {}).items():
            value = _find_value(params.get("arguments"), path)
            if isinstance(value, bool):
                headers[f"Mcp-Param-{name}"] = str(value).lower()
            elif isinstance(value, str | int | float):
                headers[f"Mcp-Param-{name}"] = _encode(str(value))
    return headers


def find_header_parameters(schema: object) -> dict[Path, str]:
    """Return the header names in a tool's input schema, by path of the argument.

    Raises ValueError for invalid marks: the tool must then be left out.
    """
    result: dict[Path, str] = {}
    for path, entry in _find_marked(schema, ()):
        name = entry["x-mcp-header"]
        if not path or not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError("x-mcp-header has an invalid name or is in an unsupported place")
        if str(entry.get("type")) not in _PRIMITIVE or name.lower() in map(str.lower, result.values()):
            raise ValueError(
                f"x-mcp-header {name} is not on a string, integer or boolean, or is used more than once"
            )
        result[path] = name
    return result


def read_discovery(result: Mapping[str, Any], server: str) -> protocol.ServerCapabilities | None:
    """Return the server's capabilities, or None if it needs a session. Raises McpUnavailable."""
    if not _speaks(result.get("supportedVersions"), server):
        return None
    try:
        return protocol.ServerCapabilities.model_validate(result.get("capabilities") or {})
    except ValidationError:
        return protocol.ServerCapabilities()


def check_refusal(error: McpError, server: str) -> None:
    """Raise McpUnavailable if an error in response to `server/discover` rules out a server with sessions."""
    code, data = error.error.code, error.error.data
    if code == UNSUPPORTED_VERSION:
        _speaks(data.get("supported") if isinstance(data, Mapping) else None, server)
    elif code in _STATELESS_ONLY:
        raise McpUnavailable(f"can't be used: it reports {error.error.message}", server=server)


def _speaks(versions: object, server: str) -> bool:
    """Return whether a server's versions include `VERSION`. Raises McpUnavailable if none is supported."""
    listed = [one for one in versions if isinstance(one, str)] if isinstance(versions, list) else []
    if VERSION in listed:
        return True
    if listed and not set(listed) & set(SUPPORTED_PROTOCOL_VERSIONS):
        words = ", ".join(listed)[:200]
        raise McpUnavailable(
            f"can't be used: it supports only protocol versions that Roebot doesn't ({words})",
            server=server,
        )
    return False


def _find_marked(schema: object, path: Path | None) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Yield all marked schemas with their path; None if it leads through anything but `properties`."""
    if isinstance(schema, list):
        for one in schema:
            yield from _find_marked(one, None)
    if not isinstance(schema, Mapping):
        return
    if "x-mcp-header" in schema:
        yield path, schema
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
            for name, entry in value.items():
                is_reachable = key == "properties" and path is not None
                yield from _find_marked(entry, (*path, name) if is_reachable and path is not None else None)
        elif key not in ("default", "const", "enum", "examples"):
            yield from _find_marked(value, None)


def _find_value(arguments: object, path: Path) -> object:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _encode(value: str) -> str:
    """Return a header value, in Base64 unless it is printable ASCII without outer spaces (Value Encoding)."""
    is_marked = value.startswith("=?base64?") and value.endswith("?=")
    if _PLAIN.fullmatch(value) and not is_marked:
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="
