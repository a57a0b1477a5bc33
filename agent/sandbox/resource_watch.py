"""Looks after a command that runs: its memory and the disk, which no limit of the kernel bounds in all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.sandbox.disk_and_memory_usage import Held, descendants, free_on, held_by, used_by
from agent.sandbox.limits import MEGABYTE, SandboxLimits

DISK_PAUSE = 0.25
TIDYING = 1_000_000
"""Bytes by which a full folder may grow before it shrinks."""
DISK_SHARE = 5
"""Counting files may take one part in so many of the time."""


class Watch:
    """One command's. `held` is what the folders held before; `processes` finds what belongs to the command by
    the process that was started for it. `over` is blocking; call it again and again.
    """

    def __init__(
        self,
        limits: SandboxLimits,
        folders: Sequence[Path],
        *,
        held: Held,
        processes: Callable[[int], Sequence[int]] = descendants,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._folders, self._clock = limits, folders, clock
        self._processes = processes
        self._least, self._held = held, held
        self._again = clock() + DISK_PAUSE

    def over(self, pid: int) -> str | None:
        """Why the command has to end, in words; None while it may go on."""
        limits, used = self._limits, used_by(self._processes(pid))
        if used.memory > limits.memory_mb * MEGABYTE:
            return f"It used more than {limits.memory_mb} MB of memory."
        if free_on(self._folders[0]) < limits.free_mb * MEGABYTE:
            return "The disk is nearly full."
        if self._clock() >= self._again:
            started = self._clock()
            self._held = held_by(self._folders, limits.disk_files)
            now = self._clock()
            self._again = now + max(DISK_PAUSE, DISK_SHARE * (now - started))
        return self._over_disk(used.nameless)

    def _over_disk(self, nameless: int) -> str | None:
        """Too much, and more than there was: who tidies up a full folder may go on."""
        held, limits = self._held, self._limits
        size = held.size + nameless
        least = self._least
        self._least = Held(min(size, least.size), min(held.entries, least.entries))
        if size > limits.disk_mb * MEGABYTE and size > least.size + TIDYING:
            return f"The thread's folders would hold more than {limits.disk_mb} MB."
        if held.entries > limits.disk_files and held.entries > least.entries:
            return f"The thread's folders would hold more than {limits.disk_files} files."
        return None
