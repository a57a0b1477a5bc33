"""The time that the machine gave: a host with other guests takes processors away ("steal" in proc(5))."""

from __future__ import annotations

import asyncio
import os
import time
from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_STAT = Path("/proc/stat")
_STEAL = 8
"""The field of a processor's line that counts its stolen ticks."""


def stolen() -> list[float]:
    """Seconds that the host took from each processor since the start; none where the system does not tell."""
    try:
        lines = _STAT.read_text().splitlines()
    except OSError:
        return []
    ticks = os.sysconf("SC_CLK_TCK")
    processors = [line.split() for line in lines if line.startswith("cpu") and line[3:4].isdigit()]
    return [int(fields[_STEAL]) / ticks for fields in processors if len(fields) > _STEAL]


def starved(process: int) -> float:
    """Seconds that the main threads of a process and its children could have run but no processor was free
    for them (the second field of /proc/PID/schedstat, docs.kernel.org/scheduler/sched-stats.html); 0.0 where
    the system does not tell.
    """
    folder = Path("/proc")
    try:
        children = (folder / f"{process}/task/{process}/children").read_text().split()
        delays = [(folder / one / "schedstat").read_text().split()[1] for one in (f"{process}", *children)]
    except (OSError, IndexError):
        return 0.0
    return sum(map(int, delays)) / 1e9


class Deadline:
    """So many seconds from now, without those in which the host let this machine wait, and without those in
    which other processes kept `process` from running.

    What is promised for a machine can't be judged on one that stands still.
    """

    def __init__(self, seconds: float, process: int | None = None) -> None:
        self._seconds = seconds
        self._process = process
        self._began = time.monotonic()
        self._stolen = stolen()
        self._starved = self._read_starved()

    @property
    def spent(self) -> float:
        """Seconds that the machine had since this was made."""
        taken = [now - before for now, before in zip(stolen(), self._stolen, strict=False)]
        waited = max(0.0, self._read_starved() - self._starved)
        return time.monotonic() - self._began - max(waited, *taken, 0.0)

    def _read_starved(self) -> float:
        return 0.0 if self._process is None else starved(self._process)

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.spent >= self._seconds


class Beats:
    """A beat each tenth of a second that this process's loop had: fewer where it stood still."""

    EVERY = 0.1

    def __init__(self) -> None:
        self._at: list[float] = []

    @classmethod
    @asynccontextmanager
    async def counted(cls) -> AsyncIterator[Beats]:
        """Counts while this is open."""
        beats = cls()

        async def count() -> None:
            while True:
                beats._at.append(time.monotonic())
                await asyncio.sleep(cls.EVERY)

        counting = asyncio.create_task(count())
        yield beats
        counting.cancel()

    def seconds(self, earlier: float, later: float) -> float:
        """Seconds of beats between two readings of the monotonic clock."""
        return (bisect_left(self._at, later) - bisect_left(self._at, earlier)) * self.EVERY
