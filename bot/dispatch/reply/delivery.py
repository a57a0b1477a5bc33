"""The final of a reply: composed once, then delivered part by part until it stands or is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from agent.shared.aio import shielded
from bot.dispatch.reply.sender import ReplyCalls
from bot.dispatch.reply.state import Action, Edit, Post, Remove, placed
from bot.domain import Part, PartKind, PartState, ToolStep, TurnState
from bot.errors import (
    DeliveryCategory,
    DeliveryError,
    RateLimited,
    RuntimeProblem,
    RuntimeUnreachable,
)
from bot.faults import Step, reach
from bot.platforms.base import Operation
from bot.store.usage import TurnUsage, increment_counter

log = structlog.get_logger(__name__)

# Seconds between tries of a call that failed for a passing reason; the last repeats until GIVE_UP has passed.
BACKOFF = (0.5, 1.0, 2.0, 5.0, 25.0, 120.0, 600.0)
GIVE_UP = 24 * 3600.0
PASSING = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.AUTH, DeliveryCategory.UNKNOWN})
UNDELIVERED_COUNTER = "undelivered"


def planned(parts: Sequence[Part]) -> list[Part]:
    """The final parts among stored ones: what a composed final has no use for has no content."""
    return [part for part in parts if part.content]


class Delivery:
    """Brings the final of one turn to its chat."""

    def __init__(self, calls: ReplyCalls) -> None:
        self._calls = calls
        self._final: list[Part] = []
        self._failed = False

    async def compose(
        self,
        parts: Sequence[Part],
        error: str = "",
        spent: TurnUsage | None = None,
        joined: Sequence[int] = (),
        steps: Sequence[ToolStep] = (),
    ) -> None:
        """Record the final parts, what they cost, which messages have joined the turn and which tools it
        called: from here on the answer survives a crash, whatever becomes of the run.
        """
        known = self._calls.reply.parts
        places = {part.index: part for part in placed(parts, known)}
        for index, part in places.items():
            have = known[index] if index < len(known) else part
            self._calls.stage(
                replace(part, state=have.state, platform_id=have.platform_id, repeated=have.repeated)
            )
        for have in known:
            if have.index not in places:
                self._calls.stage(replace(have, content=""))
        await self._calls.flush(TurnState.DELIVERING, error=error, spent=spent, joined=joined, steps=steps)
        reach(Step.FINAL_COMPOSED)

    async def finish(self, state: TurnState = TurnState.DONE, error: str = "") -> None:
        """Deliver what was composed, then close the turn as `state` (failed if a part could not be)."""
        self._final = planned(self._calls.reply.parts)
        self._failed = any(part.state is PartState.UNDELIVERED for part in self._final)
        self._calls.settle(state)
        started = self._calls.clock.now()
        tries = 0
        while (action := self._calls.reply.next_final(self._final)) is not None:
            try:
                await self._do(action)
                tries = 0
            except asyncio.CancelledError:
                # The service stops: what its last call has come to is known, and must not be asked again.
                await self._calls.flush()
                raise
            except (DeliveryError, RuntimeProblem) as problem:
                spent = self._calls.clock.now() - started
                pause = await self._after(action, problem, tries, spent)
                tries += 1
                await self._calls.clock.sleep(pause)
            if self._calls.reply.next_final(self._final) is not None:
                await self._calls.flush()
        closing = TurnState.FAILED if self._failed else state
        keep = max((part.index + 1 for part in self._final), default=0)
        await self._calls.flush(closing, error="undelivered" if self._failed else error, keep=keep)
        reach(Step.RECORDED)

    async def _do(self, action: Action) -> None:
        """Carry out one action within the budget; what stands already needs no call."""
        if isinstance(action, Edit) and self._calls.stands(action.part):
            self._calls.stage(replace(action.part, state=PartState.FINAL))
            return
        operation = Operation.POST if isinstance(action, Post) else Operation.FINAL
        async with self._calls.outlet.governor.must(self._calls.turn.address, operation):
            if isinstance(action, Post):
                await shielded(self._calls.post(action, final=True))
            elif isinstance(action, Edit):
                await shielded(self._calls.edit(action, final=True))
            else:
                await shielded(self._calls.remove(action))

    async def _after(
        self, action: Action, problem: DeliveryError | RuntimeProblem, tries: int, spent: float
    ) -> float:
        """Settle a failed call; the seconds to wait before the next one."""
        if isinstance(problem, RateLimited):
            log.warning("rate_limited", account=self._calls.outlet.account, retry_after=problem.retry_after)
            self._calls.outlet.governor.penalty(
                self._calls.turn.address, problem.retry_after, account_wide=problem.account_wide
            )
            if isinstance(action, Post):
                await self._calls.take_back(action)
            return 0.0
        log.warning("delivery_failed", turn=self._calls.turn.id, problem=str(problem), tries=tries)
        pause = BACKOFF[min(tries, len(BACKOFF) - 1)]
        if isinstance(action, Post):
            return (
                pause if await self._again(action, problem, spent) else await self._give_up(action, problem)
            )
        if isinstance(action, Edit) and _gone(problem):
            # The message is gone, so the answer is posted anew.
            self._calls.stage(replace(action.part, state=PartState.PLANNED, platform_id=""))
            return 0.0
        passing = isinstance(problem, DeliveryError) and problem.category in PASSING and spent < GIVE_UP
        return pause if passing else await self._give_up(action, problem)

    async def _again(self, action: Post, problem: DeliveryError | RuntimeProblem, spent: float) -> bool:
        """Whether a failed post is made again. One of unknown outcome is repeated once, marked."""
        if isinstance(problem, DeliveryError) and problem.unknown_outcome:
            have = self._calls.reply.parts[action.part.index]
            return self._calls.repeats_safely or not have.repeated
        await self._calls.take_back(action)
        if isinstance(problem, DeliveryError):
            return problem.category in PASSING and spent < GIVE_UP
        return isinstance(problem, RuntimeUnreachable) and spent < BACKOFF[-2]

    async def _give_up(self, action: Action, problem: DeliveryError | RuntimeProblem) -> float:
        """Record that a part cannot be delivered; in a file's place goes a line that says so."""
        part = self._calls.reply.parts[action.part.index]
        if isinstance(action, Remove):
            self._calls.reply.change(replace(part, state=PartState.UNDELIVERED))
            return 0.0
        if part.kind is not PartKind.TEXT:
            instead = Part(part.index, PartKind.TEXT, f"📎 `{part.filename}` could not be sent: {problem}")
            self._final = [instead if one.index == part.index else one for one in self._final]
            self._calls.stage(instead)
            return 0.0
        self._failed = True
        category = problem.category.value if isinstance(problem, DeliveryError) else "unknown"
        self._calls.stage(replace(part, state=PartState.UNDELIVERED), category=category)
        await self._calls.db.run(increment_counter, self._calls.turn.address.account, UNDELIVERED_COUNTER)
        return 0.0


def _gone(problem: DeliveryError | RuntimeProblem) -> bool:
    return isinstance(problem, DeliveryError) and problem.category is DeliveryCategory.NOT_FOUND
