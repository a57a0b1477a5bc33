"""Support for checkpointers with blocking methods, such as langgraph's SqliteSaver, in asynchronous runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from types import new_class
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Checkpointer


class _ThreadedMethods(BaseCheckpointSaver[Any]):
    """Runs blocking methods in threads if the class has no asynchronous versions."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        try:
            return await super().aget_tuple(config)
        except NotImplementedError:
            return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        try:
            async for found in super().alist(config, **options):
                yield found
        except NotImplementedError:
            for found in await asyncio.to_thread(lambda: list(self.list(config, **options))):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        try:
            return await super().aput(config, checkpoint, metadata, new_versions)
        except NotImplementedError:
            return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        try:
            await super().aput_writes(config, writes, task_id, task_path)
        except NotImplementedError:
            await asyncio.to_thread(partial(self.put_writes, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        try:
            await super().adelete_thread(thread_id)
        except NotImplementedError:
            await asyncio.to_thread(self.delete_thread, thread_id)


def with_async_methods(saver: Checkpointer) -> Checkpointer:
    """Return the checkpointer, or a view of it with asynchronous methods."""
    if not isinstance(saver, BaseCheckpointSaver) or isinstance(saver, InMemorySaver | _ThreadedMethods):
        return saver
    kind = type(saver)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    view_kind = new_class(
        kind.__name__, (_ThreadedMethods, kind), exec_body=lambda namespace: namespace.update(names)
    )
    view: BaseCheckpointSaver[Any] = object.__new__(view_kind)
    view.__dict__ = saver.__dict__
    return view
