"""Schemas of the set-up routes. No response contains a secret: a credential is only `set` or not."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bot.config.changes import Change
from bot.server.api.schemas import ApiModel


class CredentialState(ApiModel):
    """A key that holds a secret: whether it is set, and the variable that it comes from ("": in the file)."""

    key: str
    set: bool
    variable: str


class AccountSettings(ApiModel):
    """An account in the file. `values` are its other keys as written there."""

    name: str
    platform: str
    enabled: bool
    state: str
    reason: str
    identity: str
    values: dict[str, Any]
    credentials: list[CredentialState]


class ModelSettings(ApiModel):
    """A model in the file; the first is the default. `values` are its other keys as written there."""

    name: str
    model: str
    base_url: str
    default: bool
    values: dict[str, Any]
    credentials: list[CredentialState]


class EventSourceSettings(ApiModel):
    """An event source in the file, with the routes that name it."""

    name: str
    type: str
    secret: bool
    routes: list[dict[str, Any]]


class Settings(ApiModel):
    """The settings as written in the file, without secrets. `version` is the file's, for `If-Match`.

    `file` is its name, `exists` whether it is there, `writable` whether this service can change it.
    `problems` are those of the file: while there are any, the service uses the last valid one. `models_here`
    is false if the models belong to an agent runtime elsewhere. `access`, `budgets` and `approvals` are the
    sections.
    """

    version: str
    file: str
    exists: bool
    writable: bool
    problems: list[Problem]
    models_here: bool
    accounts: list[AccountSettings]
    models: list[ModelSettings]
    event_sources: list[EventSourceSettings]
    access: dict[str, Any]
    budgets: dict[str, Any]
    approvals: dict[str, Any]


class Problem(ApiModel):
    """What is wrong and what to do. `key` is the place in the file ("models[0].name"), `line` 0 for none."""

    key: str
    line: int
    text: str


class FieldOption(ApiModel):
    """A key to ask for: `label` is the question, `choices` are the possible values (empty: any)."""

    key: str
    label: str
    secret: bool
    required: bool
    default: str
    choices: list[str]


class PlatformOption(ApiModel):
    """A platform for a new account: the steps before its keys are entered, the one after they are accepted,
    and those that need a connected account. `link` opens the page that creates the app with everything filled
    in ("": none), `manifest` can be pasted there instead. `person` describes a person's id.
    """

    name: str
    title: str
    fields: list[FieldOption]
    link: str
    manifest: str
    steps: list[str]
    invite_step: str
    later_steps: list[str]
    write_to_it: str
    person: str
    person_pattern: str


class ProviderOption(ApiModel):
    """A provider of models. `variable` is that of its key ("": it needs none), `available` whether it can be
    used without a key being entered.
    """

    name: str
    label: str
    model: str
    variable: str
    available: bool


class Options(ApiModel):
    """What can be set up. `event_types` are types of event sources; the systems of `issuing_types` generate
    the secret themselves. `keys` are those that a change of kind `settings` may set, by section;
    `config_schema` is the JSON schema of the configuration.
    """

    platforms: list[PlatformOption]
    providers: list[ProviderOption]
    event_types: list[str]
    issuing_types: list[str]
    keys: dict[str, list[str]]
    config_schema: dict[str, Any]


class ChangeRequest(BaseModel):
    """Changes, applied together in their order."""

    model_config = ConfigDict(extra="forbid")
    changes: list[Change] = Field(min_length=1, max_length=20)


class RestoreRequest(BaseModel):
    """The number of a version."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(ge=1, lt=2**53)


class Preview(ApiModel):
    """What would change: a unified difference without secrets, the changed keys, the problems that prevent
    it, and whether the caller may apply it (`refused` says why not).
    """

    version: str
    difference: str
    keys: list[str]
    problems: list[Problem]
    refused: str


class Applied(ApiModel):
    """The result of a change: the file's new version, the changed keys, the sections that are in force now
    and those that need a restart. `problems` are parts that the agent runtime can't use.
    """

    version: str
    keys: list[str]
    live: list[str]
    after_restart: list[str]
    problems: list[Problem]


class VersionInfo(ApiModel):
    """A stored version. `keys` are what it changed (empty: changed in an editor). `difference` is that to the
    version before, without secrets. `by` is the name of who saved it ("": unknown).
    """

    number: int
    at: float
    current: bool
    keys: list[str]
    difference: str
    by: str = ""


class Versions(ApiModel):
    """The last versions, the newest first, and the file's version for `If-Match`."""

    version: str
    versions: list[VersionInfo]


Settings.model_rebuild()
