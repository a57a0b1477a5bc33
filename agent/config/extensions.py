"""Sections of `extensions_config.json`: MCP servers, and skill states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from agent.config.types import Number, Section, Switch, Text, Url

SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s#]*")


def check_names(names: Iterable[str], kind: str) -> None:
    """Raise ValueError for the first name that is not a valid one of this kind."""
    for name in names:
        if not SERVER_NAME.fullmatch(name):
            raise ValueError(
                f"{name[:40]!r} is not a valid {kind}: letters, digits, - and _, 32 at most; rename it"
            )


def _check_address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("expected an address such as https://host/mcp")
    return value


def _check_one_line(value: SecretStr) -> SecretStr:
    if any(sign in value.get_secret_value() for sign in "\r\n\0"):
        raise ValueError("expected a single line of text")
    return value


Address = Annotated[str, AfterValidator(_check_address)]
"""An http or https address, which may have a path and a query."""
SecretLine = Annotated[SecretStr, AfterValidator(_check_one_line)]
"""Text of one line that never appears in a repr or an error."""


class McpOAuth(Section):
    """OAuth settings for obtaining a server token."""

    grant_type: Literal["client_credentials", "refresh_token", "authorization_code"] = Field(
        "client_credentials", description="client_credentials, refresh_token or authorization_code."
    )
    token_url: Url | None = Field(None, description="Address that issues tokens.")
    sign_in: Literal["person", "shared"] = Field(
        "person", description="authorization_code: person: each person signs in; shared: one for all."
    )
    trusted_hosts: tuple[Text, ...] = Field(
        (), description="authorization_code: hosts of the provider that are not on the public internet."
    )
    client_id: Text | None = Field(None, description="Client id.")
    client_secret: SecretLine | None = Field(None, description="Client secret.")
    refresh_token: SecretLine | None = Field(
        None, description="grant_type refresh_token: the token to exchange."
    )
    scope: Text | None = Field(None, description="Scopes, separated by spaces.")
    audience: Text | None = Field(None, description="Audience of the token, if the server requires one.")
    client_auth: Literal["post", "basic"] = Field(
        "post",
        description="Where id and secret are sent. post: in the body; basic: in the Authorization header.",
    )

    @model_validator(mode="after")
    def _grant_is_whole(self) -> McpOAuth:
        if self.grant_type == "authorization_code":
            return self
        if self.token_url is None:
            raise ValueError(f"grant_type {self.grant_type} needs token_url; add it")
        if self.grant_type == "refresh_token" and self.refresh_token is None:
            raise ValueError("grant_type refresh_token needs refresh_token; add it")
        if self.grant_type == "client_credentials" and (self.client_id is None or self.client_secret is None):
            raise ValueError("grant_type client_credentials needs client_id and client_secret; add them")
        return self


class McpServer(Section):
    """An MCP server. Without `type`, a `command` means stdio and a `url` means http."""

    enabled: Switch = Field(True, description="false: its tools are not offered.")
    type: Literal["stdio", "sse", "http"] | None = Field(
        None, description="stdio: a program; http: streamable HTTP; sse: the older HTTP transport."
    )
    command: Text | None = Field(None, description="stdio: the program.")
    args: tuple[str, ...] = Field((), description="stdio: its arguments.")
    env: Mapping[str, SecretLine] = Field(
        default_factory=dict, description="stdio: its environment variables."
    )
    cwd: Text | None = Field(None, description="stdio: the folder in which it runs.")
    url: Address | None = Field(None, description="http, sse: the address of the endpoint.")
    headers: Mapping[str, SecretLine] = Field(default_factory=dict, description="http, sse: headers to send.")
    oauth: McpOAuth | None = Field(None, description="http, sse: OAuth settings; null: none.")
    description: Text | None = Field(None, description="Purpose in one line.")
    tools: tuple[Text, ...] | None = Field(
        None, description="Names of the tools to offer, as the server has them; null: all."
    )
    scope: Literal["thread", "shared"] = Field(
        "thread", description="thread: one session per conversation; shared: one for all."
    )
    timeout_seconds: Number = Field(60.0, gt=0, le=3600, description="Time limit of a tool call in seconds.")
    start_seconds: Number = Field(
        30.0, gt=0, le=600, description="Time limit to start and list its tools in seconds."
    )

    @property
    def transport(self) -> Literal["stdio", "sse", "http"]:
        """Return `type`, or the transport implied by the other keys."""
        return self.type or ("stdio" if self.command else "http")

    def offers(self, tool: str) -> bool:
        """Return whether the agent gets a tool of the server."""
        return self.tools is None or tool in self.tools

    @model_validator(mode="after")
    def _fits_its_transport(self) -> McpServer:
        if not self.enabled:
            return self
        if self.transport == "stdio":
            wrong = [name for name in ("url", "headers", "oauth") if getattr(self, name)]
            needed = "command" if self.command is None else ""
        else:
            wrong = [name for name in ("command", "args", "env", "cwd") if getattr(self, name)]
            needed = "url" if self.url is None else ""
        if needed:
            raise ValueError(f"a server of the type {self.transport} needs {needed}; add it")
        if wrong:
            raise ValueError(f"a server of the type {self.transport} takes no {wrong[0]}; remove it")
        return self


class SkillState(Section):
    """The state of a skill."""

    enabled: Switch = Field(True, description="false: the agent does not see the skill.")


class Extensions(Section):
    """The whole file, in the common format of MCP clients."""

    mcpServers: Mapping[str, McpServer] = Field(default_factory=dict, description="MCP servers by name.")
    skills: Mapping[str, SkillState] = Field(
        default_factory=dict, description="Skills by name; a skill without an entry is enabled."
    )

    @field_validator("mcpServers")
    @classmethod
    def _names_fit(cls, servers: Mapping[str, Any]) -> Mapping[str, Any]:
        check_names(servers, "server name")
        return servers

    def is_skill_enabled(self, name: str) -> bool:
        state = self.skills.get(name)
        return state is None or state.enabled
