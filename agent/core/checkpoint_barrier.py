"""The checkpoint behind a step: find it, and wait until it is on disk.

With durability `async` a step runs while the checkpoint it started from is still being written. A call that
must not happen twice waits for that checkpoint. Otherwise, after a crash, the run could resume from an older
checkpoint and ask the model again, and the new call could not be matched with the one already made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.runtime import ExecutionInfo

CheckpointWaiter = Callable[[str], Awaitable[None]]
"""Returns once the checkpoint with this id is on disk; raises CheckpointLost if it never will be."""
NESTED = "|"
"""Langgraph's separator between a graph and its subgraph in a checkpoint namespace."""
_waiter: ContextVar[CheckpointWaiter | None] = ContextVar("roebot_stored", default=None)


@contextmanager
def use_checkpoint_barrier(waiter: CheckpointWaiter) -> Iterator[None]:
    """Make graphs in this context wait with `waiter`."""
    token = _waiter.set(waiter)
    try:
        yield
    finally:
        _waiter.reset(token)


async def wait_for_checkpoint(step: ExecutionInfo | None) -> None:
    """Wait until the checkpoint from which this step started is on disk. Raises CheckpointLost.

    Returns at once without a barrier, and for steps of a nested graph, which may have no checkpoints.
    """
    waiter = _waiter.get()
    if waiter is not None and step is not None and NESTED not in step.checkpoint_ns:
        await waiter(step.checkpoint_id)


def find_saver(config: Mapping[str, Any]) -> BaseCheckpointSaver[Any] | None:
    """Return the saver of a step's run from the step's config (langgraph has no public API for it)."""
    saver = (config.get("configurable") or {}).get("__pregel_checkpointer")
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def locate_checkpoint(step: ExecutionInfo) -> RunnableConfig:
    """Return the config of the checkpoint from which a step started, for `find_saver`."""
    place = {
        "thread_id": step.thread_id,
        "checkpoint_ns": step.checkpoint_ns.rpartition(NESTED)[0],
        "checkpoint_id": step.checkpoint_id,
    }
    return {"configurable": place}
