"""Named steps of a run at which a test may kill the process.

`ROEBOT_AGENT_FAULT=<step>[:count]` kills it by SIGKILL the count-th time (first by default) that
the step is reached.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum

VARIABLE = "ROEBOT_AGENT_FAULT"


class Step(StrEnum):
    """Points between which a run's stored state differs."""

    RUN_STORED = "run_stored"
    RUN_STARTED = "run_started"
    FIRST_EVENT_LOGGED = "first_event_logged"
    MID_STREAM = "mid_stream"
    WRITES_STORED = "writes_stored"
    LAST_CHECKPOINT = "last_checkpoint"
    BEFORE_FINISH = "before_finish"
    FINISHED = "finished"


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """Counts down to the planned kill; without a plan it does nothing."""

    def __init__(self, plan: str | None = None, *, kill: Callable[[], None] = _die) -> None:
        """`plan` as in the environment variable. Raises `ValueError` for an unknown step or a bad count."""
        name, _, count = (plan or "").partition(":")
        self._step = Step(name) if name else None
        self._left = int(count or "1")
        self._kill = kill

    @classmethod
    def from_environment(cls) -> Faults:
        """The plan of this process, if it has one."""
        return cls(os.environ.get(VARIABLE))

    def reach(self, step: Step) -> None:
        """The run got to `step`."""
        if step is self._step:
            self._left -= 1
            if self._left == 0:
                self._kill()
