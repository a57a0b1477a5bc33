"""Observation of turns: the durations of their stages, and the calls that deliver their replies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from structlog.contextvars import bound_contextvars

from agent.shared.metrics import histogram, summary
from agent.shared.tracing import CLIENT, begin_span, derive_root, end_span, record_span, traceparent
from bot.clock import Clock
from bot.errors import DeliveryError, NotModified, RuntimeProblem
from bot.faults import AnyStep, Step, watch_steps
from bot.turn import Turn, TurnKind

SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_stages = histogram(
    "roebot_turn_stage_seconds", "Duration of a turn's stages in seconds", ["kind", "stage"], buckets=SECONDS
)
_turns = histogram(
    "roebot_turn_seconds",
    "Time in seconds from the acceptance of a turn until it is closed",
    ["kind"],
    buckets=SECONDS,
)
_deliveries = summary(
    "roebot_delivery_seconds",
    "Duration of calls that deliver replies in seconds",
    ["account", "operation", "outcome"],
)
CLAIMED: Final = "claimed"
_STAGES: Final[Mapping[AnyStep, tuple[str, str]]] = {
    Step.RUN_CREATED: ("run_created", CLAIMED),
    Step.POSTED: ("first_text", "run_created"),
    Step.PART_SENT: ("first_text", "run_created"),
    Step.FINAL_COMPOSED: ("composed", "run_created"),
    Step.RECORDED: ("delivered", "composed"),
}
"""Stage that ends with a step, and the stage after which it begins."""


class TurnWatch:
    """The stages of a turn in this process. After a restart, those before it are not measured again."""

    def __init__(self, turn: Turn, clock: Clock, root: str, *, is_new: bool) -> None:
        self._turn = turn
        self._clock = clock
        self._root = root
        now = clock.now()
        self._ends = {CLAIMED: now}
        if is_new:
            self._observe(CLAIMED, now - turn.created_at)
            sent = [message.sent_at for message in turn.messages if message.sent_at]
            sent_at = min([turn.created_at, *sent])
            self._record_span("receive", sent_at, turn.created_at)
            self._record_span("wait", turn.created_at, now)
        if turn.kind is not TurnKind.CHAT:
            # It has no run, and its text is shown when it is delivered.
            self._ends |= {"run_created": now, "first_text": now}

    def on_step(self, step: AnyStep) -> None:
        """Observe the stage that ends with a step, once."""
        stage, before = _STAGES.get(step, ("", ""))
        if not stage or stage in self._ends:
            return
        self._ends[stage] = now = self._clock.now()
        if before in self._ends:
            self._observe(stage, now - self._ends[before])
        if step is Step.RECORDED:
            _turns.labels(self._turn.kind.value).observe(max(0.0, now - self._turn.created_at))
            self._record_span("turn", self._turn.created_at, now, self._root)

    def _record_span(self, name: str, begin: float, end: float, root: str = "") -> None:
        turn = self._turn
        facts = {"messaging.system": turn.platform, "roebot.turn": turn.id, "roebot.kind": turn.kind.value}
        end_span(begin_span(name, facts, at=begin, root=root), at=end)

    def _observe(self, stage: str, seconds: float) -> None:
        _stages.labels(self._turn.kind.value, stage).observe(max(0.0, seconds))


@contextmanager
def observe_turn(turn: Turn, clock: Clock, *, is_new: bool = True) -> Iterator[None]:
    """Observe a turn while this context works on it, for metrics, its trace and the ids in logs.

    `is_new`: it was not claimed before.
    """
    root = derive_root(turn.id, turn.created_at, turn.address.account)
    token, ids = traceparent.set(root), {"thread_id": turn.thread_id, "trace_id": root[3:35]}
    try:
        with (
            bound_contextvars(turn=turn.id, **ids),
            watch_steps(TurnWatch(turn, clock, root, is_new=is_new).on_step),
        ):
            yield
    finally:
        traceparent.reset(token)


@contextmanager
def observe_delivery(account: str, operation: str) -> Iterator[None]:
    """Observe a call that delivers a part of a reply. An error's outcome is its category."""
    began, outcome, facts = time.perf_counter(), "ok", {"roebot.account": account}
    try:
        with record_span(f"deliver {operation}", facts, CLIENT, (NotModified,)):
            yield
    except NotModified:
        raise
    except DeliveryError as error:
        outcome = error.category.value
        raise
    except BaseException as error:
        outcome = _name_outcome(error)
        raise
    finally:
        _deliveries.labels(account, operation, outcome).observe(time.perf_counter() - began)


def _name_outcome(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return "runtime" if isinstance(error, RuntimeProblem) else "unknown"
