"""Child processes with limits, in which foreign content is parsed; a few at a time."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent.core.background_loop import PerLoop
from agent.core.interfaces import CommandResult
from agent.sandbox.options import SandboxLimits
from agent.sandbox.running import run
from agent.shared.process import ProgramStart

ROOT = Path(__file__).parents[3]
"""Folder of the package `agent`."""
REPORT_BYTES = 200_000
_SIGXCPU = -24


class ChildRoom:
    """Admits `size` child processes at a time per event loop."""

    def __init__(self, size: int) -> None:
        self._semaphores = PerLoop(lambda: asyncio.Semaphore(size))

    @asynccontextmanager
    async def enter(self, seconds: float) -> AsyncIterator[None]:
        """Wait for a place. Raises TimeoutError after `seconds`."""
        semaphore = self._semaphores.get()
        async with asyncio.timeout(seconds):
            await semaphore.acquire()
        try:
            yield
        finally:
            semaphore.release()


async def run_child(
    module: str, arguments: Sequence[str], descriptors: Sequence[int], seconds: float
) -> CommandResult:
    """Run `python -m module arguments descriptors` without the service's environment. Raises OSError.

    The module applies `agent.uploads.documents.child.Bounds` to itself.
    """
    # Numeric libraries would reserve memory for each thread.
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    words = [sys.executable, "-P", "-m", module, *arguments, *map(str, descriptors)]
    start = ProgramStart(words, env, cwd=ROOT, fds=descriptors)
    limits = SandboxLimits(seconds=seconds, output_bytes=REPORT_BYTES, flood_bytes=REPORT_BYTES)
    return await run(start, limits)


def is_too_slow(result: CommandResult) -> bool:
    """Return whether the process exceeded its time limit."""
    return result.timed_out or result.exit_code == _SIGXCPU
