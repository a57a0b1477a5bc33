"""Named steps of a turn, an erasure or an event, at which tests kill the process or run code, and which
`watch_steps` observes.

`reach` does nothing unless the environment names a step: `ROEBOT_FAULT=<step>[:count]` kills the process by
SIGKILL (or sends it ROEBOT_FAULT_SIGNAL) when that step is reached for the count-th time (default 1). Within
a process, `act_at` calls a function at a step. The list is closed: a step without a fault test fails the
suite.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

VARIABLE = "ROEBOT_FAULT"
SIGNAL_VARIABLE = "ROEBOT_FAULT_SIGNAL"


class Step(StrEnum):
    """Steps of a turn at which crashes are tested, in order. A turn reaches OFFERED and JOINED only if a
    message joins its run, SERVICE_ANSWERED only if the agent calls the service, and TRANSCRIBED only if the
    agent transcribes a recording.
    """

    RECEIVED = "received"
    STORED = "stored"
    ACKNOWLEDGED = "acknowledged"
    TRANSCRIBED = "transcribed"
    RUN_CREATED = "run_created"
    OFFERED = "offered"
    JOINED = "joined"
    SERVICE_ANSWERED = "service_answered"
    POST_INTENDED = "post_intended"
    POSTED = "posted"
    MID_STREAM = "mid_stream"
    FINAL_COMPOSED = "final_composed"
    PART_SENT = "part_sent"
    RECORDED = "recorded"


class ErasureStep(StrEnum):
    """Steps of a personal data erasure at which crashes are tested, in order."""

    ERASURE_RECORDED = "erasure_recorded"
    QUOTATIONS_MASKED = "quotations_masked"
    ROWS_ERASED = "rows_erased"
    THREADS_REPLACED = "threads_replaced"
    THREAD_DELETED = "thread_deleted"
    AGENT_ERASED = "agent_erased"
    COMPACTED = "compacted"


class EventStep(StrEnum):
    """Steps of an event and of its incident at which crashes are tested, in order. The card and what follows
    it are turns, with the steps of turns.
    """

    EVENT_RECEIVED = "event_received"
    EVENT_FOLDED = "event_folded"
    EVENT_STORED = "event_stored"
    CARD_STORED = "card_stored"
    WORK_QUEUED = "work_queued"
    STATE_ANNOUNCED = "state_announced"


AnyStep = Step | ErasureStep | EventStep


class FaultPlan:
    """The step that kills the process, and the number of passes before it does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        step, _, count = environment.get(VARIABLE, "").partition(":")
        steps: dict[str, AnyStep] = {one.value: one for one in (*Step, *ErasureStep, *EventStep)}
        self._step = steps[step] if step else None
        self._left = int(count) if count else 1
        self._signal = signal.Signals[environment.get(SIGNAL_VARIABLE, "SIGKILL")]
        self.actions: dict[AnyStep, Callable[[], None]] = {}

    def reach(self, step: AnyStep) -> None:
        """Record that the process has reached `step`."""
        act = self.actions.pop(step, None)
        if act is not None:
            act()
        if step is not self._step:
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), self._signal)


_plan = FaultPlan(os.environ)
_watcher: ContextVar[Callable[[AnyStep], None] | None] = ContextVar("step_watcher", default=None)


def reach(step: AnyStep) -> None:
    """Record that the process has reached `step`, and kill it if a fault test requests that."""
    _plan.reach(step)
    report_step(step)


def report_step(step: AnyStep) -> None:
    """Report a step to the watcher of this context only."""
    if (watch := _watcher.get()) is not None:
        watch(step)


@contextmanager
def watch_steps(watch: Callable[[AnyStep], None] | None) -> Iterator[None]:
    """Call `watch` (None: nothing) with each step that this context and the tasks that it starts reach."""
    token = _watcher.set(watch)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def act_at(step: AnyStep, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` the next time this process reaches `step` within the context."""
    _plan.actions[step] = act
    try:
        yield
    finally:
        _plan.actions.pop(step, None)
