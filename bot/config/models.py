"""The bot's sections of config.yaml, and the whole configuration."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, field_validator

from agent.config.models import AgentConfig
from agent.config.types import Count, Days, Int, ManyIds, OneId, Secret, Section, Text, Url
from bot.config.access import AccessConfig
from bot.config.accounts import AccountConfig, Channels

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:]+\]?")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


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

    public_url: Url | None = Field(
        None, description="Where people reach the page, for links in the chat; its host is allowed too."
    )

    @field_validator("public_url")
    @classmethod
    def _is_a_root(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        if parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("expected an address such as https://bot.example.org, without a path")
        return url.rstrip("/") if url else None

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
        """Return True if only this machine can reach the service."""
        return _is_loopback(self.host)

    @property
    def is_public(self) -> bool:
        """Return True if the advertised address is reachable from other machines."""
        return self.public_url is not None and not _is_loopback(urlsplit(self.public_url).hostname or "")


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


class SchedulesConfig(Section):
    """What happens at a time."""

    timezone: Text = Field(
        "UTC", description="IANA name of the time zone of chats that chose none (/digest zone)."
    )
    catch_up_minutes: Count = Field(
        360, description="A firing that the service was away for is made up for so long, then left out."
    )
    shortest_minutes: Count = Field(5, description="Firings of a schedule may not be closer to each other.")

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("expected the name of a time zone such as Europe/Berlin or UTC") from None
        return value


class BudgetLimits(Section):
    """How much may be used; null: as much as they like."""

    messages_per_hour: Count | None = Field(None, description="Messages that are answered in an hour.")
    tokens_per_day: Count | None = Field(None, description="Tokens that answers cost in a day (UTC).")


class BudgetsConfig(Section):
    """How much the bot may be used; owners are held to nothing."""

    person: BudgetLimits = Field(default_factory=BudgetLimits, description="Each person.")
    chat: BudgetLimits = Field(default_factory=BudgetLimits, description="Each group, all its people.")
    account: BudgetLimits = Field(default_factory=BudgetLimits, description="Each account, all its chats.")


class RetentionConfig(Section):
    """How long what was said is kept."""

    days: Days = Field(
        0,
        description="After so many days messages, answers, threads and their files are deleted; 0: never.",
    )


class Config(AgentConfig):
    """The whole configuration. `Config()` is the zero configuration."""

    server: ServerConfig = Field(default_factory=ServerConfig, description="The one public port.")
    runtime: RuntimeConfig = Field(
        default_factory=RuntimeConfig, description="The server that runs the agent."
    )
    database: DatabaseConfig = Field(default_factory=DatabaseConfig, description="The bot's own data.")
    channels: Channels = Field(
        default_factory=dict,
        validate_default=True,
        description="The accounts of the bot; web and terminal are always there.",
    )
    access: AccessConfig = Field(default_factory=AccessConfig, description="Who may use the bot.")
    budgets: BudgetsConfig = Field(
        default_factory=BudgetsConfig, description="How much the bot may be used (/budget)."
    )
    schedules: SchedulesConfig = Field(
        default_factory=SchedulesConfig, description="What happens at a time (/digest)."
    )
    retention: RetentionConfig = Field(
        default_factory=RetentionConfig, description="How long what was said is kept (/data)."
    )

    @property
    def accounts(self) -> tuple[AccountConfig, ...]:
        """Return the enabled accounts."""
        return tuple(account for account in self.channels.values() if account.enabled)

    def access_for(self, account: str) -> AccessConfig:
        """Return the access rules of one account. Raises KeyError for an unknown account."""
        return self.channels[account].access.over(self.access)

    def kept_days(self, account: str) -> int:
        """Return an account's retention in days, 0 for unlimited. Raises KeyError for an unknown account."""
        own = self.channels[account].retention_days
        return self.retention.days if own is None else own
