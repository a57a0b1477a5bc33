"""Entries of `channels`, one for each account of the bot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agent.config.types import Count, Days, Number, OneId, Section, Switch, Text, Url
from bot.config.access import AccessOverrides, AppRule
from bot.domain import EVERYBODY

ACCOUNT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""Pattern of account names, which appear in URLs, stored rows and access entries."""


LINK_PREVIEWS = (
    "true: the platform may fetch links in messages to show previews, which tells the linked server what the "
    "link contains, without a click."
)
REACTION = "Reaction on a message while it is being answered; empty: none. "


_GROUP_NAME = re.compile(r"[^\W_](?:[\w .-]{0,78}[^\W_])?")
MAX_GROUPS = 50
"""Maximum number of roles or user groups that the answers of an account may mention."""


def _check_group_name(name: str) -> str:
    if not _GROUP_NAME.fullmatch(name):
        raise ValueError(
            "expected 1 to 80 letters, digits, spaces or any of . - _, without the @, such as oncall"
        )
    if name.casefold() in EVERYBODY:
        raise ValueError("this name addresses everybody; expected another one")
    return name


GroupName = Annotated[str, AfterValidator(_check_group_name)]
"""Name of people who can be mentioned together."""


class RefusedName(str):
    """Name of an account whose entry contains the disallowed key `name`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """Protection of a platform's calls to the service, and the relevant keys of the account.

    `credential` describes what proves a call genuine. `secret` is the key of a secret that a person made up,
    `url` that of the address that the platform calls. `advice` says what to do about other keys if they are
    not set.
    """

    credential: str
    secret: str = ""
    url: str = ""
    advice: Mapping[str, str] = field(default_factory=dict)


class AccountConfig(Section):
    """Keys of accounts on every platform."""

    person_pattern: ClassVar[str] = r".+"
    """Pattern of a person's id on the platform."""
    group_pattern: ClassVar[str] = r".+"
    """Pattern of a group's id on the platform."""
    app_pattern: ClassVar[str] = r"(?!)"
    """Pattern of an app's id on the platform, if it is not like a person's."""
    person_words: ClassVar[str] = "a person's numeric id"
    group_words: ClassVar[str] = "a group's numeric id"
    kind_patterns: ClassVar[Mapping[str, str]] = {}
    """Patterns of the other ids that an access entry can contain (`platform:kind:id`), by kind."""
    asked_too: ClassVar[Mapping[str, str]] = {}
    """Keys that `roebot init` asks for although they have a default, each with its question."""
    identity: ClassVar[str] = ""
    """The key whose value must be unique among enabled accounts of the platform; "" for none."""
    webhook: ClassVar[Webhook | None] = None
    """The protection of its webhook, if the platform can call the service."""

    name: Text = Field(description="The key of the entry.")
    platform: Text = Field(description="Platform; default: the entry's key.")
    enabled: Switch = Field(True, description="false: do not start the account.")
    base_url: Url | None = Field(None, description="Root URL of the API; null: the platform's public API.")
    assistant_id: OneId | None = Field(
        None, description="Assistant for this account; null: runtime.assistant_id."
    )
    agent: OneId | None = Field(
        None, description="Custom agent (agents/<name> in the data directory) that answers; null: none."
    )
    model: OneId | None = Field(None, description="Name of the model; null: the assistant's model.")
    busy: Literal["queue", "interrupt", "steer", "reject"] = Field(
        "queue",
        description="Handling of messages that arrive during a run. queue: keep them waiting; interrupt: "
        "stop the run; steer: add them to the run; reject: decline them.",
    )
    isolation: Literal["chat", "topic", "member"] = Field(
        "topic", description="Scope of a conversation: a chat, a topic in a chat, or a member."
    )
    locale: Literal["en", "zh"] = Field(
        "en",
        description="Language of the service's own messages for people whose language is unknown, because "
        "neither `/language` nor their app or messages determine it.",
    )
    access: AccessOverrides = Field(
        default_factory=AccessOverrides,
        description="Access settings that override `access` for this account.",
    )
    apps: tuple[AppRule, ...] = Field(
        (), description="Third-party apps, bots and webhooks whose messages may start turns."
    )
    app_turns: Count = Field(
        5,
        le=1000,
        description="Maximum number of turns that apps start in a chat within `app_minutes`. The count "
        "restarts when a person writes to the bot.",
    )
    app_minutes: Count = Field(10, le=60, description="Period of `app_turns`, in minutes.")
    retention_days: Days | None = Field(
        None, description="Days to keep this account's messages; 0: forever; null: retention.days."
    )
    rate_scale: Number = Field(
        1.0,
        gt=0,
        le=1000,
        description="Multiplier for the time windows of the platform's published rate limits.",
    )

    @property
    def is_called(self) -> bool:
        """Return whether the platform calls the service, instead of the service maintaining a connection."""
        return getattr(self, "mode", "") in ("webhook", "http")

    def needs(self) -> Mapping[str, str]:
        """Return the keys that the account requires, each with a hint."""
        return {}

    @property
    def private_isolation(self) -> str:
        """Return the `isolation` of private chats."""
        return self.isolation

    @field_validator("name", mode="before")
    @classmethod
    def _is_the_key_of_the_entry(cls, value: object) -> object:
        if isinstance(value, RefusedName):
            raise ValueError("unknown key; an account is named by the key of its entry")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe an entry of `channels`, without `name`: the entry's key is the account's name."""
        shape = handler(core)
        section = handler.resolve_ref_schema(shape)
        section["properties"].pop("name", None)
        section["properties"]["platform"]["description"] = AccountConfig.model_fields["platform"].description
        section["required"] = [key for key in section.get("required", ()) if key != "name"]
        return shape

    @classmethod
    def secrets(cls) -> frozenset[str]:
        """Return the keys with secret values."""
        return frozenset(
            name for name, field in cls.model_fields.items() if "SecretStr" in str(field.annotation)
        )
