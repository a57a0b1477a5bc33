"""A turn's runs on the runtime: create, recover after a restart, cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from agent.shared.aio import within_time
from bot.clock import Clock
from bot.dispatch.pacing import Backoff
from bot.dispatch.start_limiter import StartLimiter
from bot.errors import RuntimeUnreachable
from bot.faults import Step, reach
from bot.runtime.interface import AgentRuntime, RunRequest
from bot.store import Database
from bot.store.turns import set_last_run, set_run
from bot.turn import Turn

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _NumberedRun:
    """A run with the number in its idempotency key; `id` is "" until created."""

    number: int
    id: str


class TurnRuns:
    """The runs of a turn: the first, and its continuations after service calls.

    The first is stored for a restart, whose way leads from its events to the next run by the idempotency key.
    The newest is stored for cancelling. `turn` has the number and the id of the run at hand ("": not created
    yet). Once `stopping` is set, no run is created.
    """

    def __init__(
        self,
        turn: Turn,
        runtime: AgentRuntime,
        db: Database,
        clock: Clock,
        start_limiter: StartLimiter,
    ) -> None:
        self.turn = turn
        self.stopping = asyncio.Event()
        # True if the run at hand has just been created, so that its events arrive as they happen.
        self.is_fresh = False
        self._runtime = runtime
        self._db = db
        self._clock = clock
        self._start_limiter = start_limiter
        has_last = bool(turn.last_run_id)
        self._newest = _NumberedRun(
            turn.last_attempt if has_last else turn.attempt, turn.last_run_id or turn.run_id
        )
        self._continues = False
        self._creation: asyncio.Future[None] | None = None
        # Whether one more run may exist than is known: a creation was not heard of.
        self._unsure = False

    @property
    def exist(self) -> bool:
        """Return whether the turn has a run."""
        return bool(self._newest.id)

    @property
    def may_exist(self) -> bool:
        """Return whether the turn may have a run."""
        return self.exist or self._unsure

    def on_restart(self) -> None:
        """Expect a run that was created but not stored."""
        self._unsure = True

    async def create(self, request: RunRequest) -> bool:
        """Create the current run, retrying while the runtime is unreachable. Return False if the turn was
        stopped before.
        """
        tries = Backoff(self._clock)
        while not self.stopping.is_set():
            try:
                async with self._start_limiter.creation_slot():
                    if self.stopping.is_set():
                        return False
                    self._unsure = True
                    self._creation = asyncio.ensure_future(self._create(request))
                    await self._creation
            except RuntimeUnreachable as problem:
                request = replace(request, repeated=True)
                await tries.pause(problem)
            else:
                reach(Step.RUN_CREATED)
                return True
        return False

    async def _create(self, request: RunRequest) -> None:
        self._enter(self.turn.attempt, await self._runtime.create_run(request))
        self._unsure, self.is_fresh = False, not request.repeated

    def _enter(self, number: int, run_id: str) -> None:
        self.turn = replace(self.turn, attempt=number, run_id=run_id)
        if number >= self._newest.number:
            self._newest = _NumberedRun(number, run_id)

    async def finish_creation(self, seconds: float) -> None:
        """Wait for a creation in flight, so that the run can be cancelled."""
        if self._creation is not None and not self._creation.done():
            await within_time(asyncio.wait({self._creation}), self._clock.sleep, seconds)

    async def record(self) -> None:
        """Store the run without waiting; after a crash the idempotency key recovers it."""
        store = set_last_run if self._continues else set_run
        await self._db.transact(store, self.turn.id, self.turn.run_id, self.turn.attempt)

    def begin_next(self) -> None:
        """Proceed to the next run, which is yet to be created."""
        self._continues = True
        self.turn = replace(self.turn, run_id="", attempt=self.turn.attempt + 1)

    async def enter_next(self) -> bool:
        """Proceed to the next run if it already exists."""
        number = self.turn.attempt + 1
        run_id = await self._with_retries(lambda: self._find_run(number))
        if not run_id:
            return False
        self._continues = True
        is_news = number > self._newest.number
        self._enter(number, run_id)
        if is_news:
            await self.record()
        return True

    async def enter_current(self) -> bool:
        """Use the current run if it was created but not stored."""
        number = self.turn.attempt
        run_id = await self._with_retries(lambda: self._find_run(number))
        if run_id:
            self._enter(number, run_id)
        return bool(run_id)

    async def begin_anew(self) -> None:
        """Start over after the runtime has lost a run (it was moved, or does not persist runs)."""
        log.warning("run_missing", turn=self.turn.id, run=self.turn.run_id)
        number = self._newest.number + 1
        self._newest = _NumberedRun(number, "")
        self._continues = False
        self.turn = replace(self.turn, run_id="", attempt=number)
        await self.record()

    async def cancel(self) -> None:
        """Cancel the newest run, retrying while the runtime is unreachable."""
        await self._with_retries(self._cancel_newest)

    async def _cancel_newest(self) -> None:
        run_id, number = self._newest.id, self._newest.number
        if self._unsure:
            run_id = await self._find_run(number + 1 if run_id else number) or run_id
        if run_id:
            await self._runtime.cancel_run(self.turn.thread_id, run_id)

    async def _find_run(self, number: int) -> str:
        return await self._runtime.find_run(self.turn.thread_id, f"{self.turn.id}:{number}")

    async def _with_retries(self, call: Callable[[], Awaitable[T]]) -> T:
        tries = Backoff(self._clock)
        while True:
            try:
                return await call()
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
