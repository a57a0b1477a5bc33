"""One update of a memory: a model says what changes, and the file gets it, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import structlog
from langchain_core.messages import BaseMessage

from agent.core.usage import sum_usage
from agent.memory.extraction_prompt import again, question
from agent.memory.folder import MemoryFolder
from agent.memory.merge import Limits, changed
from agent.memory.patch import AnswerRefused, Change, read_change
from agent.memory.queued_exchange import Pending

log = structlog.get_logger(__name__)
Ask = Callable[[Sequence[BaseMessage]], Awaitable[BaseMessage]]
"""Puts messages to a model, none of whose tokens reaches anybody."""
SECONDS = 120.0
ASKED_AT_MOST = 2


async def update(folder: MemoryFolder, pending: Pending, ask: Ask, limits: Limits) -> None:
    """Take what waits into the scope's memory, and take it off the queue.

    Raises AnswerRefused where the model's answers can't be used, TimeoutError, and whatever `ask` raises;
    then it still waits. Nothing is written where the scope was forgotten meanwhile.
    """
    document = await asyncio.to_thread(folder.files.read, pending.scope)
    told = any(one.who == "person" for one in pending.said)
    if document.last_update_id == pending.id or not told:
        # It was written, and the process ended before the queue knew; or no person says anything new in it.
        await asyncio.to_thread(folder.queue.done, pending)
        return
    asked = question(document, pending)
    async with asyncio.timeout(SECONDS):
        change = await _answered(asked, ask)
    await asyncio.to_thread(_apply, folder, pending, change, limits)


async def _answered(asked: list[BaseMessage], ask: Ask) -> Change:
    """The model's change; an answer that can't be used is told what is wrong with it, once."""
    for attempt in range(1, ASKED_AT_MOST + 1):
        answer = await ask(asked)
        log.info("memory_model_asked", usage=sum_usage([answer]))
        try:
            return read_change(answer.text)
        except AnswerRefused as error:
            if attempt == ASKED_AT_MOST:
                raise
            asked = again(asked, answer, str(error))
    raise AssertionError("unreachable")


def _apply(folder: MemoryFolder, pending: Pending, change: Change, limits: Limits) -> None:
    """Write the change into the document as it is now, which others may have written to meanwhile."""
    with folder.files.changing():
        if folder.queue.forgotten(pending.scope) == pending.forgotten:
            now = datetime.fromtimestamp(folder.clock(), UTC).isoformat(timespec="seconds")
            document = folder.files.read(pending.scope)
            written = changed(
                document, change, limits, now=now, source=pending.thread_id, update_id=pending.id
            )
            folder.files.write(pending.scope, written)
        folder.queue.done(pending)
    log.info("memory_updated", added=len(change.add), removed=len(change.remove))
