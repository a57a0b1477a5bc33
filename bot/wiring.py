"""Shared services: store, clock, runtime, running accounts and current settings."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from prometheus_client import Metric

from bot.access import AccessPolicy, GrantedRoles, PermissionPolicy, Role
from bot.account_state import AccountState
from bot.account_view import AccountView, LimitsUsage, MessageLimits, no_policy
from bot.chat_zones import ChatTitles, ChatZones
from bot.clock import Clock
from bot.config import AccessConfig, AccessEntry, Config, masked, secrets_of
from bot.domain import (
    DIRECT_PLATFORMS,
    LOCAL_PLATFORMS,
    SIGN_ON,
    ChatKind,
    Isolation,
    IsolationPolicy,
    Mention,
    Origin,
    Sender,
)
from bot.languages import Languages
from bot.platforms.manifest import Manifest
from bot.profiles import ProvidesSettings
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.app_budget import AppBudget
from bot.store.audit import Actor
from bot.store.chat_record import NO_RECORD, ChatRecord
from bot.store.connection import Connection
from bot.store.open_work import Reach
from bot.store.outages import StoreOutages
from bot.store.ownership import Ownership
from bot.store.person_data import PersonData, PersonKey
from bot.texts import TypedCommands, texts_for
from bot.turn import OpenedTurn, Turn

MEGABYTE = 1_000_000

P = TypeVar("P")


def create_id() -> str:
    """Return a new random id, for example of an agent thread."""
    return str(uuid.uuid4())


class RunningAccount(Protocol):
    """An account operated by the service."""

    @property
    def assistant(self) -> str:
        """The account's assistant ("" for the runtime client's default)."""
        ...

    @property
    def manifest(self) -> Manifest:
        """The manifest of the account's platform."""
        ...


@dataclass(frozen=True, slots=True)
class PlatformOffer:
    """A platform available for new accounts: the entry's required keys, each with its variable's name, and a
    plug-in's documentation page ("" for none).
    """

    name: str
    manifest: Manifest
    keys: Mapping[str, str]
    guide: str = ""


class AccountRegistry(Protocol):
    """The accounts that the service runs."""

    def get(self, account: str) -> RunningAccount | None:
        """Return a running account by name, or None if the configuration does not contain it."""
        ...

    def state(self, account: str) -> AccountState:
        """Return an account's live state."""
        ...

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        """Return every account's platform and live state, by name."""
        ...

    def restart(self, account: str) -> bool:
        """Restart an account. Return False if it does not exist."""
        ...

    def forget_person(self, person: PersonKey) -> None:
        """Delete a person's messages from memory."""
        ...

    async def list_members(self, scope: str, kind: str, group: str) -> Mapping[str, str]:
        """Return the ids and names of the people in a platform's group, for example a user group.

        `scope` is an account or a platform. Waits until one is connected. Raises DeliveryError if none can
        list them.
        """
        ...

    def offers(self) -> Sequence[PlatformOffer]:
        """Return the platforms available for new accounts."""
        ...


class OnCall:
    """Schedules of people on call. By default, there are none."""

    async def find_mentions(self, schedule: str, account: str, at: float) -> Sequence[Mention]:
        """Return the people whom a message on an account mentions about something that happened `at` (s).

        These are the people on call then, without an id where it is unknown. If none of them has an id, or
        nobody is on call, or that is unknown, the account's admins and owners are included.
        """
        return ()

    async def list_on_call(self, schedule: str, account: str, at: float) -> Sequence[Mention]:
        """Return the people who are on call at a time (s). An id that is unknown on the account is ""."""
        return ()

    def list_people(self, account: str) -> Sequence[Mention]:
        """Return everyone whom `find_mentions` can return with an id."""
        return ()


class RunControl(Protocol):
    """Control of open turns, for commands and features."""

    async def stop(self, conversation: int, actor: Actor | None = None, command: int = 0) -> bool:
        """Stop a run, or give up its pending approval. Return whether there was one.

        Messages that wait are answered once the turn `command` (0: none), which announces that, is closed.
        """
        ...

    def interrupt_run(self, conversation: int) -> None:
        """Interrupt a run in favor of a newer message."""
        ...

    def joined_count(self, conversation: int) -> int:
        """Return the number of waiting messages that have joined a conversation's run."""
        ...

    def wake_conversation(self, conversation: int) -> None:
        """Process a conversation's open turns."""
        ...

    def deliver_notice(self, turn: int) -> None:
        """Deliver a notice created by the store."""
        ...

    async def takes_notices(self, turn: Turn) -> bool:
        """Return whether the turn's chat accepts notices: False if it only accepts messages in topics."""
        ...

    def dispatch_turn(self, opened: OpenedTurn) -> None:
        """Process a turn that the service has opened."""
        ...


@runtime_checkable
class RetriesTurns(Protocol):
    """A part that retries failed turns."""

    def will_retry(self, turn: Turn) -> bool:
        """Return whether the turn will be retried if it fails."""
        ...


@runtime_checkable
class ReportsMetrics(Protocol):
    """A part that adds metrics to `/metrics`."""

    async def collect_metrics(self) -> Iterable[Metric]:
        """Return the current metrics."""
        ...


@runtime_checkable
class FindsWork(Protocol):
    """A part with a job that looks for work in the store, which another replica may have stored."""

    def wake(self) -> None:
        """Look now."""
        ...


@runtime_checkable
class AddsToOverview(Protocol):
    """A part that adds to the overview of the console."""

    def collect_overview(self, connection: Connection, reach: Reach, midnight: float) -> Mapping[str, Any]:
        """Return fields of `bot.server.api.overview.Overview` with what is within reach. `midnight` is when
        the day of the caller began (s).
        """
        ...


@runtime_checkable
class HoldsSettings(Protocol):
    """A part with settings that are made at run time and cached in memory."""

    async def load_settings(self) -> None:
        """Reload the settings from the store."""
        ...


class Core:
    """Store, clock, runtime, running accounts and cached settings. Call `load_settings` first.

    `server` is the configuration of the port as of the start; `address` is the URL of the service, "" before
    it listens; `config_problem` is why the changed configuration was rejected; `home` is the data directory;
    `runs` controls the open turns; `person_data` is what features store about people; `ownership` is what
    this process owns, if there are replicas.
    """

    runs: RunControl
    person_data: Sequence[PersonData] = ()

    def __init__(
        self,
        config: Config,
        db: Database,
        clock: Clock,
        runtime: AgentRuntime,
        accounts: AccountRegistry,
        home: Path,
        new_id: Callable[[], str] = create_id,
        ownership: Ownership | None = None,
    ) -> None:
        self.config = config
        self.server = config.server
        self.address = ""
        self.config_problem = ""
        self.db = db
        self.clock = clock
        self.runtime = runtime
        self.accounts = accounts
        self.home = home
        self.new_id = new_id
        self.outages = StoreOutages(db, clock)
        self.ownership = ownership or Ownership(db, clock)
        self.people = GrantedRoles(db)
        self.languages = Languages(db)
        self.record: ChatRecord = NO_RECORD
        self.usage: LimitsUsage = LimitsUsage()
        self.on_call: OnCall = OnCall()
        self.zones = ChatZones(db, lambda: self.config.schedules.timezone)
        self.chat_titles = ChatTitles(db)
        self.permissions = PermissionPolicy(self._platforms, self.policy)
        self._views: dict[str, AccountView] = {}
        self._parts: dict[type, Any] = {}

    def add_part(self, part: object) -> None:
        """Add a feature's part. Raises ValueError if a part of its class exists."""
        if type(part) in self._parts:
            raise ValueError(f"two features have a {type(part).__name__}")
        self._parts[type(part)] = part
        if isinstance(part, LimitsUsage):
            self.usage = part
        if isinstance(part, ChatRecord):
            self.record = part
        if isinstance(part, OnCall):
            self.on_call = part
        self._views.clear()

    def part(self, kind: type[P]) -> P:
        """Return the feature part of this class. Raises LookupError if there is none."""
        return cast("P", self._parts[kind])

    @property
    def parts(self) -> Collection[object]:
        """Return the parts of all features."""
        return self._parts.values()

    def will_retry(self, turn: Turn) -> bool:
        """Return whether a feature will retry the turn if it fails."""
        return any(part.will_retry(turn) for part in self.parts if isinstance(part, RetriesTurns))

    @property
    def console_url(self) -> str:
        """The public URL of the console, "" if none is configured."""
        return self.server.public_url or (self.address if self.server.is_loopback else "")

    def apply_config(self, config: Config) -> None:
        """Replace the configuration."""
        self.config = config
        self._views.clear()

    async def load_settings(self) -> None:
        """Load runtime settings from the store: roles, recorded chats, limits and languages."""
        await self.people.load_grants()
        await self.languages.load_languages()
        for part in self._parts.values():
            if isinstance(part, HoldsSettings):
                await part.load_settings()

    def account(self, name: str) -> AccountView:
        """Return an account's settings, or those of an unknown account if it isn't configured."""
        known = self._views.get(name)
        if known is not None:
            return known
        config = self.config
        found = config.channels.get(name)
        if found is None:
            return AccountView(name, "", no_policy(name), texts_for("en"), configured=False)
        rules = config.access_for(name)
        view = self._views[name] = AccountView(
            name,
            found.platform,
            AccessPolicy(rules, self.people, self.role_on_home_account, config.app_rules(name)),
            texts_for(found.locale, partial(self._typed_commands, name)),
            record=self.record,
            usage=self.usage,
            rules=rules,
            own_rules=found.access,
            isolation=IsolationPolicy(Isolation(found.isolation)),
            private_isolation=IsolationPolicy(Isolation(found.private_isolation)),
            limits=MessageLimits(config.limits.message_characters, config.limits.file_mb * MEGABYTE),
            settings=config.place_settings(name),
            providers=[one for one in self.parts if isinstance(one, ProvidesSettings)],
            retention_days=config.kept_days(name),
            languages=self.languages,
            permissions=self.permissions,
            approvals=config.approvals,
            app_budget=AppBudget(found.app_turns, found.app_minutes * 60.0) if found.apps else None,
        )
        return view

    def _typed_commands(self, name: str) -> TypedCommands:
        """Return the way people type commands to an account."""
        running = self.accounts.get(name)
        if running is None:
            return TypedCommands()
        return TypedCommands(running.manifest.commands, self.accounts.state(name).identity)

    def configured_accounts(self) -> list[AccountView]:
        """Return the settings of every configured account."""
        return [self.account(name) for name in self.config.channels]

    def policy(self, account: str) -> AccessPolicy:
        """Return the access policy of an account."""
        return self.account(account).policy

    def role_on_home_account(self, sender: Sender) -> Role:
        """Return the role of a person who signed in to the console by a link, by the rules of the account
        they came from; STRANGER if that account no longer exists. People who signed in by `server.oidc` have
        the roles of their groups, and they and API tokens those that were granted to them.
        """
        platform, _, id_ = sender.id.partition(":")
        person = replace(sender, id=id_, account="")
        origin = Origin(sender.account, platform, "", ChatKind.PRIVATE, "", person)
        if platform in DIRECT_PLATFORMS and sender.account == platform:
            oidc = self.server.oidc if platform == SIGN_ON else None
            if platform == SIGN_ON and (oidc is None or oidc.membership not in sender.belongs):
                return Role.STRANGER
            rules = oidc.rules if oidc else AccessConfig(default="closed")
            return AccessPolicy(rules, self.people).role_of(origin)
        home = self.account(sender.account)
        if not home.configured or home.platform != platform or platform in LOCAL_PLATFORMS:
            return Role.STRANGER
        return home.policy.role_of(origin)

    def highest_role(self, entry: AccessEntry) -> Role:
        """Return the highest role of an access entry on any account, configured or granted."""
        configured = (self.policy(name).configured_role_of_entry(entry) for name in self.config.channels)
        return max(
            *configured,
            AccessPolicy(self.config.access).configured_role_of_entry(entry),
            self.people.highest_granted_role(entry),
        )

    def _platforms(self) -> Mapping[str, str]:
        """Return the platform of each account, including disabled and broken accounts."""
        return {name: platform for name, (platform, _) in self.accounts.states().items()}

    def mask_secrets(self, text: str) -> str:
        """Return a text without the secrets of the configuration."""
        return masked(text, secrets_of(self.config))
