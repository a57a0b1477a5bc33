"""A dispatcher with a real store, a recording adapter and a scripted runtime under a manual clock."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bot.access import AccessPolicy, GrantedRoles, Role
from bot.access.budgets import Budgets
from bot.bus.admission import AccountRules, AdmissionPolicy, MessageLimits
from bot.bus.message_bus import MessageBus
from bot.commands.core_commands import builtin
from bot.config import AccessConfig, AccessEntry, Config, LoadedConfig, Rejected, Reloaded
from bot.config.models import BudgetsConfig, SchedulesConfig
from bot.dispatch.account_channel import AccountChannel
from bot.dispatch.dispatcher import Dispatcher
from bot.dispatch.pacing.governor import RateGovernor
from bot.domain import AccountState, Busy, Isolation, IsolationPolicy, Live, TurnKind
from bot.platforms.base import AdapterContext, Manifest
from bot.privacy.chat_record import RecordSettings
from bot.privacy.retention import RetentionJob
from bot.schedules.scheduled_runs import SchedulerHooks
from bot.schedules.scheduler import Scheduler
from bot.schedules.service import ScheduleService
from bot.store import Database, open_database
from bot.store.database import SqliteDatabase
from bot.store.scheduled_runs import OpenedTurn
from bot.testing.adapter import MANIFEST, RecordingAdapter
from bot.testing.clock import ManualClock
from bot.testing.runtime import ScriptedRuntime
from bot.texts import texts_for

QUEUE = 20


@dataclass
class Bench:
    """Everything a test of the dispatcher touches."""

    db: Database
    clock: ManualClock
    adapter: RecordingAdapter
    runtime: ScriptedRuntime
    role: Role | None = Role.OWNER
    """Everybody's; None: what the rules say."""
    busy: Busy = Busy.QUEUE
    default: Literal["pair", "closed", "allow"] = "closed"
    policy: IsolationPolicy = field(default_factory=lambda: IsolationPolicy(Isolation.TOPIC))
    live: AccountState = field(default_factory=lambda: AccountState(Live.LIVE, identity="@recorder"))
    manifest: Manifest = MANIFEST
    outlet: AccountChannel | None = None
    mask: Callable[[str], str] = str
    model: str = ""
    scheduling: bool = False
    """Whether what is scheduled is fired."""
    allowed: bool = True
    """Whether who made a schedule may still talk."""
    catch_up: float = 6 * 3600.0
    locale: str = "en"
    """The language of answers to commands."""
    budgets: BudgetsConfig = field(default_factory=BudgetsConfig)
    kept_days: int = 0
    page: str = "https://bot.example.org"
    forgetter: RetentionJob | None = None
    desk: ScheduleService | None = None
    restarted: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    """Other accounts, and their platforms."""
    reloaded: Reloaded | Rejected = field(
        default_factory=lambda: Reloaded(LoadedConfig(Config()), frozenset())
    )

    def get(self, account: str) -> AccountChannel | None:
        return self.outlet if account == "rec" else None

    def state(self, account: str) -> AccountState:
        return self.live

    def restart(self, account: str) -> bool:
        self.restarted.append(account)
        return account == "rec"

    async def reload(self) -> Reloaded | Rejected:
        return self.reloaded

    def states(self) -> dict[str, tuple[str, AccountState]]:
        others = {account: (platform, self.live) for account, platform in self.others.items()}
        return {"rec": ("recording", self.live), **others}

    @asynccontextmanager
    async def running(self, *, recover: bool = True, connected: bool = True) -> AsyncIterator[Bench]:
        """The dispatcher at work; leaving it is a shutdown."""
        numbers = itertools.count(1)
        governor = RateGovernor(self.manifest.budgets, self.clock)
        self.outlet = AccountChannel("rec", self.adapter, self.manifest, governor)
        if connected:
            self.outlet.ready.set()
        members = (AccessEntry("recording", "7"), AccessEntry("recording", "8"))
        access = AccessConfig(default=self.default, members=members, admins=(AccessEntry("recording", "9"),))
        people = GrantedRoles(self.db)
        await people.load_grants()
        rules = AccountRules(
            AccessPolicy(access, people),
            self.policy,
            texts_for("en"),
            MessageLimits(),
            self.model,
            busy=self.busy,
            recorded=lambda chat: recorded.get("rec", chat) is not None,
            budgets=lambda origin, role: budgets.limits_for(origin, role, texts_for("en")),
        )
        host = SchedulerHooks(
            open_=lambda opened: self._open(dispatcher, opened),
            allowed=lambda one: (
                self.allowed and (self.role or rules.access.role_of(one.origin)) >= Role.MEMBER
            ),
            runs=lambda account: account == "rec",
            spent=lambda schedule: budgets.exhausted_limit(
                schedule.origin, rules.access.role_of(schedule.origin), texts_for("en"), self.clock.now()
            ),
            texts=lambda _account: texts_for("en"),
            model=lambda _account: self.model,
            new_id=lambda: f"scheduled-{next(numbers)}",
            catch_up=lambda: self.catch_up,
        )
        scheduler = Scheduler(self.db, self.clock, host)
        recorded = RecordSettings(self.db)
        await recorded.load_settings()
        budgets = Budgets(self.db, lambda: self.budgets)
        await budgets.load_limits()
        self.forgetter = RetentionJob(
            self.db,
            self.runtime,
            self.clock,
            lambda: {"rec": self.kept_days},
            lambda: f"fresh-{next(numbers)}",
        )
        self.desk = ScheduleService(self.db, recorded, self.clock, scheduler, SchedulesConfig)
        dispatcher = Dispatcher(
            db=self.db,
            runtime=self.runtime,
            accounts=self,
            desk=self.desk,
            forgetter=self.forgetter,
            kept_days=lambda _account: self.kept_days,
            recorded=recorded,
            budgets=budgets,
            commands=builtin(),
            texts=lambda _account: texts_for(self.locale),
            roles=lambda turn: rules.access.role_in(turn) if self.role is None else self.role,
            people=people,
            policy=lambda _account: rules.access,
            busy=lambda _account: self.busy,
            reload=self.reload,
            clock=self.clock,
            new_id=lambda: f"fresh-{next(numbers)}",
            page=lambda: self.page,
            max_runs=8,
            mask=lambda text: self.mask(text),
        )
        bus = MessageBus(self.db, self.clock, QUEUE)
        bus.connect_lanes(dispatcher.chat, dispatcher.control)
        bus.watch_accepted(dispatcher.on_accepted)
        bus.watch_changes(dispatcher.on_edited)
        admissions = AdmissionPolicy(
            rules,
            builtin(),
            new_id=lambda: f"thread-{next(numbers)}-{id(bus)}",
            new_code=lambda: f"CODE-{next(numbers):04d}",
        )
        work = asyncio.create_task(dispatcher.run())
        schedules = asyncio.create_task(scheduler.run()) if self.scheduling else None
        self.adapter.context = AdapterContext(
            bus.open_inbox("rec", admissions), lambda _state: None, self.clock
        )
        if recover:
            await bus.recover()
        try:
            yield self
        finally:
            tasks = [work, *([schedules] if schedules else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _open(self, dispatcher: Dispatcher, opened: OpenedTurn) -> None:
        dispatcher.chat.wake(opened.conversation)
        if opened.kind is not TurnKind.CHAT:
            dispatcher.control.wake(opened.turn)

    async def quiet(self) -> None:
        """Wait until everything that goes on waits for the clock: neither the store nor a thread has anything
        left to do.
        """
        database = self.db
        await self.clock.run_ready()
        if not isinstance(database, SqliteDatabase):
            # One that a test has wrapped does not say what it was asked.
            await asyncio.sleep(0.002)
            return
        while True:
            asked = database.asked
            await database.run(lambda _connection: None)
            await asyncio.to_thread(int)
            await self.clock.run_ready()
            if database.asked == asked + 1:
                return

    async def until(self, condition: Callable[[], object], *, step: float = 0.05, most: float = 60.0) -> None:
        """Move the clock until something holds; the store's thread gets real time to work."""
        waited = 0.0
        while not condition():
            assert waited < most, "it did not happen"
            await self.quiet()
            await self.clock.advance(step)
            waited += step

    async def rest(self, seconds: float = 3.0, *, step: float = 0.05) -> None:
        """Let so much time pass."""
        waited = 0.0
        while waited < seconds:
            await self.quiet()
            await self.clock.advance(step)
            waited += step


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    """A bench on a database of its own. Threads work one after the other, so that the last one can be waited
    for.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    database = await open_database(folder)
    try:
        yield Bench(database, ManualClock(), RecordingAdapter(), ScriptedRuntime())
    finally:
        await database.close()
