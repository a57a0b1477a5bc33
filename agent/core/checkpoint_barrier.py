"""Wait until the checkpoint behind a step is on disk.

With durability `async` a step runs while the checkpoint it started from is still being written. A call that
must not happen twice waits for that checkpoint. Otherwise the run could resume from an older checkpoint after
a crash, ask the model again and get another call, which cannot be told from one that was never made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from langgraph.runtime import ExecutionInfo

CheckpointWaiter = Callable[[str], Awaitable[None]]
"""Returns once the checkpoint with this id is on disk; raises CheckpointLost if it never will be."""
NESTED = "|"
"""What langgraph puts between the steps of a graph and those of one inside it."""
_waiter: ContextVar[CheckpointWaiter | None] = ContextVar("roebot_stored", default=None)


@contextmanager
def use_checkpoint_barrier(waiter: CheckpointWaiter) -> Iterator[None]:
    """Make graphs that run in this context wait with `waiter`."""
    token = _waiter.set(waiter)
    try:
        yield
    finally:
        _waiter.reset(token)


async def wait_for_checkpoint(step: ExecutionInfo | None) -> None:
    """Wait until the checkpoint that this step started from is on disk. Raises CheckpointLost.

    Returns at once without a barrier, and for steps of a nested graph, which may have no checkpoints.
    """
    waiter = _waiter.get()
    if waiter is not None and step is not None and NESTED not in step.checkpoint_ns:
        await waiter(step.checkpoint_id)
