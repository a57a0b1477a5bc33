"""Manage MCP servers: read and replace their configuration without showing secrets, and report their state.

Secrets are shown as `***`. A masked value that is sent back unchanged keeps the stored one. `$NAME`
references are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent.config.env import VARIABLE
from agent.config.errors import ConfigErrors
from agent.config.extensions import McpServer
from agent.config.extensions_file import ExtensionsSource, LoadedExtensions
from agent.config.mcp_keys import ignored_keys, with_own_keys
from agent.core.schemas import ErasedSignIns, McpConfig, McpServerInfo, McpSignIn
from agent.errors import Invalid, NotFound
from agent.mcp.pool import McpPool, current_pool
from agent.mcp.server import McpServerClient
from agent.mcp.sign_ins import PendingSignIn, SignIns
from agent.shared.connection_limits import LARGEST_BODY
from agent.shared.management import McpOperations, operation
from agent.shared.schemas import DeletionResult, McpServerList, McpServerState, McpToolInfo, ServerState

MASK = "***"
CHECK_SECONDS = 30.0
_SECRET = re.compile(
    r"(?:api|access|auth)?[-_]?(?:key|token|secret|password|passwd|pwd|credentials?|authorization|bearer)$",
    re.IGNORECASE,
)
_HIDDEN_KEYS = ("client_secret", "refresh_token")


def mask_secrets(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's entry of the file with its secrets masked."""
    result = dict(server)
    for key in ("env", "headers"):
        if isinstance(result.get(key), Mapping):
            result[key] = {name: _mask_value(value) for name, value in result[key].items()}
    if isinstance(result.get("oauth"), Mapping):
        oauth = result["oauth"]
        result["oauth"] = {
            name: _mask_value(value) if name in _HIDDEN_KEYS else value for name, value in oauth.items()
        }
    if isinstance(result.get("args"), Sequence) and not isinstance(result["args"], str):
        result["args"] = _mask_arguments(result["args"])
    if isinstance(result.get("url"), str):
        result["url"] = _mask_url(result["url"])
    return result


def restore_secrets(new: Any, stored: Any, masked: Any) -> Any:
    """Return `new` with unchanged masked values replaced by the stored ones."""
    if new == masked:
        return stored
    if isinstance(new, Mapping) and isinstance(stored, Mapping) and isinstance(masked, Mapping):
        return {
            key: restore_secrets(value, stored[key], masked[key])
            if key in stored and key in masked
            else value
            for key, value in new.items()
        }
    if isinstance(new, list) and isinstance(stored, list) and isinstance(masked, list):
        same = min(len(stored), len(masked))
        return [
            restore_secrets(value, stored[at], masked[at]) if at < same else value
            for at, value in enumerate(new)
        ]
    return new


def find_masked(value: Any, path: str) -> str | None:
    """Return the path of a remaining `***`, or None."""
    if isinstance(value, Mapping):
        places = (find_masked(item, f"{path}.{key}") for key, item in value.items())
        return next((place for place in places if place), None)
    if isinstance(value, list):
        places = (find_masked(item, f"{path}[{at}]") for at, item in enumerate(value))
        return next((place for place in places if place), None)
    return path if isinstance(value, str) and MASK in value else None


def _mask_value(value: Any) -> Any:
    return value if isinstance(value, str) and (VARIABLE.fullmatch(value) or not value) else MASK


def _mask_arguments(arguments: Sequence[Any]) -> list[Any]:
    """Mask the values of options that name a secret: `--token x`, `--token=x`, `TOKEN=x`."""
    result: list[Any] = []
    follows = False
    for argument in arguments:
        text = argument if isinstance(argument, str) else ""
        name, equals, value = text.partition("=")
        if follows and not text.startswith("-"):
            result.append(_mask_value(argument))
        elif equals and _SECRET.search(name):
            result.append(f"{name}={_mask_value(value)}")
        else:
            result.append(argument)
        follows = text.startswith("-") and not equals and bool(_SECRET.search(text))
    return result


def _mask_url(url: str) -> str:
    """Mask the password and the query values of a URL."""
    try:
        parts = urlsplit(url)
        query = urlencode(
            [(name, MASK) for name, _ in parse_qsl(parts.query, keep_blank_values=True)], safe="*"
        )
        user, at, host = parts.netloc.rpartition("@")
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}" if at and user else parts.netloc, query=query))


class McpConfigUpdate(BaseModel):
    """MCP servers by name, in the format of the extensions file, under `mcp_servers` or `mcpServers`."""

    model_config = ConfigDict(extra="forbid")
    mcp_servers: dict[str, dict[str, Any]] = Field(validation_alias=AliasChoices("mcp_servers", "mcpServers"))


class NewMcpServer(BaseModel):
    """An MCP server, in the format of the extensions file."""

    model_config = ConfigDict(extra="forbid")
    name: str
    server: dict[str, Any]


class McpServerChange(BaseModel):
    """Keys of an MCP server."""

    model_config = ConfigDict(extra="forbid")
    server: dict[str, Any]


class ProviderAnswer(BaseModel):
    """The query with which a provider sends a person's browser back."""

    model_config = ConfigDict(extra="forbid", strict=True)
    state: str
    code: str = ""
    error: str = ""


class SignedInPerson(BaseModel):
    """A person as `platform:id`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    person: str = Field(min_length=1)


_TARGET_KEYS = ("command", "cwd", "url", "type")
Json = dict[str, Any]


class McpManagement(McpOperations):
    """Reads, replaces and switches the servers of `extensions_config.json`.

    `pool` returns the pool of the running loop, or None.
    """

    def __init__(
        self, extensions: ExtensionsSource, pool: Callable[[], McpPool | None] = current_pool
    ) -> None:
        self._extensions, self._pool = extensions, pool

    @operation("GET", "/api/mcp/config")
    async def get_mcp_config(self) -> McpConfig:
        """Return the MCP configuration without secrets."""
        return _build_config(await self._extensions.get_loaded())

    @operation("PUT", "/api/mcp/config", body=McpConfigUpdate, largest_body=LARGEST_BODY)
    async def replace_mcp_config(self, mcp_servers: Mapping[str, Any]) -> McpConfig:
        """Replace the MCP configuration."""
        # Masked values that come back unchanged keep the stored secret. Without any, nothing changes.
        before, servers = _build_config(await self._extensions.get_loaded()), mcp_servers
        if set(servers) == {"mcpServers"} and _is_list_of_servers(servers["mcpServers"]):
            servers = servers["mcpServers"]

        def change(data: Json) -> None:
            stored = data.get("mcpServers") or {}
            data["mcpServers"] = {
                name: _merge_entry(name, server, stored.get(name), before.mcp_servers.get(name))
                for name, server in servers.items()
            }

        return _build_config(await self._change_file(change))

    async def list_mcp_servers(self) -> McpServerList:
        # Enabled servers are started, and waited for as long as a run would.
        configured = (await self._extensions.get_extensions()).mcpServers
        pool = self._pool()
        if pool is not None:
            await pool.load_tools(configured)
        running = pool.servers if pool is not None else {}
        return McpServerList(
            servers=[_describe_server(name, server, running.get(name)) for name, server in configured.items()]
        )

    @operation("GET", "/api/mcp/sign-ins/link")
    async def find_sign_in(self, ticket: str) -> McpSignIn:
        """Return the sign-in of a link, with the address of the provider."""
        found = self._sign_ins().find_ticket(ticket)
        if found is None or not found.provider_url:
            raise NotFound("This link has expired or was already used.")
        return _describe_sign_in(found, url=found.provider_url)

    @operation("POST", "/api/mcp/sign-ins/complete", body=ProviderAnswer)
    async def complete_sign_in(self, state: str, code: str, error: str) -> McpSignIn:
        """Complete a sign-in with what the provider sent."""
        found = self._sign_ins().complete(state, code, error[:200])
        if found is None:
            raise NotFound("This sign-in has expired or was already completed.")
        return _describe_sign_in(found, error=error[:200])

    @operation("POST", "/api/mcp/sign-ins/erase", body=SignedInPerson)
    async def erase_sign_ins(self, person: str) -> ErasedSignIns:
        """Sign a person out of all MCP servers and delete their tokens."""
        pool = self._pool()
        if pool is None or pool.sign_ins is None:
            return ErasedSignIns(sign_ins=0)
        erased = await pool.sign_ins.erase_person(person)
        for server in pool.servers.values():
            await server.forget_person(person)
        return ErasedSignIns(sign_ins=erased)

    def _sign_ins(self) -> SignIns:
        pool = self._pool()
        if pool is None or pool.sign_ins is None:
            raise NotFound("Sign-in is not available here.")
        return pool.sign_ins

    async def switch_mcp_server(
        self, name: str, enabled: bool | None = None, tools: list[str] | None = None
    ) -> McpServerState:
        given = {"enabled": enabled, "tools": tools}
        return await self._change_server(name, {key: one for key, one in given.items() if one is not None})

    @operation("POST", "/api/mcp/servers", body=NewMcpServer, status=201, location="/api/mcp/servers/{name}")
    async def add_mcp_server(self, name: str, server: dict[str, Any]) -> McpServerState:
        """Add an MCP server to the others."""
        if name in (await self._extensions.get_extensions()).mcpServers:
            raise Invalid(f'An MCP server named "{name[:64]}" already exists; choose another name.')
        return await self._store_server(name, _merge_entry(name, server, None, None))

    @operation("POST", "/api/mcp/servers/check", body=NewMcpServer)
    async def check_mcp_server(self, name: str, server: dict[str, Any]) -> McpServerState:
        """Start an MCP server to list its tools, without storing it."""
        entry = _merge_entry(name, {**server, "enabled": True}, None, None)
        trial = McpManagement(ExtensionsSource(read_file=False))
        await trial._store_server(name, entry)
        config = (await trial._extensions.get_extensions()).mcpServers[name]
        seconds = min(config.start_seconds, CHECK_SECONDS)
        client = McpServerClient(name, config.model_copy(update={"start_seconds": seconds}))
        try:
            await client.list_tools()
            return _describe_server(name, config, client)
        finally:
            await client.close()

    @operation("PATCH", "/api/mcp/servers/{name}", body=McpServerChange)
    async def change_mcp_server(self, name: str, server: dict[str, Any]) -> McpServerState:
        """Change keys of an MCP server; null removes one, and a masked secret stays."""
        return await self._change_server(name, server)

    @operation("DELETE", "/api/mcp/servers/{name}")
    async def remove_mcp_server(self, name: str) -> DeletionResult:
        """Remove an MCP server."""
        await self._stored_entry(name)

        def change(data: Json) -> None:
            data["mcpServers"] = {key: one for key, one in data["mcpServers"].items() if key != name}

        await self._change_file(change)
        return DeletionResult(success=True)

    async def _change_server(self, name: str, given: Mapping[str, Any]) -> McpServerState:
        stored, shown = await self._stored_entry(name)
        whole = {**mask_secrets(with_own_keys(stored)), **given}
        new = {key: value for key, value in whole.items() if value is not None}
        ignored = {key: stored[key] for key in ignored_keys(stored)}
        return await self._store_server(name, {**ignored, **_merge_entry(name, new, stored, shown)})

    async def _stored_entry(self, name: str) -> tuple[Json, McpServerInfo]:
        """Return a server's entry of the file, and the one without secrets. Raises NotFound."""
        loaded = await self._extensions.get_loaded()
        if name not in loaded.config.mcpServers:
            raise NotFound(f'There is no MCP server named "{name[:64]}".')
        return loaded.data["mcpServers"][name], _build_config(loaded).mcp_servers[name]

    async def _store_server(self, name: str, entry: Json) -> McpServerState:
        def change(data: Json) -> None:
            data["mcpServers"] = {**(data.get("mcpServers") or {}), name: entry}

        loaded = await self._change_file(change)
        return _describe_server(name, loaded.config.mcpServers[name], None)

    async def _change_file(self, change: Callable[[Json], None]) -> LoadedExtensions:
        try:
            return await self._extensions.change_file(change)
        except ConfigErrors as error:
            raise Invalid("; ".join(str(error).splitlines())) from error


def _describe_sign_in(found: PendingSignIn, *, url: str = "", error: str = "") -> McpSignIn:
    return McpSignIn(
        server=found.server,
        person=found.person,
        url=url,
        error=error,
        asked_by=found.asked_by,
        account=found.account,
    )


def _describe_server(name: str, configured: McpServer, server: McpServerClient | None) -> McpServerState:
    tools = [
        McpToolInfo(
            name=str(tool.name),
            description=" ".join(str(tool.description or "").split()),
            enabled=configured.offers(str(tool.name)),
        )
        for tool in (server.tools or () if server is not None and configured.enabled else ())
    ]
    state = _server_state(configured, server)
    detail = ""
    if server is not None and state in (ServerState.READY, ServerState.UNAVAILABLE):
        detail = server.problem or "; ".join(f"{tool}: {why}" for tool, why in server.left_out.items())
    return McpServerState(
        name=name, state=state, description=configured.description, detail=detail or None, tools=tools
    )


def _server_state(configured: McpServer, server: McpServerClient | None) -> ServerState:
    if not configured.enabled:
        return ServerState.OFF
    if server is None:
        return ServerState.IDLE
    if server.problem:
        return ServerState.UNAVAILABLE
    return ServerState.STARTING if server.tools is None else ServerState.READY


def _build_config(loaded: LoadedExtensions) -> McpConfig:
    stored: Mapping[str, Any] = loaded.data.get("mcpServers") or {}
    return McpConfig(
        mcp_servers={
            name: _mask_entry(stored.get(name) or {}, server)
            for name, server in loaded.config.mcpServers.items()
        }
    )


def _is_list_of_servers(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(entry, Mapping) for entry in value.values())


def _mask_entry(stored: Mapping[str, Any], server: McpServer) -> McpServerInfo:
    shown = mask_secrets(with_own_keys(stored))
    hidden = {key: value for key, value in shown.items() if value is not None}
    plain = server.model_dump(include={"enabled", "scope", "timeout_seconds", "start_seconds"})
    return McpServerInfo.model_validate({**hidden, **plain, "type": server.transport})


def _merge_entry(name: str, new: Any, stored: Json | None, before: McpServerInfo | None) -> Any:
    """Build the entry to store: unchanged masked values keep the stored ones, and defaults are omitted."""
    if not isinstance(new, Mapping):
        return new
    seen = before.model_dump() if before is not None and stored is not None else {}
    new, stored = with_own_keys(new), with_own_keys(stored or {})
    defaults = McpServerInfo(type=str(new.get("type") or "stdio")).model_dump()
    if any(new.get(key, seen.get(key)) != seen.get(key) for key in _TARGET_KEYS):
        # A stored secret must not be sent to a new target.
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
            f"{place}: there is no stored secret for this hidden value (secrets are kept only if command, "
            "url and type are unchanged); enter the value or $NAME"
        )
    return result
