"""The composition root: builds the service from its configuration and runs all of its parts.

Only this module knows how the bundled runtime is started.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import structlog

from agent.shared.gc_tuning import freeze_heap
from agent.shared.tls import tls_context
from bot.access import AccessPolicy, GrantedRoles, Role
from bot.access.budgets import Budgets
from bot.access.policy import LOCAL_PLATFORMS
from bot.app.accounts import AccountDirectory
from bot.app.home import lock_home, prepare_home, write_service_file
from bot.bus.admission import AccountRules, AdmissionPolicy, MessageLimits
from bot.bus.message_bus import MessageBus
from bot.clock import Clock, SystemClock
from bot.commands.core_commands import builtin
from bot.config import (
    AccessEntry,
    AccountConfig,
    Config,
    ConfigWatcher,
    LoadedConfig,
    Rejected,
    Reloaded,
    masked,
    secrets_of,
)
from bot.dispatch.dispatcher import Dispatcher
from bot.domain import Busy, ChatKind, Isolation, IsolationPolicy, Origin, Sender, Turn, TurnKind
from bot.errors import RoebotError, RuntimeProblem
from bot.platforms.base import CommandHint
from bot.privacy.chat_record import RecordSettings
from bot.privacy.retention import RetentionJob
from bot.runtime.child import RuntimeChild
from bot.runtime.client import READ_TIMEOUT, LangGraphRuntime
from bot.runtime.interface import ConfigProblem
from bot.runtime.spawn import RuntimeProcess
from bot.schedules.scheduled_runs import SchedulerHooks
from bot.schedules.scheduler import Scheduler
from bot.schedules.service import ScheduleService
from bot.store import Database, open_database
from bot.store.budgets import purge_meters
from bot.store.record import purge_record
from bot.store.retention import purge_expired
from bot.store.scheduled_runs import OpenedTurn
from bot.store.schedules import Schedule
from bot.texts import Texts, texts_for

log = structlog.get_logger(__name__)

TIMEOUT = httpx.Timeout(READ_TIMEOUT, connect=5.0)
MEGABYTE = 1_000_000
NEEDS_RESTART = frozenset({"server", "runtime", "database"})
HOUSEKEEPING_EVERY = 6 * 3600.0
COUNTS_KEPT = 2 * 3600.0


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Start options of a service, from the command line and the environment.

    `runtime` is a runtime process that was started before the service was loaded (None: the service starts
    its own).
    """

    home: Path
    loaded: LoadedConfig
    explicit_config: Path | None
    env: Mapping[str, str]
    cwd: Path
    runtime: RuntimeProcess | None = None


class BotService:
    """One bot with everything around it. `run` works until cancelled."""

    def __init__(self, settings: StartOptions, db: Database, clock: Clock) -> None:
        self.settings = settings
        self.db = db
        self.clock = clock
        self.config: Config = settings.loaded.config
        self.address = ""
        """URL of the service, "" before it listens."""
        self.commands = builtin()
        self.people = GrantedRoles(db)
        self.watcher = ConfigWatcher(
            settings.loaded,
            explicit=settings.explicit_config,
            env=settings.env,
            cwd=settings.cwd,
            clock=clock,
            home=settings.home,
        )
        self.accounts = AccountDirectory(clock)
        self.bus = MessageBus(db, clock, self.config.limits.queue)
        self.child = self._make_child()
        self.runtime = self._make_runtime()
        self.recorded = RecordSettings(db)
        self.budgets = Budgets(db, lambda: self.config.budgets)
        self.scheduler = Scheduler(db, clock, self._schedule_host())
        self.desk = ScheduleService(db, self.recorded, clock, self.scheduler, lambda: self.config.schedules)
        self.forgetter = RetentionJob(db, self.runtime, clock, self._retention_days, new_id)
        self.dispatcher = Dispatcher(
            db=db,
            runtime=self.runtime,
            accounts=self.accounts,
            desk=self.desk,
            forgetter=self.forgetter,
            kept_days=lambda account: self._retention_days().get(account, 0),
            recorded=self.recorded,
            budgets=self.budgets,
            commands=self.commands,
            texts=self.texts,
            roles=self.role,
            people=self.people,
            policy=self.policy,
            busy=self.busy,
            reload=self.reload,
            clock=clock,
            new_id=new_id,
            page=self.console_url,
            max_runs=self.config.limits.max_runs,
            mask=self.mask,
            queue_limit=self.config.limits.queue,
        )
        self.bus.connect_lanes(self.dispatcher.chat, self.dispatcher.control)
        self.bus.watch_accepted(self.dispatcher.on_accepted)
        self.bus.watch_changes(self.dispatcher.on_edited)
        for load in (self.recorded.load_settings, self.people.load_grants, self.budgets.load_limits):
            self.bus.on_move(load)
        for account in self.config.accounts:
            self.accounts.add_account(
                account, self.bus.open_inbox(account.name, self.make_admission_policy(account))
            )
        self.accounts.set_disabled([one for one in self.config.channels.values() if not one.enabled])

    async def run(self) -> None:
        """Run all parts of the service until cancelled."""
        await self.people.load_grants()
        await self.recorded.load_settings()
        await self.budgets.load_limits()
        conversations, control = await self.bus.recover()
        if conversations or control:
            log.info("recovering", conversations=conversations, control=control)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.dispatcher.run(), name="dispatcher")
                group.create_task(self.accounts.run(self.command_hints), name="accounts")
                group.create_task(self._follow_config(), name="config")
                group.create_task(self._purge_expired(), name="housekeeping")
                group.create_task(self.scheduler.run(), name="schedules")
                group.create_task(self.forgetter.run(), name="forgetting")
                if self.child is not None:
                    group.create_task(self.child.run(), name="runtime")
        finally:
            await self.runtime.close()

    # Settings and access of accounts

    def make_admission_policy(self, account: AccountConfig) -> AdmissionPolicy:
        """Return the admission policy of an account."""
        limits = self.config.limits
        rules = AccountRules(
            access=self.policy(account.name),
            isolation=IsolationPolicy(Isolation(account.isolation)),
            private_isolation=IsolationPolicy(Isolation(account.private_isolation)),
            texts=texts_for(account.locale, account.platform),
            limits=MessageLimits(limits.message_characters, limits.file_mb * MEGABYTE, limits.queue),
            model=account.model or "",
            busy=Busy(account.busy),
            recorded=lambda chat: self.recorded.get(account.name, chat) is not None,
            budgets=lambda origin, role: self.budgets.limits_for(origin, role, texts_for(account.locale)),
        )
        return AdmissionPolicy(rules, self.commands, new_id)

    def policy(self, account: str) -> AccessPolicy:
        """Return the access policy of an account."""
        return AccessPolicy(self.config.access_for(account), self.people, self.role_on_home_account)

    def role_on_home_account(self, sender: Sender) -> Role:
        """Return the role of a person who signed in to the console by a link, by the rules of the account
        that they came from; STRANGER if that account no longer exists.
        """
        found = self.config.channels.get(sender.account)
        platform, _, id_ = sender.id.partition(":")
        if found is None or found.platform != platform or platform in LOCAL_PLATFORMS:
            return Role.STRANGER
        person = replace(sender, id=id_, account="")
        origin = Origin(sender.account, platform, "", ChatKind.PRIVATE, "", person)
        return self.policy(sender.account).role_of(origin)

    def highest_role(self, entry: AccessEntry) -> Role:
        """Return the highest role of an access entry on any account, configured or granted."""
        named = (self.policy(account).configured_role_of_entry(entry) for account in self.config.channels)
        return max(
            *named,
            AccessPolicy(self.config.access).configured_role_of_entry(entry),
            self.people.highest_granted_role(entry),
        )

    def console_url(self) -> str:
        """Return the public URL of the console, "" if none is configured; the port is the one at the start of
        the service.
        """
        server = self.settings.loaded.config.server
        return server.public_url or (self.address if server.is_loopback else "")

    def busy(self, account: str) -> str:
        """Return an account's setting for messages during a run."""
        found = self.config.channels.get(account)
        return found.busy if found else Busy.QUEUE.value

    def texts(self, account: str) -> Texts:
        """Return the texts of an account."""
        found = self.config.channels.get(account)
        return texts_for(found.locale, found.platform) if found else texts_for("en")

    def role(self, turn: Turn) -> Role:
        """Return the current role of a turn's author."""
        known = turn.address.account in self.config.channels
        return self.policy(turn.address.account).role_in(turn) if known else Role.STRANGER

    def mask(self, text: str) -> str:
        """Return a text without the secrets of the configuration."""
        return masked(text, secrets_of(self.config))

    def command_hints(self, account: str) -> list[CommandHint]:
        """Return the commands for an account's platform menu."""
        return self.commands.hints(self.texts(account))

    # Construction of the parts

    def _make_child(self) -> RuntimeChild | None:
        if self.config.runtime.url:
            return None
        settings = self.settings
        process = settings.runtime or RuntimeProcess(
            settings.home, settings.loaded.path, max_runs=self.config.limits.max_runs
        )
        return RuntimeChild(process, self.clock)

    def _make_runtime(self) -> LangGraphRuntime:
        config = self.config.runtime
        if self.child is not None:
            http = self.child.client(timeout=TIMEOUT)
            return LangGraphRuntime(http, assistant_id=config.assistant_id, management=http)
        headers = {"x-api-key": config.api_key.get_secret_value()} if config.api_key else {}
        assert config.url is not None
        http = httpx.AsyncClient(base_url=config.url, headers=headers, timeout=TIMEOUT, verify=tls_context())
        management = http
        if config.management_url:
            management = httpx.AsyncClient(
                base_url=config.management_url, headers=headers, timeout=TIMEOUT, verify=tls_context()
            )
        return LangGraphRuntime(http, assistant_id=config.assistant_id, management=management)

    def _schedule_host(self) -> SchedulerHooks:
        return SchedulerHooks(
            open_=self._wake_opened,
            allowed=self._may_schedule,
            runs=lambda account: self.accounts.get(account) is not None,
            spent=self._spent_limit,
            texts=self.texts,
            model=lambda account: self.config.channels[account].model or "",
            new_id=new_id,
            catch_up=lambda: self.config.schedules.catch_up_minutes * 60.0,
        )

    def _wake_opened(self, opened: OpenedTurn) -> None:
        # A notice may have abandoned an open question, which the chat lane has to mark.
        self.dispatcher.chat.wake(opened.conversation)
        if opened.kind is not TurnKind.CHAT:
            self.dispatcher.control.wake(opened.turn)

    def _may_schedule(self, schedule: Schedule) -> bool:
        """Return True if the owner of a schedule still has access where its results go."""
        if schedule.account not in self.config.channels:
            return False
        return self.policy(schedule.account).role_of(schedule.origin) >= Role.MEMBER

    async def _spent_limit(self, schedule: Schedule) -> str:
        role = self.policy(schedule.account).role_of(schedule.origin)
        texts = self.texts(schedule.account)
        return await self.budgets.exhausted_limit(schedule.origin, role, texts, self.clock.now())

    # Configuration and retention

    def _retention_days(self) -> dict[str, int]:
        """Return the retention of each account in days."""
        return {name: self.config.kept_days(name) for name in self.config.channels}

    async def _follow_config(self) -> None:
        await self.watcher.run(self._apply_config)

    async def reload(self) -> Reloaded | Rejected:
        """Reload the configuration, and apply what can change while the service runs."""
        outcome = await self.watcher.reload()
        await self._apply_config(outcome)
        return outcome

    async def _apply_config(self, outcome: Reloaded | Rejected) -> None:
        """Apply what can change while the service runs; an invalid file changes nothing."""
        if isinstance(outcome, Rejected):
            log.error("config_rejected", problems=str(outcome.errors))
            return
        self.config = outcome.loaded.config
        if self.accounts.apply_config(
            list(self.config.channels.values()), self.make_admission_policy, self.bus
        ):
            await self.bus.recover()
        late = sorted(section for section in outcome.sections if section.partition(".")[0] in NEEDS_RESTART)
        log.info("config_reloaded", sections=sorted(outcome.sections), after_restart=late)
        await asyncio.to_thread(self.write_service_file, outcome.loaded.path)
        if problems := [problem.line for problem in await self.list_config_problems() if problem.serious]:
            log.error("config_rejected", by="agent", problems="\n".join(problems))

    async def list_config_problems(self) -> Sequence[ConfigProblem]:
        """List the parts of the configuration that the agent runtime can't use."""
        try:
            return await self.runtime.list_problems()
        except RuntimeProblem:
            return []

    def write_service_file(self, config: Path | None) -> None:
        """Write the service's address and its configuration file to the data directory. Blocking."""
        write_service_file(self.settings.home, self.address, config)

    async def _purge_expired(self) -> None:
        while True:
            await purge_expired(self.db, self.clock.now())
            await self.db.run(purge_record, self.clock.now())
            await self.db.run(purge_meters, self.clock.now() - COUNTS_KEPT)
            await self.clock.sleep(HOUSEKEEPING_EVERY)


def _first_known_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the RoebotError that ended the service, or the whole group if there is none."""
    for error in group.exceptions:
        found = _first_known_error(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, RoebotError):
            return found
    return group


def new_id() -> str:
    """Return a new thread id."""
    return str(uuid.uuid4())


async def run_service(
    settings: StartOptions, on_ready: Callable[[str, BotService], Coroutine[Any, Any, None]]
) -> None:
    """Start the service and its HTTP server, and run until cancelled. Raises StartError and HomeUnusable."""
    from bot.app.http_server import serve_api

    clock = SystemClock()
    prepare_home(settings.home)
    with lock_home(settings.home):
        async with AsyncExitStack() as stack:
            url = settings.loaded.config.database.url
            database = await open_database(settings.home, url.get_secret_value() if url else None)
            stack.push_async_callback(database.close)
            service = BotService(settings, database, clock)

            try:
                async with asyncio.TaskGroup() as group:

                    def ready(address: str) -> None:
                        service.address = address
                        service.write_service_file(settings.loaded.path)
                        freeze_heap()
                        group.create_task(on_ready(address, service), name="ready")

                    group.create_task(serve_api(service, ready), name="api")
                    group.create_task(service.run(), name="service")
            except BaseExceptionGroup as group:
                raise _first_known_error(group) from None
