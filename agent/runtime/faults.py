"""Fault points: named steps of a run at which a test may kill the process.

`ROEBOT_AGENT_FAULT=<step>[:count]` kills it by SIGKILL (or sends it ROEBOT_FAULT_SIGNAL) the count-th time
(first by default) that the step is reached.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum

VARIABLE = "ROEBOT_AGENT_FAULT"
SIGNAL_VARIABLE = "ROEBOT_FAULT_SIGNAL"


class RunStep(StrEnum):
    """Points in a run's life between which its stored state changes."""

    RUN_STORED = "run_stored"
    RUN_STARTED = "run_started"
    FIRST_EVENT_LOGGED = "first_event_logged"
    MID_STREAM = "mid_stream"
    WRITES_STORED = "writes_stored"
    LAST_CHECKPOINT = "last_checkpoint"
    BEFORE_FINISH = "before_finish"
    FINISHED = "finished"


def _die() -> None:
    os.kill(os.getpid(), signal.Signals[os.environ.get(SIGNAL_VARIABLE, "SIGKILL")])


class Faults:
    """Counts down to a planned kill; does nothing without a plan."""

    def __init__(self, plan: str | None = None, *, kill: Callable[[], None] = _die) -> None:
        """`plan` has the format of the environment variable. Raises `ValueError` for an invalid step or
        count.
        """
        name, _, count = (plan or "").partition(":")
        steps = {step.value: step for step in RunStep}
        if name and name not in steps:
            raise ValueError(f"{name} is not a step")
        self._step = steps[name] if name else None
        self._remaining = int(count or "1")
        self._kill = kill

    @classmethod
    def from_environment(cls) -> Faults:
        """Read this process's plan from the environment."""
        return cls(os.environ.get(VARIABLE))

    def reach(self, step: RunStep) -> None:
        """Kill the process if planned for this step."""
        if step is self._step:
            self._remaining -= 1
            if self._remaining == 0:
                self._kill()
