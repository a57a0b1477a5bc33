"""Who may use the bot: the `access` section and its entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from agent.config.fields import ManyIds, Section
from agent.config.validate import describe

_ENTRY = re.compile(r"(?P<scope>[a-z][a-z0-9_-]{0,31}):(?P<id>-?[A-Za-z0-9][A-Za-z0-9_.-]{0,127})")
_WANTED = "expected platform:id or account:id, such as telegram:123456789"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """A person or group: `scope` is a platform or an account, `id` the platform's own id."""

    scope: str
    id: str

    def __str__(self) -> str:
        return f"{self.scope}:{self.id}"

    @classmethod
    def parse(cls, value: object) -> AccessEntry:
        """The entry that the value spells. Raises ValueError with what to write instead."""
        if isinstance(value, AccessEntry):
            return value
        if isinstance(value, dict) and len(value) == 1:
            raise ValueError(f"{_WANTED}, got a mapping; write it without the space after the colon")
        if not isinstance(value, str):
            raise ValueError(f"{_WANTED}, got {describe(value)}")
        if match := _ENTRY.fullmatch(value):
            return cls(match["scope"], match["id"])
        if re.search(r"[,;\s]", value.strip()):
            raise ValueError(f"{_WANTED}; write several as a list, one entry an item")
        if "@" in value:
            raise ValueError(f"{_WANTED}; a name can change hands, so the id is needed: /whoami shows it")
        raise ValueError(_WANTED)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "string",
            "pattern": rf"^(?:\$.+|{_ENTRY.pattern.replace('?P<scope>', '').replace('?P<id>', '')})$",
        }


Entries = Annotated[tuple[AccessEntry, ...], ManyIds]


class AccessConfig(Section):
    """Who may use the bot. Nobody is let in by a list that is empty."""

    default: Literal["closed", "allow"] = Field(
        "closed",
        description="closed: only people and groups listed here; allow: everybody who finds the bot.",
    )
    owners: Entries = Field((), description="People who may do everything.")
    admins: Entries = Field((), description="People who may use the admin commands.")
    members: Entries = Field((), description="People who may use the bot.")
    blocked: Entries = Field((), description="People and groups that are never answered.")
    groups: Entries = Field((), description="Groups in which everybody may use the bot.")


class AccessOverrides(Section):
    """The access rules of one account: a key that stands here replaces the general one; `blocked` adds."""

    default: Literal["closed", "allow"] | None = Field(None, description="As in access.")
    owners: Entries | None = Field(None, description="Replaces access.owners for this account.")
    admins: Entries | None = Field(None, description="Replaces access.admins for this account.")
    members: Entries | None = Field(None, description="Replaces access.members for this account.")
    blocked: Entries | None = Field(None, description="Blocked on this account too.")
    groups: Entries | None = Field(None, description="Replaces access.groups for this account.")

    def over(self, general: AccessConfig) -> AccessConfig:
        """The rules of the account."""
        given = {
            name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None
        }
        given["blocked"] = tuple(dict.fromkeys((*general.blocked, *(self.blocked or ()))))
        return general.model_copy(update=given)
