"""The composition root, which builds the service from its configuration and runs its parts.

Only this module knows how the bundled runtime is started.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from platform import node
from typing import Any

import httpx
import structlog

from agent.shared.gc_tuning import freeze_heap
from agent.shared.live_token import LiveToken
from agent.shared.replica_folder import replica_folder
from agent.shared.schemas import ConfigProblem
from agent.shared.tracing import export_traces
from bot.app.accounts import AccountDirectory
from bot.app.copied_data import find_copy_problem
from bot.app.features import load_features
from bot.app.home import lock_home, prepare_home, write_service_file
from bot.app.replicas import DatabaseClock, ReplicaNews, check_folder, start_clock
from bot.bus.admission import AdmissionPolicy
from bot.bus.message_bus import MessageBus
from bot.clock import Clock, SystemClock
from bot.commands.core_commands import build_registry
from bot.config import AccountConfig, Config, ConfigWatcher, LoadedConfig, Rejected, Reloaded, RuntimeConfig
from bot.config.platforms import refused_platforms
from bot.dispatch.dispatcher import Dispatcher
from bot.dispatch.questions import expire_questions
from bot.dispatch.side_tasks import keep_running
from bot.errors import RoebotError, RuntimeProblem, StartError
from bot.platforms.base import CommandHint
from bot.runtime.child import RuntimeChild, remote_client
from bot.runtime.client import READ_TIMEOUT, LangGraphRuntime
from bot.runtime.spawn import RuntimeProcess
from bot.server.api.auth import WEB
from bot.server.api.sessions import create_owner_link
from bot.store import Database, open_database
from bot.store.leases import ServiceLease
from bot.store.ownership import ACCOUNT, JOBS, Ownership
from bot.store.replica_leases import Replica
from bot.wiring import Core

log = structlog.get_logger(__name__)

Part = Callable[[], Coroutine[Any, Any, None]]
TIMEOUT = httpx.Timeout(READ_TIMEOUT, connect=5.0)
NEEDS_RESTART = frozenset({"server", "runtime", "database", "tracing"})


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
    token: LiveToken
    runtime: RuntimeProcess | None = None
    replica: str = ""
    """Name of this replica ("": there are none)."""


class BotService:
    """The bot with all its services. `run` works until cancelled."""

    def __init__(
        self, settings: StartOptions, db: Database, clock: Clock, replica: Replica | None = None
    ) -> None:
        self.settings = settings
        self.db = db
        self.clock = clock
        self.ownership = Ownership(db, clock, replica)
        self.features = load_features()
        self.commands = build_registry(self.features.commands)
        self.watcher = ConfigWatcher(
            settings.loaded,
            explicit=settings.explicit_config,
            env=settings.env,
            cwd=settings.cwd,
            clock=clock,
            home=settings.home,
        )
        self.accounts = AccountDirectory(clock, self.ownership)
        config = settings.loaded.config
        self.child = self._make_child(config)
        self.runtime = self._make_runtime(config.runtime)
        self.core = core = Core(
            config, db, clock, self.runtime, self.accounts, settings.home, ownership=self.ownership
        )
        limits = config.limits
        self.bus = MessageBus(db, clock, limits.queue, limits.waiting, self.features.person_data)
        self.features.add_parts(core)
        self.dispatcher = Dispatcher(
            core,
            self.accounts,
            hooks=self.features.run_hooks,
            commands=self.commands,
            reload=self.reload,
        )
        self.bus.connect_lanes(self.dispatcher.chat, self.dispatcher.control)
        self.bus.watch_accepted(self.dispatcher.on_accepted)
        self.bus.watch_changes(self.dispatcher.on_edited)
        self.bus.on_move(core.load_settings)
        self.news = ReplicaNews(core, self.bus, self.dispatcher)
        self.ownership.on_acquired(self._recover_account)
        self.ownership.describe = self.accounts.describe
        core.outages.on_end(self.bus.recover)
        for account in config.accounts:
            self.accounts.add_account(
                account, self.bus.open_inbox(account.name, self.make_admission_policy(account))
            )
        self.accounts.set_disabled([one for one in config.channels.values() if not one.enabled])

    @property
    def config(self) -> Config:
        """The current configuration."""
        return self.core.config

    async def run(self) -> None:
        """Run the service until cancelled."""
        for platform in await asyncio.to_thread(refused_platforms):
            log.warning("platform_refused", reason=platform.complaint)
        for refused in self.features.refused:
            log.warning("feature_refused", reason=refused.complaint)
        core = self.core
        parts: dict[str, Part] = {
            "dispatcher": self.dispatcher.run,
            "accounts": partial(self.accounts.run, self.command_hints),
            "config": self._follow_config,
        }
        for feature in self.features.usable:
            parts |= {name: partial(job, core) for name, job in feature.local_jobs.items()}
        parts["jobs"] = partial(self.ownership.while_held, JOBS, self._run_jobs)
        if self.child is not None:
            parts["runtime"] = self.child.run
        if self.ownership.replica is not None:
            parts |= {"ownership": self.ownership.keep, "news": self.news.run}
        try:
            await core.outages.complete(self._load_state)
            await self._run_parts(parts)
        finally:
            await self.runtime.close()

    async def _run_jobs(self) -> None:
        core = self.core
        jobs: dict[str, Part] = {"questions": partial(expire_questions, core)}
        for feature in self.features.usable:
            jobs |= {name: partial(job, core) for name, job in feature.jobs.items()}
        await self._run_parts(jobs)

    async def _run_parts(self, parts: Mapping[str, Part]) -> None:
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(keep_running(name, part, self.clock, self.core.outages), name=name)

    async def _recover_account(self, name: str) -> None:
        """Wake the open turns of an account that this process owns from now on."""
        if name.startswith(ACCOUNT):
            await self.bus.recover(frozenset({name.removeprefix(ACCOUNT)}))

    async def _load_state(self) -> None:
        await self.features.create_tables(self.db)
        await self.core.load_settings()
        conversations, control = await self.bus.recover()
        if conversations or control:
            log.info("recovering", conversations=conversations, control=control)

    def make_admission_policy(self, account: AccountConfig) -> AdmissionPolicy:
        """Return the admission policy of an account."""
        return AdmissionPolicy(self.core.account(account.name), self.commands, self.core.new_id)

    def command_hints(self, account: str) -> list[CommandHint]:
        """Return the commands for an account's platform menu."""
        return self.commands.hints(self.core.account(account).texts)

    # Construction of the parts

    def _make_child(self, config: Config) -> RuntimeChild | None:
        if config.runtime.url:
            return None
        settings = self.settings
        process = settings.runtime or RuntimeProcess(
            settings.home,
            settings.loaded.path,
            max_runs=config.limits.max_runs,
            address=config.server.browser_url,
            replica=settings.replica,
        )
        return RuntimeChild(process, self.clock)

    def _make_runtime(self, config: RuntimeConfig) -> LangGraphRuntime:
        if self.child is not None:
            http = self.child.client(timeout=TIMEOUT)
            return LangGraphRuntime(http, assistant_id=config.assistant_id, management=http)
        assert config.url is not None
        keys = config.api_key, config.signing_key
        http = remote_client(config.url, *keys, timeout=TIMEOUT)
        other = config.management_url
        management = remote_client(other, *keys, timeout=TIMEOUT) if other else http
        return LangGraphRuntime(http, assistant_id=config.assistant_id, management=management)

    # Upkeep

    async def _follow_config(self) -> None:
        await self.watcher.run(self._apply_config)

    async def reload(self) -> Reloaded | Rejected:
        """Reload the configuration, and apply everything that can change while the service runs."""
        outcome = await self.watcher.reload()
        await self._apply_config(outcome)
        return outcome

    async def _apply_config(self, outcome: Reloaded | Rejected) -> None:
        """Apply everything that can change while the service runs; an invalid file changes nothing."""
        if isinstance(outcome, Rejected):
            self.core.config_problem = str(outcome.errors)
            log.error("config_rejected", problems=self.core.config_problem)
            return
        self.core.config_problem = ""
        self.core.apply_config(outcome.loaded.config)
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
            return (await self.runtime.management.list_config_problems()).problems
        except RuntimeProblem:
            return []

    @property
    def has_console(self) -> bool:
        """Return whether the web console is enabled."""
        return any(account.platform == WEB for account in self.config.accounts)

    async def create_sign_in_link(self) -> str:
        """Return a single-use link for the owner to sign in to the web console."""
        core = self.core
        return await create_owner_link(
            self.db,
            self.settings.token.value,
            core.console_url or core.address,
            self.clock.now(),
            core.new_id(),
        )

    def write_service_file(self, config: Path | None) -> None:
        """Store the service's address and configuration file. Blocking."""
        own = replica_folder(self.settings.home, self.settings.replica)
        write_service_file(own, self.core.address, config)


def _first_known_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the RoebotError that stopped the service, or the whole group if there is none."""
    for error in group.exceptions:
        found = _first_known_error(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, RoebotError):
            return found
    return group


def identify_home(home: Path) -> str:
    """Return the id of a data directory, which is created with the first call. Blocking."""
    path = home / "instance-id"
    if not path.exists():
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        draft.write_text(secrets.token_hex(8))
        with suppress(FileExistsError):  # another replica was first
            os.link(draft, path)
        draft.unlink()
    return path.read_text()


def describe_place(home: Path) -> str:
    """Return the place of a lease on the database. Blocking."""
    return f"{node()}:{home} #{identify_home(home)}"


async def claim_lease(service: BotService, stack: AsyncExitStack) -> ServiceLease:
    """Claim the service's database until the stack closes. Raises StartError if another service uses it.

    Replicas have the lease together.
    """
    core, replica = service.core, service.ownership.replica
    if replica is None:
        place = await asyncio.to_thread(describe_place, service.settings.home)
        lease = ServiceLease(core.db, core.clock, place, core.new_id())
        await core.outages.complete(lease.claim)
        stack.push_async_callback(lease.release)
        return lease
    lease = ServiceLease(core.db, core.clock, f"replicas in {replica.place}", f"replicas {replica.place}")
    await core.outages.complete(lease.claim)
    await core.db.transact(check_folder, replica, service.settings.home)
    await core.outages.complete(service.ownership.start)
    stack.push_async_callback(service.ownership.stop)
    return lease


async def _announce(message: Coroutine[Any, Any, None]) -> None:
    try:
        await message
    except Exception:  # a startup message that can't be written must not end the service
        log.exception("startup_message_failed")


async def run_service(
    settings: StartOptions, on_ready: Callable[[str, BotService], Coroutine[Any, Any, None]]
) -> None:
    """Start the service and its HTTP server, and run until cancelled. Raises StartError and HomeUnusable."""
    from bot.app.http_server import serve_api

    url, name = settings.loaded.config.database.url, settings.replica
    await asyncio.to_thread(load_features)
    prepare_home(settings.home, name)
    with lock_home(settings.home, name):
        async with AsyncExitStack() as stack:
            config = settings.loaded.config
            await stack.enter_async_context(export_traces("roebot", **config.tracing.model_dump()))
            where = url.get_secret_value() if url else None
            database = await open_database(settings.home, where, name)
            stack.push_async_callback(database.close)
            check = partial(find_copy_problem, config=config, home=settings.home)
            if problem := await database.schema(check):
                raise StartError(problem)
            clock = await start_clock(database) if name else SystemClock()
            replica = Replica(name, secrets.token_hex(8), identify_home(settings.home)) if name else None
            service = BotService(settings, database, clock, replica)
            # The lock of the data directory doesn't protect a database that other hosts can reach.
            lease = await claim_lease(service, stack) if url else None

            try:
                async with asyncio.TaskGroup() as group:

                    def ready(address: str) -> None:
                        service.core.address = address
                        service.write_service_file(settings.loaded.path)
                        freeze_heap()
                        group.create_task(_announce(on_ready(address, service)), name="ready")

                    group.create_task(serve_api(service, ready), name="api")
                    group.create_task(service.run(), name="service")
                    if lease is not None:
                        group.create_task(lease.keep(), name="lease")
                    if isinstance(clock, DatabaseClock):
                        group.create_task(clock.keep(), name="clock")
            except BaseExceptionGroup as group:
                raise _first_known_error(group) from None
