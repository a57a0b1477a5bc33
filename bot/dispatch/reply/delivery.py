"""The final of a reply: composed once, then delivered part by part until it stands or is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from agent.shared.aio import shielded
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.reply.state import Action, EditPart, PostPart, RemovePart, place_parts
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
RETRYABLE = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.AUTH, DeliveryCategory.UNKNOWN})
UNDELIVERED_COUNTER = "undelivered"


def final_parts_of(parts: Sequence[Part]) -> list[Part]:
    """The final parts among stored ones: what a composed final has no use for has no content."""
    return [part for part in parts if part.content]


class Delivery:
    """Brings the final of one turn to its chat."""

    def __init__(self, sender: ReplySender) -> None:
        self._sender = sender
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
        known = self._sender.reply.parts
        places = {part.index: part for part in place_parts(parts, known)}
        for index, part in places.items():
            have = known[index] if index < len(known) else part
            self._sender.stage_part(
                replace(part, state=have.state, platform_id=have.platform_id, repeated=have.repeated)
            )
        for have in known:
            if have.index not in places:
                self._sender.stage_part(replace(have, content=""))
        await self._sender.flush(TurnState.DELIVERING, error=error, spent=spent, joined=joined, steps=steps)
        reach(Step.FINAL_COMPOSED)

    async def finish(self, state: TurnState = TurnState.DONE, error: str = "") -> None:
        """Deliver what was composed, then close the turn as `state` (failed if a part could not be)."""
        self._final = final_parts_of(self._sender.reply.parts)
        self._failed = any(part.state is PartState.UNDELIVERED for part in self._final)
        self._sender.finish_progress(state)
        started = self._sender.clock.now()
        tries = 0
        while (action := self._sender.reply.next_final(self._final)) is not None:
            try:
                await self._carry_out(action)
                tries = 0
            except asyncio.CancelledError:
                # The service stops: what its last call has come to is known, and must not be asked again.
                await self._sender.flush()
                raise
            except (DeliveryError, RuntimeProblem) as problem:
                spent = self._sender.clock.now() - started
                pause = await self._handle_failure(action, problem, tries, spent)
                tries += 1
                await self._sender.clock.sleep(pause)
            if self._sender.reply.next_final(self._final) is not None:
                await self._sender.flush()
        closing = TurnState.FAILED if self._failed else state
        keep = max((part.index + 1 for part in self._final), default=0)
        await self._sender.flush(closing, error="undelivered" if self._failed else error, keep=keep)
        reach(Step.RECORDED)

    async def _carry_out(self, action: Action) -> None:
        """Carry out one action within the budget; what stands already needs no call."""
        if isinstance(action, EditPart) and self._sender.is_shown(action.part):
            self._sender.stage_part(replace(action.part, state=PartState.FINAL))
            return
        operation = Operation.POST if isinstance(action, PostPart) else Operation.FINAL
        async with self._sender.outlet.governor.required_call(self._sender.turn.address, operation):
            if isinstance(action, PostPart):
                await shielded(self._sender.post_part(action, final=True))
            elif isinstance(action, EditPart):
                await shielded(self._sender.edit_part(action, final=True))
            else:
                await shielded(self._sender.remove_part(action))

    async def _handle_failure(
        self, action: Action, problem: DeliveryError | RuntimeProblem, tries: int, spent: float
    ) -> float:
        """Settle a failed call; the seconds to wait before the next one."""
        if isinstance(problem, RateLimited):
            log.warning("rate_limited", account=self._sender.outlet.account, retry_after=problem.retry_after)
            self._sender.outlet.governor.add_penalty(
                self._sender.turn.address, problem.retry_after, account_wide=problem.account_wide
            )
            if isinstance(action, PostPart):
                await self._sender.unmark_intended(action)
            return 0.0
        log.warning("delivery_failed", turn=self._sender.turn.id, problem=str(problem), tries=tries)
        pause = BACKOFF[min(tries, len(BACKOFF) - 1)]
        if isinstance(action, PostPart):
            return (
                pause
                if await self._should_retry_post(action, problem, spent)
                else await self._give_up(action, problem)
            )
        if isinstance(action, EditPart) and _is_gone(problem):
            # The message is gone, so the answer is posted anew.
            self._sender.stage_part(replace(action.part, state=PartState.PLANNED, platform_id=""))
            return 0.0
        passing = isinstance(problem, DeliveryError) and problem.category in RETRYABLE and spent < GIVE_UP
        return pause if passing else await self._give_up(action, problem)

    async def _should_retry_post(
        self, action: PostPart, problem: DeliveryError | RuntimeProblem, spent: float
    ) -> bool:
        """Whether a failed post is made again. One of unknown outcome is repeated once, marked."""
        if isinstance(problem, DeliveryError) and problem.unknown_outcome:
            have = self._sender.reply.parts[action.part.index]
            return self._sender.repeats_safely or not have.repeated
        await self._sender.unmark_intended(action)
        if isinstance(problem, DeliveryError):
            return problem.category in RETRYABLE and spent < GIVE_UP
        return isinstance(problem, RuntimeUnreachable) and spent < BACKOFF[-2]

    async def _give_up(self, action: Action, problem: DeliveryError | RuntimeProblem) -> float:
        """Record that a part cannot be delivered; in a file's place goes a line that says so."""
        part = self._sender.reply.parts[action.part.index]
        if isinstance(action, RemovePart):
            self._sender.reply.update_part(replace(part, state=PartState.UNDELIVERED))
            return 0.0
        if part.kind is not PartKind.TEXT:
            instead = Part(part.index, PartKind.TEXT, f"📎 `{part.filename}` could not be sent: {problem}")
            self._final = [instead if one.index == part.index else one for one in self._final]
            self._sender.stage_part(instead)
            return 0.0
        self._failed = True
        category = problem.category.value if isinstance(problem, DeliveryError) else "unknown"
        self._sender.stage_part(replace(part, state=PartState.UNDELIVERED), category=category)
        await self._sender.db.run(increment_counter, self._sender.turn.address.account, UNDELIVERED_COUNTER)
        return 0.0


def _is_gone(problem: DeliveryError | RuntimeProblem) -> bool:
    return isinstance(problem, DeliveryError) and problem.category is DeliveryCategory.NOT_FOUND
