"""Waiting until what a step stands on is on disk.

With durability `async` a step runs while the checkpoint that it began from is still being written. A call
that must not happen twice waits for that checkpoint: after a crash the run would else go on from an older
one, ask the model again and get another call, which nothing tells from one that was never made.
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
    """Graphs that run inside store their checkpoints there, step by step."""
    token = _waiter.set(waiter)
    try:
        yield
    finally:
        _waiter.reset(token)


async def wait_for_checkpoint(step: ExecutionInfo | None) -> None:
    """Wait until the checkpoint is on disk that this step began from. Raises CheckpointLost.

    Returns at once where nobody stores the steps one by one, and for those of a graph inside another one,
    which may have no checkpoints of its own.
    """
    waiter = _waiter.get()
    if waiter is not None and step is not None and NESTED not in step.checkpoint_ns:
        await waiter(step.checkpoint_id)
