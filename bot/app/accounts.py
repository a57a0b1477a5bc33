"""Supervision of the configured accounts, each with its own backoff and live state."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import orjson
import structlog

from agent.shared.gc_tuning import freeze_heap
from agent.shared.install_hints import install_command, own_extra
from bot.account_state import AccountState, Live
from bot.bus.admission import AdmissionPolicy
from bot.bus.message_bus import AccountInbox, MessageBus
from bot.clock import Clock
from bot.config import AccountConfig
from bot.config.platforms import find_platform, known_platforms, needed_keys
from bot.dispatch.pacing import AccountChannel, RateGovernor
from bot.domain import LOCAL_PLATFORMS
from bot.errors import (
    AccountError,
    AccountRefused,
    DeliveryCategory,
    DeliveryError,
    StartError,
    StoreUnavailable,
)
from bot.platforms.base import (
    Adapter,
    AdapterContext,
    AdapterFactory,
    CommandHint,
    ListsMembers,
    RegistersCommands,
    RemembersPeople,
)
from bot.platforms.manifest import Manifest, Platform
from bot.store.ownership import ACCOUNT, Ownership
from bot.store.person_data import PersonKey
from bot.wiring import PlatformOffer

log = structlog.get_logger(__name__)

# Seconds between starts of an account that lost its connection; a refused account is not retried until it is
# restarted by a person.
BACKOFF = (1.0, 5.0, 15.0, 60.0, 300.0)
LASTED = 60.0
# A rate limit does not end a connection.
_CONNECTED = frozenset({Live.LIVE, Live.LIMITED})


def load_manifest(name: str) -> Manifest:
    """Load a platform's manifest without its SDK. Raises StartError like `load_platform`."""
    return load_platform(name).manifest


def load_platform(name: str) -> Platform:
    """Load a platform without its SDK. Raises StartError if it does not exist or can't be used."""
    installed = find_platform(name)
    if installed is None:
        raise StartError(f"there is no platform {name}; choose {', '.join(known_platforms())}")
    offer = installed.offer
    if offer is None:
        raise StartError(installed.complaint)
    if isinstance(offer, Platform) and isinstance(offer.manifest, Manifest):
        if offer.manifest.platform == name:
            return offer
        reason = f'its manifest names the platform "{offer.manifest.platform}"'
    else:
        reason = "its entry point is not a bot.platforms.manifest.Platform with a Manifest"
    raise StartError(replace(installed, problem=reason).complaint)


def offer_platform(platform: str) -> PlatformOffer:
    """Describe a platform for adding an account. Raises StartError if it can't be used."""
    offer = load_platform(platform)
    return PlatformOffer(platform, offer.manifest, needed_keys(platform), offer.guide)


def load_factory(manifest: Manifest) -> AdapterFactory:
    """Load a platform's adapter factory. Raises StartError, with the install command if its SDK is
    missing.
    """
    for logger in manifest.noisy_loggers:
        logging.getLogger(logger).setLevel(logging.WARNING)
    module, _, name = manifest.adapter.partition(":")
    try:
        factory: AdapterFactory = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        missing = f"{manifest.title} needs the package {error.name}."
        installed = find_platform(manifest.platform)
        if installed is not None and not installed.is_built_in:
            raise StartError(f"{missing} Reinstall {installed.package} with its dependencies") from error
        command = install_command(own_extra(manifest.extra))
        raise StartError(f"{missing} Install it, then restart the service: {command}") from error
    except Exception as error:  # a plug-in's module may raise anything, and must not stop other accounts
        if not isinstance(error, ImportError):
            log.exception("platform_crashed", platform=manifest.platform)
        raise StartError(f"{manifest.title} cannot be loaded: {error}") from error
    return factory


def load_setup(manifest: Manifest) -> object | None:
    """Load a platform's setup helper (`Manifest.setup`), or return None if it has none."""
    if not manifest.setup:
        return None
    module, _, name = manifest.setup.partition(":")
    helper: object = getattr(importlib.import_module(module), name)
    return helper


def make_adapter(manifest: Manifest, config: AccountConfig) -> Adapter:
    """Create the adapter of an account. Raises StartError."""
    factory = load_factory(manifest)
    try:
        adapter = factory(config.name, config)
    except StartError:
        raise
    except Exception as error:
        log.exception("account_crashed", account=config.name)
        raise StartError(f"internal error ({type(error).__name__})") from error
    if not isinstance(adapter, Adapter):
        raise StartError(f"{manifest.title} cannot be used: its factory returned no adapter")
    return adapter


@dataclass(slots=True)
class Account:
    """A running account."""

    config: AccountConfig
    channel: AccountChannel
    inbox: AccountInbox
    state: AccountState
    restart: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def needs_ownership(self) -> bool:
        """Return whether only its owner may connect."""
        return self.channel.manifest.one_connection and not self.config.is_called


class AccountDirectory:
    """All configured accounts; `run` supervises them until cancelled."""

    def __init__(self, clock: Clock, ownership: Ownership) -> None:
        self._clock = clock
        self._ownership = ownership
        self._accounts: dict[str, Account] = {}
        self._broken: dict[str, tuple[str, AccountState]] = {}
        self._off: dict[str, tuple[str, AccountState]] = {}
        # A reply in progress keeps its channel when the configuration changes.
        self._channels: dict[tuple[str, str], AccountChannel] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._watchers: list[Callable[[str, AccountState], None]] = []
        self._group: asyncio.TaskGroup | None = None
        self._hints: Callable[[str], list[CommandHint]] = lambda _account: []

    def add_account(self, config: AccountConfig, inbox: AccountInbox) -> AccountChannel | None:
        """Add an account. An account that can't be loaded is marked as failed; the others continue."""
        try:
            manifest = load_manifest(config.platform)
            adapter = make_adapter(manifest, config)
        except StartError as error:
            self._set_broken(config, error)
            return None
        self._broken.pop(config.name, None)
        governor = RateGovernor(manifest.budgets, self._clock, config.name, scale=config.rate_scale)
        channel = self._channels.setdefault(
            (config.name, config.platform), AccountChannel(config.name, adapter, manifest, governor)
        )
        channel.adapter, channel.governor = adapter, governor
        channel.assistant = config.assistant_id or ""
        state = AccountState(Live.CONNECTING, since=self._clock.now())
        self._accounts[config.name] = Account(config, channel, inbox, state)
        return channel

    def _set_broken(self, config: AccountConfig, error: StartError) -> None:
        log.error("account_failed", account=config.name, reason=str(error), refused=True)
        state = AccountState(Live.FAILED, str(error), since=self._clock.now())
        self._broken[config.name] = (config.platform, state)

    def set_disabled(self, configs: Sequence[AccountConfig]) -> None:
        """Set the disabled accounts, which are displayed as stopped."""
        now = self._clock.now()
        stopped = AccountState(Live.STOPPED, "not enabled in the configuration", since=now)
        self._off = {config.name: (config.platform, stopped) for config in configs}

    def apply_config(
        self,
        configs: Sequence[AccountConfig],
        admissions: Callable[[AccountConfig], AdmissionPolicy],
        bus: MessageBus,
    ) -> bool:
        """Apply a changed configuration: access rules immediately, other account changes by a restart.

        Return True if accounts were added, since turns may be waiting for them.
        """
        wanted = {config.name: config for config in configs if config.enabled}
        for name in [name for name in self._accounts if name not in wanted]:
            self._remove_account(name)
        self._broken = {name: broken for name, broken in self._broken.items() if name in wanted}
        came = False
        for name, config in wanted.items():
            known = self._accounts.get(name)
            if known is not None and known.config.platform != config.platform:
                self._remove_account(name)
                known = None
            if known is None:
                if self.add_account(config, bus.open_inbox(name, admissions(config))) is not None:
                    self._start_task(self._accounts[name])
                    came = True
                continue
            known.inbox.admissions = admissions(config)
            if known.config != config:
                self._change_account(known, config)
        self.set_disabled([config for config in configs if not config.enabled])
        return came

    def _change_account(self, account: Account, config: AccountConfig) -> None:
        """Restart an account with its new configuration; stop it if that configuration can't be used."""
        channel = account.channel
        try:
            channel.adapter = make_adapter(channel.manifest, config)
        except StartError as error:
            self._remove_account(config.name)
            self._set_broken(config, error)
            return
        if config.rate_scale != account.config.rate_scale:
            budgets = channel.manifest.budgets
            channel.governor = RateGovernor(budgets, self._clock, config.name, scale=config.rate_scale)
        channel.assistant = config.assistant_id or ""
        account.config = config
        account.restart.set()

    def _remove_account(self, name: str) -> None:
        """Stop an account. A new account of the same name starts once this one has stopped."""
        account = self._accounts.pop(name)
        account.channel.ready.clear()
        if account.task is not None:
            account.task.cancel()
            self._leaving[name] = account.task

    def watch_states(self, watcher: Callable[[str, AccountState], None]) -> None:
        """Register a callback for changes of an account's live state."""
        self._watchers.append(watcher)

    def get(self, account: str) -> AccountChannel | None:
        found = self._accounts.get(account)
        return found.channel if found else None

    def forget_person(self, person: PersonKey) -> None:
        """Delete a person's messages from the memory of the platform's adapters."""
        for account in self._accounts.values():
            adapter = account.channel.adapter
            if account.config.platform == person.platform and isinstance(adapter, RemembersPeople):
                adapter.forget_person(person.id)

    async def list_members(self, scope: str, kind: str, group: str) -> Mapping[str, str]:
        problem = DeliveryError(DeliveryCategory.PERMISSION, f"no account of {scope} can list members")
        found = [one for one in self._accounts.values() if scope in (one.config.name, one.config.platform)]
        for account in sorted(found, key=lambda one: not one.channel.ready.is_set()):
            if account.needs_ownership and not self._ownership.owns(account.config.name):
                continue
            if isinstance(account.channel.adapter, ListsMembers):
                await account.channel.ready.wait()
                try:
                    return await account.channel.adapter.list_members(kind, group)
                except DeliveryError as error:
                    problem = error
        raise problem

    def describe(self, account: str) -> str:
        """Return an account's state for other replicas."""
        found = self._accounts.get(account)
        return "" if found is None else orjson.dumps(asdict(found.state)).decode()

    def state(self, account: str) -> AccountState:
        found = self._accounts.get(account)
        if found is not None and found.needs_ownership:
            _, about = self._ownership.find_other_owner(account)
            if about:
                state = orjson.loads(about)
                return AccountState(**{**state, "live": Live(state["live"])})
        if found is None:
            nobody = ("", AccountState(Live.STOPPED, "not in the configuration"))
            return {**self._off, **self._broken}.get(account, nobody)[1]
        limited = found.channel.governor.limited_for()
        if found.state.live is Live.LIVE and limited > 0:
            return replace(found.state, live=Live.LIMITED, reason=f"for {limited:.0f} s more")
        return found.state

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        live = {name: (found.config.platform, self.state(name)) for name, found in self._accounts.items()}
        return {**self._off, **self._broken, **live}

    def offers(self) -> Sequence[PlatformOffer]:
        """Return the platforms for additional accounts, the built-in ones first."""
        offers = []
        for platform in known_platforms():
            if platform not in LOCAL_PLATFORMS:
                with suppress(StartError):  # a plug-in that can't be used; the log has the reason
                    offers.append(offer_platform(platform))
        return offers

    def restart(self, account: str) -> bool:
        """Restart an account. Return False if it does not exist."""
        found = self._accounts.get(account)
        if found is not None:
            found.restart.set()
        return found is not None

    async def run(self, hints: Callable[[str], list[CommandHint]]) -> None:
        """Supervise all accounts until cancelled. `hints` returns an account's menu commands."""
        self._hints = hints
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for account in self._accounts.values():
                    self._start_task(account)
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    async def wait_for_local(self) -> None:
        """Wait until the local accounts accept messages; their start involves no network."""
        for account in tuple(self._accounts.values()):
            if account.config.platform in LOCAL_PLATFORMS:
                await account.channel.ready.wait()

    def _start_task(self, account: Account) -> None:
        if self._group is not None:
            name = f"account:{account.config.name}"
            before = self._leaving.pop(account.config.name, None)
            account.task = self._group.create_task(self._own(account, before), name=name)

    async def _own(self, account: Account, before: asyncio.Task[None] | None) -> None:
        """Run an account, or only while this process owns it if one connection has all its events."""
        if before is not None:
            await asyncio.wait({before})
        name, work = ACCOUNT + account.config.name, partial(self._supervise, account)
        if account.needs_ownership:
            await self._ownership.while_held(name, work)
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            group.create_task(self._ownership.while_held(name, partial(_restart_afterwards, account)))

    async def _supervise(self, account: Account) -> None:
        failures = 0
        while True:
            started = self._clock.now()
            account.restart.clear()
            try:
                reason, refused = await self._run_once(account)
            except Exception as error:  # supervisor: the failure of an account must not affect others
                log.exception("account_crashed", account=account.config.name)
                reason, refused = f"internal error ({type(error).__name__})", False
            finally:
                self._report_state(account, AccountState(Live.STOPPED))
            failures = 0 if self._clock.now() - started > LASTED else failures + 1
            if reason:
                self._report_state(account, AccountState(Live.FAILED, reason))
                log.error("account_failed", account=account.config.name, reason=reason, refused=refused)
            if not account.restart.is_set():
                await self._wait_for_restart(
                    account, None if refused else BACKOFF[min(failures, len(BACKOFF)) - 1]
                )

    async def _run_once(self, account: Account) -> tuple[str, bool]:
        """Run an account until it stops. Return the reason ("" if requested), and whether retrying is
        pointless.
        """
        self._report_state(account, AccountState(Live.CONNECTING))
        context = AdapterContext(account.inbox, lambda state: self._report_state(account, state), self._clock)
        adapter = account.channel.adapter
        work = asyncio.ensure_future(adapter.start(context))
        again = asyncio.ensure_future(account.restart.wait())
        menu = asyncio.ensure_future(self._register_menu(account))
        tasks: set[asyncio.Future[Any]] = {work, again}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await adapter.stop()
            await asyncio.wait({work})
            if not work.cancelled():  # a start that was cancelled has no result to report
                await work
        except AccountRefused as error:
            return str(error), True
        except (AccountError, StoreUnavailable) as error:
            return str(error), False
        finally:
            for task in (work, again, menu):
                task.cancel()
            await asyncio.gather(work, again, menu, return_exceptions=True)
            await adapter.stop()
        return "", False

    async def _register_menu(self, account: Account) -> None:
        """Register the commands in the platform's native menu, once connected."""
        await account.channel.ready.wait()
        adapter = account.channel.adapter
        if isinstance(adapter, RegistersCommands):
            try:
                await adapter.register_commands(self._hints(account.config.name))
            except DeliveryError as error:
                log.warning("menu_failed", account=account.config.name, category=error.category.value)

    async def _wait_for_restart(self, account: Account, seconds: float | None) -> None:
        waiting: set[asyncio.Future[Any]] = {asyncio.ensure_future(account.restart.wait())}
        if seconds is not None:
            waiting.add(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _report_state(self, account: Account, state: AccountState) -> None:
        old = account.state
        changed = state.live is not old.live
        account.state = replace(
            state,
            since=self._clock.now() if changed else old.since,
            identity=state.identity or old.identity,
            last_event=state.last_event or old.last_event,
        )
        channel = account.channel
        if state.live not in _CONNECTED:
            channel.connected_at = None
        elif state.live is Live.LIVE and channel.connected_at is None:
            channel.connected_at = self._clock.now()
        if state.live is Live.LIVE and not channel.ready.is_set():
            channel.ready.set()
            # The platform's SDK is loaded by now, so its objects can be excluded from garbage collection.
            freeze_heap()
        if changed:
            log.info(
                "account_state", account=account.config.name, state=state.live.value, reason=state.reason
            )
            for watcher in self._watchers:
                watcher(account.config.name, account.state)


async def _restart_afterwards(account: Account) -> None:
    """Wait for the end of an ownership, then restart the account, whose adapter may hold open streams."""
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        account.restart.set()
