"""The `access` section: people and groups with access to the bot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from agent.config.reader import describe_type
from agent.config.types import ManyIds, Section, Switch

# Entities that an id can represent other than a person or a chat: a workspace or organization, or a subset of
# its members.
KINDS = ("team", "role", "usergroup", "department")
_PLAIN_ID = r"-?[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
# Ids that name their server, as federated platforms have them: @person:example.org, !room:example.org. A name
# without one, such as @person, is no id.
_FEDERATED_ID = r"[@!][A-Za-z0-9_.=/+-]{1,128}:[A-Za-z0-9.-]{1,128}(?::[0-9]{1,5})?|![A-Za-z0-9_-]{1,128}"
_ENTRY = re.compile(
    rf"(?P<scope>[a-z][a-z0-9_-]{{0,31}}):(?:(?P<kind>{'|'.join(KINDS)}):)?(?P<id>{_PLAIN_ID}|{_FEDERATED_ID})"
)
_WANTED = "expected platform:id or account:id, or with a kind of id, such as platform:team:id"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """A person, chat or group of people in an access rule.

    `scope` is a platform or an account; `id` is the platform's own id; `kind` is "" for a person or a chat,
    or else one of `KINDS`, which covers all its members.
    """

    scope: str
    id: str
    kind: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.scope, self.kind, self.id)))

    @classmethod
    def parse(cls, value: object) -> AccessEntry:
        """Parse an entry. Raises ValueError with a hint about the expected format."""
        if isinstance(value, AccessEntry):
            return value
        if isinstance(value, dict) and len(value) == 1:
            raise ValueError(f"{_WANTED}, got a mapping; remove the space after the colon")
        if not isinstance(value, str):
            raise ValueError(f"{_WANTED}, got {describe_type(value)}")
        if match := _ENTRY.fullmatch(value):
            return cls(match["scope"], match["id"], match["kind"] or "")
        if re.search(r"[,;\s]", value.strip()):
            raise ValueError(f"{_WANTED}; write several entries as a list, one per item")
        if "@" in value:
            raise ValueError(
                f"{_WANTED}; a name can change hands, so use the id (the command whoami shows it)"
            )
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
            "pattern": rf"^(?:\$.+|{re.sub(r'[?]P<[a-z]+>', '', _ENTRY.pattern)})$",
        }


Entries = Annotated[tuple[AccessEntry, ...], ManyIds]


Default = Literal["pair", "closed", "allow"]


class AccessConfig(Section):
    """Access to the bot. An empty list gives access to no one."""

    default: Default = Field(
        "pair",
        description="Access for people who are not listed. pair: in a private chat, they get a code that an "
        "admin can approve; closed: they have no access, and a notice says what to add here; allow: they are "
        "members.",
    )
    owners: Entries = Field((), description="People who can do everything.")
    admins: Entries = Field((), description="People who can use the admin commands.")
    members: Entries = Field((), description="People who can use the bot.")
    blocked: Entries = Field((), description="Blocked people and groups.")
    groups: Entries = Field((), description="Groups in which everyone can use the bot.")
    guests: bool = Field(
        False,
        description='true: "everyone" includes workspace guests and people from other organizations.',
    )


class AppRule(Section):
    """A third-party app, bot or webhook whose messages may start turns. It counts as a member."""

    id: AccessEntry = Field(
        description="Id of the app, as platform:id or account:id; the log event `app_ignored` shows it."
    )
    chats: Entries = Field((), description="Chats in which the app may start turns; empty: every chat.")
    mention: Switch = Field(
        True,
        description="true: only messages that mention the bot or reply to it start a turn; false: all do.",
    )


class AccessOverrides(Section):
    """Access rules of one account. A key replaces the general one if set, except that `blocked` extends
    it.
    """

    default: Default | None = Field(None, description="Replaces access.default for this account.")
    owners: Entries | None = Field(None, description="Replaces access.owners for this account.")
    admins: Entries | None = Field(None, description="Replaces access.admins for this account.")
    members: Entries | None = Field(None, description="Replaces access.members for this account.")
    blocked: Entries | None = Field(
        None, description="Blocked people and groups, in addition to access.blocked."
    )
    groups: Entries | None = Field(None, description="Replaces access.groups for this account.")
    guests: bool | None = Field(None, description="Replaces access.guests for this account.")

    def over(self, general: AccessConfig) -> AccessConfig:
        """Return the effective rules of the account."""
        overrides = {
            name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None
        }
        overrides["blocked"] = tuple(dict.fromkeys((*general.blocked, *(self.blocked or ()))))
        return general.model_copy(update=overrides)
