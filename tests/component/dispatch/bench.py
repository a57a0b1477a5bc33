"""A dispatcher with a real store, a recording adapter and a scripted runtime under a manual clock."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from agent.shared.envelope import parse_envelopes
from bot.access import Role
from bot.account_state import AccountState, Live
from bot.account_view import AccountView
from bot.app.features import load_features
from bot.bus.admission import AdmissionPolicy
from bot.bus.message_bus import MessageBus
from bot.commands.core_commands import build_registry
from bot.config import (
    AccessConfig,
    AccessEntry,
    AccountConfig,
    AppRule,
    Config,
    LoadedConfig,
    Rejected,
    Reloaded,
)
from bot.config.models import ApprovalsConfig, BudgetsConfig
from bot.config.oncall import OnCallConfig
from bot.config.profiles import ProfileRule
from bot.dispatch.dispatcher import Dispatcher
from bot.dispatch.pacing import AccountChannel, RateGovernor
from bot.dispatch.questions import expire_questions
from bot.dispatch.side_tasks import keep_running
from bot.domain import Isolation, IsolationPolicy, Origin
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext
from bot.platforms.manifest import Manifest
from bot.store import Database
from bot.store.database import SqliteDatabase
from bot.store.person_data import PersonKey
from bot.turn import Busy, Turn
from bot.wiring import Core
from roebot_testing.adapter import MANIFEST, RecordingAdapter
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRuntime
from tests.harness.inline_store import InlineDatabase, open_inline_store
from tests.load.metered import MeteredDatabase

T = TypeVar("T")
QUEUE = 20
WAITING = 4000
LEAP = 10.0
"""Seconds of a step in which those who wake several times wake once."""
DEFAULTS = Config()
"""The configuration without a file; building it takes a millisecond."""


class CountedThreads(ThreadPoolExecutor):
    """Threads that count what was handed over to them."""

    submitted = 0

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        self.submitted += 1
        return super().submit(work, *args, **kwargs)


@dataclass
class Bench:
    """Everything a test of the dispatcher touches."""

    db: Database
    clock: ManualClock
    adapter: RecordingAdapter
    runtime: ScriptedRuntime
    home: Path
    role: Role | None = Role.OWNER
    """Everybody's; None: what the rules say."""
    busy: Busy = Busy.QUEUE
    default: Literal["pair", "closed", "allow"] = "closed"
    policy: IsolationPolicy = field(default_factory=lambda: IsolationPolicy(Isolation.TOPIC))
    live: AccountState = field(default_factory=lambda: AccountState(Live.LIVE, identity="@recorder"))
    manifest: Manifest = MANIFEST
    channel: AccountChannel | None = None
    mask: Callable[[str], str] = str
    model: str = ""
    agent: str = ""
    scheduling: bool = False
    """Whether what is scheduled is fired."""
    allowed: bool = True
    """Whether who made a schedule may still talk."""
    catch_up: float = 6 * 3600.0
    locale: Literal["en", "zh"] = "en"
    """The language of answers to commands."""
    budgets: BudgetsConfig = field(default_factory=BudgetsConfig)
    approvals: ApprovalsConfig = field(default_factory=ApprovalsConfig)
    profiles: tuple[ProfileRule, ...] = ()
    oncall: OnCallConfig = field(default_factory=OnCallConfig)
    apps: tuple[AppRule, ...] = ()
    """The apps that may start turns: at most 3 in a chat within 10 minutes."""
    kept_days: int = 0
    page: str = "https://bot.example.org"
    core: Core | None = None
    bus: MessageBus | None = None
    dispatcher: Dispatcher | None = None
    restarted: list[str] = field(default_factory=list)
    forgotten: list[PersonKey] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    """Other accounts, and their platforms."""
    groups: dict[tuple[str, str, str], dict[str, str]] = field(default_factory=dict)
    """Members of groups, by scope, kind and id."""
    threads: CountedThreads = field(default_factory=lambda: CountedThreads(1))
    rested: tuple[int, int] = (0, 0)
    """What the store had been asked and the threads had been given when both had nothing left to do."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    reloaded: Reloaded | Rejected = field(
        default_factory=lambda: Reloaded(LoadedConfig(Config()), frozenset())
    )

    def config(self) -> Config:
        """The configuration that the settings of this bench stand for."""
        members = (AccessEntry("recording", "7"), AccessEntry("recording", "8"))
        account = AccountConfig(
            name="rec",
            platform="recording",
            busy=self.busy.value,
            isolation=self.policy.isolation.value,
            locale=self.locale,
            model=self.model or None,
            agent=self.agent or None,
            retention_days=self.kept_days,
            apps=self.apps,
            app_turns=3,
        )
        return DEFAULTS.model_copy(
            update={
                "channels": {"rec": account},
                "access": AccessConfig(
                    default=self.default, members=members, admins=(AccessEntry("recording", "9"),)
                ),
                "budgets": self.budgets,
                "approvals": self.approvals,
                "profiles": self.profiles,
                "oncall": self.oncall,
                "schedules": DEFAULTS.schedules.model_copy(update={"catch_up_minutes": self.catch_up / 60}),
                "limits": DEFAULTS.limits.model_copy(update={"max_runs": 8, "queue": QUEUE}),
            }
        )

    def get(self, account: str) -> AccountChannel | None:
        return self.channel if account == "rec" else None

    def state(self, account: str) -> AccountState:
        return self.live

    def restart(self, account: str) -> bool:
        self.restarted.append(account)
        return account == "rec"

    async def list_members(self, scope: str, kind: str, group: str) -> dict[str, str]:
        if (scope, kind, group) not in self.groups:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "no such group")
        return self.groups[scope, kind, group]

    def forget_person(self, person: PersonKey) -> None:
        self.forgotten.append(person)

    async def reload(self) -> Reloaded | Rejected:
        return self.reloaded

    def states(self) -> dict[str, tuple[str, AccountState]]:
        others = {account: (platform, self.live) for account, platform in self.others.items()}
        return {"rec": ("recording", self.live), **others}

    @asynccontextmanager
    async def running(self, *, recover: bool = True, connected: bool = True) -> AsyncIterator[Bench]:
        """The dispatcher at work; leaving it is a shutdown."""
        governor = RateGovernor(self.manifest.budgets, self.clock)
        self.channel = AccountChannel("rec", self.adapter, self.manifest, governor)
        if connected:
            self.connect()
        self.core = core = BenchCore(self)
        features = load_features()
        features.add_parts(core)
        await core.load_settings()
        dispatcher = Dispatcher(
            core,
            self,
            hooks=features.run_hooks,
            commands=build_registry(features.commands),
            reload=self.reload,
        )
        self.dispatcher = dispatcher
        self.bus = bus = MessageBus(self.db, self.clock, QUEUE, WAITING, features.person_data)
        bus.connect_lanes(dispatcher.chat, dispatcher.control)
        bus.watch_accepted(dispatcher.on_accepted)
        bus.watch_changes(dispatcher.on_edited)
        bus.on_move(core.load_settings)
        admissions = AdmissionPolicy(
            core.account("rec"),
            build_registry(features.commands),
            core.new_id,
            new_code=lambda: f"CODE-{next(self.numbers):04d}",
        )
        expire = partial(expire_questions, core)
        questions = keep_running("questions", expire, self.clock, core.outages)
        work = [asyncio.create_task(dispatcher.run()), asyncio.create_task(questions)]
        jobs = [job for one in features.usable for name, job in one.jobs.items() if name == "schedules"]
        schedules = [asyncio.create_task(job(core)) for job in jobs] if self.scheduling else []
        self.adapter.context = AdapterContext(
            bus.open_inbox("rec", admissions), lambda _state: None, self.clock
        )
        if recover:
            await bus.recover()
        try:
            yield self
        finally:
            tasks = [*work, *schedules]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def connect(self) -> None:
        """Connect the account."""
        assert self.channel is not None
        self.channel.connected_at = self.clock.now()
        self.channel.ready.set()

    async def quiet(self) -> None:
        """Wait until everything that goes on waits for the clock: neither the store nor a thread has anything
        left to do.
        """
        database = self.db
        await self.clock.run_ready()
        if isinstance(database, MeteredDatabase):
            await self._quiet_metered(database)
        elif isinstance(database, SqliteDatabase):
            await self._quiet_sqlite(database)
        else:
            # One that a test has wrapped does not say what it was asked.
            await asyncio.sleep(0.002)

    async def _quiet_sqlite(self, database: SqliteDatabase) -> None:
        threads = self.threads
        while (database.asked, threads.submitted) != self.rested:
            asked, submitted = database.asked, threads.submitted
            if not isinstance(database, InlineDatabase) and asked != self.rested[0]:
                await database.transact(lambda _connection: None)
                asked += 1
            if submitted != self.rested[1]:
                await asyncio.to_thread(int)
                submitted += 1
            await self.clock.run_ready()
            self.rested = asked, submitted

    async def _quiet_metered(self, database: MeteredDatabase) -> None:
        """See `quiet`; without a transaction, since that would be counted."""
        while True:
            asked = database.asked
            await asyncio.to_thread(int)
            await self.clock.run_ready()
            if not database.open and database.asked == asked:
                return
            await asyncio.sleep(0.001)

    async def until(self, condition: Callable[[], object], *, step: float = 0.05, most: float = 60.0) -> None:
        """Move the clock until something holds; the store's thread gets real time to work."""
        waited = 0.0
        while not condition():
            assert waited < most, "it did not happen"
            await self.quiet()
            await self.clock.advance(step)
            waited += step

    async def rest(self, seconds: float = 3.0, *, step: float = 0.05) -> None:
        """Let so much time pass, in steps; those in which nobody wakes are one, and long ones are leaps."""
        move = self.clock.advance if step < LEAP else self.clock.leap
        end = self.clock.now() + math.ceil(seconds / step) * step
        while (left := end - self.clock.now()) > step / 2:
            await self.quiet()
            wake = self.clock.next_wake()
            idle = left if wake is None else wake - self.clock.now()
            await move(min(max(1, math.ceil(idle / step)) * step, left))


def authored(content: str) -> str:
    """What the agent reads of a message: with the author's name in front where it has an envelope."""
    return "\n\n".join(f"{one.name}: {one.text}" for one in parse_envelopes(content)) or content


class BenchCore(Core):
    """The shared parts of a bench; its settings may change while it runs."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        super().__init__(
            bench.config(),
            bench.db,
            bench.clock,
            bench.runtime,
            bench,
            bench.home,
            lambda: f"id-{next(bench.numbers)}",
        )

    @property
    def console_url(self) -> str:
        return self.bench.page

    def account(self, name: str) -> AccountView:
        self.apply_config(self.bench.config())
        view = super().account("rec")
        values = {one.name: getattr(view, one.name) for one in fields(view)}
        return BenchAccount(**{**values, "name": name}, bench=self.bench)

    def mask_secrets(self, text: str) -> str:
        return self.bench.mask(text)


@dataclass(frozen=True, kw_only=True)
class BenchAccount(AccountView):
    """An account in which everybody has the role of the bench."""

    bench: Bench

    def role_in(self, turn: Turn) -> Role:
        return super().role_in(turn) if self.bench.role is None else self.bench.role

    def has_access(self, origin: Origin) -> bool:
        role = self.bench.role
        return self.bench.allowed and (super().has_access(origin) if role is None else role >= Role.MEMBER)


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    """A bench on a database of its own. Threads work one after the other, so that the last one can be waited
    for.
    """
    threads = CountedThreads(1)
    asyncio.get_running_loop().set_default_executor(threads)
    database = await open_inline_store(folder)
    try:
        yield Bench(database, ManualClock(), RecordingAdapter(), ScriptedRuntime(), folder, threads=threads)
    finally:
        await database.close()
