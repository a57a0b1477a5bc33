"""Changes of the configuration as data, applied to its text. Secrets become variables of `secrets.env`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from agent.config.document import parse_document
from agent.config.edit import move_first, remove_value, set_value
from agent.config.errors import ConfigErrors, KeyPath, format_key, one_error
from agent.config.models import CONFIG_VERSION
from bot.config.access import AccessConfig
from bot.config.accounts import ACCOUNT_NAME
from bot.config.events import NAME, Kind
from bot.config.models import ApprovalsConfig, BudgetsConfig
from bot.config.platforms import find_schema, needed_keys
from bot.domain import LOCAL_PLATFORMS

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$")]
Line = Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\r\n\x00]*$")]
Value = (
    bool | int | Annotated[str, Field(max_length=300)] | Annotated[list[Line], Field(max_length=500)] | None
)
OPENAI_CLASS = "langchain_openai:ChatOpenAI"
"""The class for a server that is compatible with OpenAI's API."""


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def apply(self, draft: ConfigDraft) -> None:
        """Apply the change to a draft. Raises ConfigErrors; the draft is then useless."""
        raise NotImplementedError


class ConnectModel(_Change):
    """Add a model. `provider` is one of those offered; without one, a server compatible with OpenAI's API
    answers at `base_url`. Without `api_key`, the provider's environment variable is used. `default`: new
    conversations use it.
    """

    kind: Literal["model"] = "model"
    name: Name
    model: Line
    provider: Line = ""
    base_url: Line = ""
    display_name: Line = ""
    api_key: SecretStr | None = None
    default: bool = False

    def apply(self, draft: ConfigDraft) -> None:
        models = draft.data.get("models") or []
        if any(isinstance(one, dict) and one.get("name") == self.name for one in models):
            raise one_error(
                draft.file, f"the model {self.name} already exists; choose another name", key="models"
            )
        if self.provider and self.provider not in draft.offers:
            raise one_error(draft.file, f"there is no provider {self.provider}", key="models")
        if not self.provider and not self.base_url:
            raise one_error(draft.file, "choose a provider, or enter the address of a server", key="base_url")
        offer = draft.offers.get(self.provider, {"use": OPENAI_CLASS, "api_key": "none"})
        entry = {"name": "", **offer} | {"name": self.name, "model": _escape(self.model)}
        typed = {"base_url": self.base_url, "display_name": self.display_name}
        entry |= {key: _escape(value) for key, value in typed.items() if value}
        if self.api_key is not None and self.api_key.get_secret_value():
            entry["api_key"] = draft.add_secret(self.api_key.get_secret_value(), self.name, "api_key")
        draft.set(("models",), [*models, entry])
        if self.default and models:
            draft.text = move_first(draft.text, draft.file, ("models",), len(models))


class ConnectAccount(_Change):
    """Add an account. `settings` are keys of the platform's schema, `variables` those whose value comes from
    a variable of the environment. `owner` is a person's id on the platform ("": nobody yet).
    """

    kind: Literal["account"] = "account"
    name: Annotated[str, StringConstraints(pattern=f"^{ACCOUNT_NAME.pattern}$")]
    platform: Line
    settings: dict[str, SecretStr] = Field(default_factory=dict, max_length=30)
    variables: dict[str, Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = Field(
        default_factory=dict, max_length=30
    )
    owner: Line = ""

    def apply(self, draft: ConfigDraft) -> None:
        schema = find_schema(self.platform)
        if schema is None or self.platform in LOCAL_PLATFORMS:
            raise one_error(draft.file, f"there is no platform {self.platform}", key="platform")
        place = ("channels", self.name)
        draft.check_new(place)
        settings = {} if self.name == self.platform else {"platform": self.platform}
        for key, given in self.settings.items():
            value = given.get_secret_value().strip()
            if key in {"name", "platform"} or key not in schema.model_fields:
                raise one_error(draft.file, "unknown key", key=format_key((*place, key)))
            secret = key in schema.secrets()
            settings[key] = draft.add_secret(value, self.name, key) if secret else _escape(value)
        settings |= {key: f"${variable}" for key, variable in self.variables.items()}
        draft.set(place, settings)
        if self.owner:
            _add_owner(draft, self.name, self.platform, self.owner)


class ReplaceCredentials(_Change):
    """Replace keys or tokens of an account, or the key of a model."""

    kind: Literal["credentials"] = "credentials"
    account: str = ""
    model: str = ""
    values: dict[str, SecretStr] = Field(min_length=1, max_length=10)

    def apply(self, draft: ConfigDraft) -> None:
        entry = (draft.data.get("channels") or {}).get(self.account)
        platform = str((isinstance(entry, dict) and entry.get("platform")) or self.account)
        place: KeyPath = ("channels", self.account)
        if self.model:
            place = ("models", draft.index_of(self.model))
            known = {"api_key"}
        elif isinstance(entry, dict) and (schema := find_schema(platform)):
            known = {*schema.secrets(), *needed_keys(platform)}
        else:
            raise one_error(draft.file, "there is no such account", key=f"channels.{self.account}")
        for key, value in self.values.items():
            if key not in known:
                raise one_error(draft.file, "this key holds no secret", key=format_key((*place, key)))
            owner = self.model or self.account
            draft.set((*place, key), draft.add_secret(value.get_secret_value(), owner, key))


class AddEventSource(_Change):
    """Add an event source, whose incidents are posted in a chat. `secret` proves its requests genuine."""

    kind: Literal["event_source"] = "event_source"
    name: Annotated[str, StringConstraints(pattern=f"^(?:{NAME.pattern})$")]
    type: Kind
    secret: SecretStr
    account: Line
    chat: Line
    topic: Line = ""
    private: bool = False

    def apply(self, draft: ConfigDraft) -> None:
        secret = draft.add_secret(self.secret.get_secret_value(), "events", self.name, "secret")
        place = self.model_dump(include={"account", "chat", "topic", "private"})
        route = {"source": self.name, **{key: value for key, value in place.items() if value}}
        draft.check_new(("events", "sources", self.name))
        draft.set(("events", "sources", self.name), {"type": self.type, "secrets": secret})
        draft.set(("events", "routes"), [*_routes(draft), route])


class ChangeSettings(_Change):
    """Set keys of a section; `values` are by dotted key, null restores the default.

    `section` is access, approvals, budgets, or `channels.NAME`.
    """

    kind: Literal["settings"] = "settings"
    section: Line
    values: dict[str, Value] = Field(min_length=1, max_length=50)

    def apply(self, draft: ConfigDraft) -> None:
        section, _, account = self.section.partition(".")
        place: KeyPath = (section, account) if account else (section,)
        is_account = section == "channels" and account in (draft.data.get("channels") or {})
        if section not in SETTINGS or (is_account is not bool(account) and account not in LOCAL_PLATFORMS):
            raise one_error(draft.file, "there is no such section", key=self.section)
        for key, value in self.values.items():
            if key not in SETTINGS[section]:
                raise one_error(draft.file, "this key can't be changed here", key=f"{self.section}.{key}")
            draft.set((*place, *key.split(".")), _escape(value))


class ChooseDefaultModel(_Change):
    """Use a configured model for new conversations."""

    kind: Literal["default_model"] = "default_model"
    name: str

    def apply(self, draft: ConfigDraft) -> None:
        if index := draft.index_of(self.name):
            draft.text = move_first(draft.text, draft.file, ("models",), index)
        draft.keys.append("models")


class Remove(_Change):
    """Remove a model, an account, or an event source with its routes."""

    kind: Literal["remove"] = "remove"
    what: Literal["model", "account", "event_source"]
    name: str

    def apply(self, draft: ConfigDraft) -> None:
        if self.what == "model":
            draft.set(("models", draft.index_of(self.name)), None)
            return
        place = ("channels",) if self.what == "account" else ("events", "sources")
        if not _has(draft.data, (*place, self.name)):
            raise one_error(draft.file, "is not in the file", key=format_key((*place, self.name)))
        draft.set((*place, self.name), None)
        for index, route in reversed([*enumerate(_routes(draft) if self.what == "event_source" else ())]):
            if isinstance(route, dict) and route.get("source") in (self.name, [self.name]):
                draft.set(("events", "routes", index), None)


Change = Annotated[
    ConnectModel
    | ConnectAccount
    | ReplaceCredentials
    | AddEventSource
    | ChangeSettings
    | ChooseDefaultModel
    | Remove,
    Field(discriminator="kind"),
]
_ACCESS = frozenset(AccessConfig.model_fields)
ACCESS_LISTS = ("owners", "admins", "members", "blocked", "groups")
ACCOUNT_KEYS = frozenset({"enabled", "locale", "busy", "isolation", "model", "agent"})
SETTINGS: Mapping[str, frozenset[str]] = {
    "access": _ACCESS,
    "approvals": frozenset(ApprovalsConfig.model_fields),
    "budgets": frozenset(
        f"{scope}.{key}"
        for scope in BudgetsConfig.model_fields
        for key in ("messages_per_hour", "tokens_per_day")
    ),
    "channels": ACCOUNT_KEYS | {f"access.{key}" for key in _ACCESS},
}
"""Keys that `ChangeSettings` may set. None of them names a program or a secret."""


@dataclass(slots=True)
class ConfigDraft:
    """The new text of a file, the secrets that it adds, and the changed keys.

    `taken` are the names of variables that have another value; `offers` are entries of models by provider.
    `before` is the text of the file, and `version` its version.
    """

    text: str
    file: str
    taken: Collection[str] = ()
    offers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    keys: list[str] = field(default_factory=list)
    before: str = field(default="", repr=False)
    version: str = "none"

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text. Raises ConfigErrors."""
        return parse_document(self.text, self.file).data

    def add_secret(self, value: str, *words: str) -> str:
        """Add a secret, and return the reference to it."""
        name = re.sub(r"\W", "_", "_".join(words).upper(), flags=re.ASCII)
        name = name if name[0].isalpha() else f"_{name}"
        names = (name, *(f"{name}_{number}" for number in range(2, 10_000)))
        free = next(one for one in names if one not in self.taken and one not in self.secrets)
        self.secrets[free] = value.strip()
        return f"${free}"

    def check_new(self, path: KeyPath) -> None:
        """Check that a key is available. Raises ConfigErrors if it exists."""
        if _has(self.data, path):
            raise one_error(self.file, f"{format_key(path)} already exists; choose another name with --name")

    def set(self, path: KeyPath, value: Any) -> None:
        """Set a key, or remove it (None)."""
        if not self.text.strip():
            self.text = f"config_version: {CONFIG_VERSION}\n"
        if value is not None:
            self.text = set_value(self.text, self.file, path, value)
        elif _has(self.data, path):
            self.text = remove_value(self.text, self.file, path)
        self.keys.append(format_key(path))

    def index_of(self, model: str) -> int:
        """Return the place of a model in the list. Raises ConfigErrors."""
        names = [one.get("name") for one in self.data.get("models") or () if isinstance(one, dict)]
        if model not in names:
            raise one_error(self.file, f"there is no model {model}", key="models")
        return names.index(model)


def _has(data: Any, path: KeyPath) -> bool:
    for part in path:
        known = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if part not in known:
            return False
        data = data[part]
    return True


def _add_owner(draft: ConfigDraft, account: str, platform: str, person: str) -> None:
    """Make a person an owner of an account.

    The entry has the account's scope, because an id can belong to somebody else in another workspace. Where
    `access.owners` can't be extended in place (an alias), the account gets a list of its own, which begins
    with the entries of the general one that apply to the account.
    """
    found = (draft.data.get("access") or {}).get("owners") or []
    owners = found if isinstance(found, list) else [found]
    if not {f"{platform}:{person}", f"{account}:{person}"}.isdisjoint(owners):
        return
    owners = [*owners, f"{account}:{person}"]
    try:
        draft.set(("access", "owners"), owners)
    except ConfigErrors:
        own = [entry for entry in owners if str(entry).partition(":")[0] in {account, platform}]
        draft.set(("channels", account, "access", "owners"), own)


def _escape(value: Value) -> Any:
    """Escape typed texts by doubling a leading dollar sign."""
    if isinstance(value, list):
        return [_escape(item) for item in value]
    return f"${value}" if isinstance(value, str) and value.startswith("$") else value


def _routes(draft: ConfigDraft) -> Sequence[Any]:
    return (draft.data.get("events") or {}).get("routes") or ()
