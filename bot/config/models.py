"""The bot's sections of config.yaml, the whole configuration, its JSON schema and its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from agent.config.database import DatabaseConfig
from agent.config.models import AgentConfig
from agent.config.types import Count, Days, Int, ManyIds, OneId, Secret, Section, Text, Timezone, Url
from agent.shared.client_address import is_loopback, parse_network
from bot.config.access import AccessConfig, AppRule
from bot.config.accounts import AccountConfig
from bot.config.channels import Channels
from bot.config.events import EventsConfig, event_app
from bot.config.oncall import OnCallConfig
from bot.config.profiles import ProfileRule
from bot.config.server_limits import ServerLimits
from bot.config.sign_on import OidcConfig
from bot.profiles import PlacedSettings, TurnPlace

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:]+\]?")


MASK = "***"
MIN_LENGTH = 6
"""Shorter secrets are not masked, because that would garble ordinary words."""
_VARIABLE = {"type": "string", "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$"}
_NULL = {"type": "null"}


class ServerConfig(Section):
    """The public port of the service."""

    host: Text = Field(
        "127.0.0.1",
        description="Address to listen on.",
    )
    port: Int = Field(2026, ge=0, le=65535, description="Port to listen on; 0: any free port.")
    token: Secret | None = Field(
        None,
        description="API token; null: ROEBOT_TOKEN, or else the one generated in the data directory.",
    )
    allowed_hosts: Annotated[tuple[Text, ...], ManyIds] = Field(
        (), description="Host names to accept in requests, in addition to the address."
    )
    trusted_proxies: Annotated[tuple[Text, ...], ManyIds] = Field(
        (),
        description="Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto "
        "headers are used.",
    )
    public_url: Url | None = Field(
        None, description="URL of the web console, for links in chats; its host is also accepted."
    )
    oidc: OidcConfig | None = Field(
        None, description="Sign-on to the web console by OpenID Connect; null: none."
    )
    limits: ServerLimits = Field(
        default_factory=ServerLimits, description="Limits that apply before the caller is known."
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
                "expected host names such as bot.example.org, without a scheme, port, path or wildcard"
            )
        return tuple(host.lower() for host in hosts)

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            try:
                parse_network(network)
            except ValueError:
                raise ValueError("expected addresses or networks such as 127.0.0.1 or 10.0.0.0/8") from None
        return networks

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can reach the service."""
        return is_loopback(self.host)

    @property
    def browser_url(self) -> str:
        """Return the address for browsers: the public one, or else that of this machine; "" if unknown."""
        local = f"http://127.0.0.1:{self.port}" if self.is_loopback and self.port else ""
        return self.public_url or local

    @property
    def is_public(self) -> bool:
        """Return whether the advertised address is reachable from other machines."""
        return self.public_url is not None and not is_loopback(urlsplit(self.public_url).hostname or "")


class RuntimeConfig(Section):
    """The LangGraph API server of the agent."""

    url: Url | None = Field(None, description="Address; null: start the bundled server as a child process.")
    management_url: Url | None = Field(
        None, description="Server that manages models and files; null: the server at `url`."
    )
    assistant_id: OneId = Field(
        "lead_agent", description="Assistant that answers, unless the account sets another one."
    )
    api_key: Secret | None = Field(None, description="API key for an external server.")
    signing_key: Secret | None = Field(
        None,
        description="Key of an external `roebot agent serve`, in whose environment it is "
        "ROEBOT_RUNTIME_SIGNING_KEY. With it, that server accepts the identity, the roles and the approvals "
        "of a run only from the bot.",
    )


class SchedulesConfig(Section):
    """Schedules."""

    timezone: Timezone = Field(
        "UTC",
        description="Default time zone for chats, as an IANA name; a chat can change it with /digest zone.",
    )
    catch_up_minutes: Count = Field(
        360,
        description="Minutes after its due time within which a missed run is still started, not skipped.",
    )
    shortest_minutes: Count = Field(
        5, description="Shortest interval between the runs of a schedule, in minutes."
    )


class BudgetLimits(Section):
    """Usage limits; null: no limit."""

    messages_per_hour: Count | None = Field(None, description="Maximum number of answered messages per hour.")
    tokens_per_day: Count | None = Field(None, description="Maximum number of tokens per day (UTC).")


class BudgetsConfig(Section):
    """Usage limits. Owners have no limits."""

    person: BudgetLimits = Field(default_factory=BudgetLimits, description="Limits per person.")
    chat: BudgetLimits = Field(
        default_factory=BudgetLimits, description="Limits per group, shared by everyone in it."
    )
    account: BudgetLimits = Field(
        default_factory=BudgetLimits, description="Limits per account, shared by all its chats."
    )


class RetentionConfig(Section):
    """Retention of messages."""

    days: Days = Field(
        0,
        description="Days after which messages, answers, threads and files are deleted; 0: never.",
    )


class ApprovalsConfig(Section):
    """Approvals of tool calls by people."""

    by: Literal["requester", "admins", "others"] = Field(
        "requester",
        description="Who decides. requester: the person who asked for the work, or an admin; admins: admins "
        "only; others: an admin other than the person who asked.",
    )
    here: Literal["anyone", "admins"] = Field(
        "anyone",
        description="Who may approve a tool for a conversation (`approve here`): anyone who may decide, or "
        "admins only.",
    )
    here_days: Count = Field(
        7, le=365, description="Days after which an approval for a conversation expires."
    )


class Config(AgentConfig):
    """The complete configuration. `Config()` contains the defaults."""

    server: ServerConfig = Field(
        default_factory=ServerConfig,
        description="The public port, for the web console, API and health checks.",
    )
    runtime: RuntimeConfig = Field(
        default_factory=RuntimeConfig, description="The LangGraph API server that runs the agent."
    )
    database: DatabaseConfig = Field(
        default_factory=DatabaseConfig,
        description="The database of conversations and of the agent's threads.",
    )
    channels: Channels = Field(
        default_factory=dict,
        validate_default=True,
        description="The bot's accounts; web and terminal exist unless they are switched off.",
    )
    access: AccessConfig = Field(
        default_factory=AccessConfig, description="Access to the bot, in addition to roles granted in chat."
    )
    approvals: ApprovalsConfig = Field(
        default_factory=ApprovalsConfig, description="Approvals of tool calls by people."
    )
    budgets: BudgetsConfig = Field(
        default_factory=BudgetsConfig, description="Usage limits, in addition to those set with /budget."
    )
    events: EventsConfig = Field(
        default_factory=EventsConfig, description="Events of other systems, which become incidents in chats."
    )
    oncall: OnCallConfig = Field(default_factory=OnCallConfig, description="People on call (/oncall).")
    profiles: tuple[ProfileRule, ...] = Field(
        (), description="Settings for platforms, accounts, chats, topics and people."
    )
    schedules: SchedulesConfig = Field(default_factory=SchedulesConfig, description="Schedules (/digest).")
    retention: RetentionConfig = Field(
        default_factory=RetentionConfig, description="Retention of messages (/data)."
    )

    @model_validator(mode="after")
    def _check_events(self) -> Config:
        open_ones = [name for name, source in self.events.sources.items() if not source.secrets]
        if open_ones and not self.server.is_loopback:
            raise ValueError(
                f"events.sources.{open_ones[0]}.secrets: needed, since other machines can reach the service"
            )
        if unknown := {route.account for route in self.events.routes} - set(self.channels):
            raise ValueError(f"events.routes: there is no account {min(unknown)}")
        schedules = {route.oncall for route in self.events.routes if route.oncall}
        if unknown := schedules - set(self.oncall.schedules):
            raise ValueError(f"events.routes: there is no on-call schedule {min(unknown)}")
        return self

    @model_validator(mode="after")
    def _check_profiles(self) -> Config:
        if unknown := {rule.account for rule in self.profiles if rule.account} - set(self.channels):
            raise ValueError(f"profiles: there is no account {min(unknown)}")
        return self

    @property
    def accounts(self) -> tuple[AccountConfig, ...]:
        """Return the enabled accounts."""
        return tuple(account for account in self.channels.values() if account.enabled)

    def app_rules(self, account: str) -> tuple[AppRule, ...]:
        """Return the rules of the apps that may start turns on an account, event sources included."""
        found = self.channels[account]
        routes = [route for route in self.events.routes if route.work and route.account == account]
        sources = [
            AppRule.model_validate(
                {
                    "id": f"{found.platform}:{event_app(source)}",
                    "chats": [f"{found.platform}:{route.chat}"],
                    "mention": False,
                }
            )
            for route in routes
            # An incident that collects others in a storm has no source.
            for source in (*(route.source or self.events.sources), "")
        ]
        return (*found.apps, *sources)

    def access_for(self, account: str) -> AccessConfig:
        """Return the access rules of one account. Raises KeyError for an unknown account."""
        return self.channels[account].access.over(self.access)

    def place_settings(self, account: str) -> list[PlacedSettings]:
        """Return the settings of an account and of the profiles. Raises KeyError for an unknown account."""
        entry = self.channels[account]
        # Without a value in the file, the busy mode is the default.
        busy = entry.busy if "busy" in entry.model_fields_set else ""
        given = {"agent": entry.agent or "", "model": entry.model or "", "busy": busy}
        values = {name: (value,) for name, value in given.items() if value}
        own = PlacedSettings(f"channels.{account}", TurnPlace(account=account), values)
        rules = [rule.place_settings(f"profiles[{number}]") for number, rule in enumerate(self.profiles)]
        return [own, *rules]

    def kept_days(self, account: str) -> int:
        """Return an account's retention in days (0: unlimited). Raises KeyError for an unknown account."""
        own = self.channels[account].retention_days
        return self.retention.days if own is None else own


def secrets_of(config: Config) -> frozenset[str]:
    """Return every secret in the configuration, including passwords in URLs."""
    found: set[str] = set()
    for secret in _secrets(config):
        found.add(secret)
        found |= _password(secret)
    return frozenset(secret for secret in found if len(secret) >= MIN_LENGTH)


def masked(text: str, secrets: frozenset[str]) -> str:
    """Replace each secret with `***`; longer ones first, since one may contain another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item)


def _password(text: str) -> set[str]:
    """Return a URL's password, as written and decoded."""
    try:
        password = urlsplit(text).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()


def schema() -> dict[str, Any]:
    """Return the JSON schema of config.yaml (draft 2020-12)."""
    shape = Config.model_json_schema(schema_generator=_FileSchema)
    del shape["description"]
    return {"$schema": _FileSchema.schema_dialect, **shape, "title": "Roebot configuration"}


class _FileSchema(GenerateJsonSchema):
    """Adds the loader's alternatives to each type's own values: `$NAME` for a number, switch or choice,
    `null` for a key with a default, and a single item for a list.
    """

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return _any_of(super().int_schema(schema), _VARIABLE)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _any_of(super().float_schema(schema), _VARIABLE)

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        return _any_of(super().bool_schema(schema), _VARIABLE)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return _any_of(super().literal_schema(schema), _VARIABLE)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        shape = super().tuple_schema(schema)
        return shape if "$ref" in shape["items"] else _any_of(shape, shape["items"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        shape = super().default_schema(schema)
        about = {"default": shape.pop("default")} if "default" in shape else {}
        return {**about, **_any_of(shape, _NULL)}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _any_of(*shapes: JsonSchemaValue) -> JsonSchemaValue:
    """Return a schema that accepts any of the given schemas, without nested `anyOf`."""
    ways = [way for shape in shapes for way in (shape["anyOf"] if shape.keys() == {"anyOf"} else [shape])]
    return {"anyOf": [way for index, way in enumerate(ways) if way not in ways[:index]]}
