"""The bot's sections of config.yaml, and the whole."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, SecretStr, SerializeAsAny, field_validator

from agent.config.fields import Int, ManyIds, OneId, Secret, Section, Text, Url
from agent.config.models import AgentConfig
from bot.config.access import AccessConfig
from bot.config.accounts import BUILT_IN, PLATFORMS, AccountConfig

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:]+\]?")


class ServerConfig(Section):
    """The one public port."""

    host: Text = Field(
        "127.0.0.1", description="The address to listen on; other than loopback needs a token."
    )
    port: Int = Field(2026, ge=0, le=65535, description="The port; 0: any free one.")
    token: Secret | None = Field(None, description="What clients of the API send; null: loopback needs none.")
    allowed_hosts: Annotated[tuple[Text, ...], ManyIds] = Field(
        (), description="Host names under which the service is reached, beside its address."
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _are_host_names(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_HOST.fullmatch(host) for host in hosts):
            raise ValueError(
                "expected host names such as bot.example.org, without scheme, port, path or star"
            )
        return tuple(host.lower() for host in hosts)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the service."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"


class RuntimeConfig(Section):
    """The LangGraph API server that runs the agent."""

    url: Url | None = Field(None, description="Its address; null: the bundled runtime, as a child process.")
    management_url: Url | None = Field(
        None, description="Where models and files are managed; null: the same."
    )
    assistant_id: OneId = Field("lead_agent", description="The assistant that answers.")
    api_key: Secret | None = Field(None, description="The key that the server asks for.")


class DatabaseConfig(Section):
    """Where the bot keeps its own data."""

    url: SecretStr | None = Field(None, description="SQLAlchemy address; null: SQLite below the home.")

    @field_validator("url")
    @classmethod
    def _is_known(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not re.match(r"(?:sqlite|postgresql)(?:\+[a-z0-9_]+)?://", value.get_secret_value()):
            raise ValueError("expected an address such as postgresql://user:password@host/name")
        return value


def _built_in() -> dict[str, AccountConfig]:
    return {name: PLATFORMS[name](name=name, platform=name) for name in BUILT_IN}


class Config(AgentConfig):
    """The whole configuration. `Config()` is the zero configuration."""

    server: ServerConfig = Field(default_factory=ServerConfig, description="The one public port.")
    runtime: RuntimeConfig = Field(
        default_factory=RuntimeConfig, description="The server that runs the agent."
    )
    database: DatabaseConfig = Field(default_factory=DatabaseConfig, description="The bot's own data.")
    channels: Mapping[str, SerializeAsAny[AccountConfig]] = Field(
        default_factory=_built_in, description="The accounts of the bot; web and terminal are always there."
    )
    access: AccessConfig = Field(default_factory=AccessConfig, description="Who may use the bot.")

    @property
    def accounts(self) -> tuple[AccountConfig, ...]:
        """The enabled accounts."""
        return tuple(account for account in self.channels.values() if account.enabled)

    def access_for(self, account: str) -> AccessConfig:
        """The access rules of one account. Raises KeyError where there is no such account."""
        return self.channels[account].access.over(self.access)
