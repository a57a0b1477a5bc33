"""One update of a memory: a model says what changes, and the file gets it, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import structlog
from langchain_core.messages import BaseMessage

from agent.core.usage import sum_usage
from agent.memory.extraction_prompt import build_correction, build_prompt
from agent.memory.folder import MemoryFolder
from agent.memory.merge import FactLimits, apply_patch
from agent.memory.patch import InvalidAnswer, MemoryPatch, parse_patch
from agent.memory.queued_exchange import PendingUpdate

log = structlog.get_logger(__name__)
AskModel = Callable[[Sequence[BaseMessage]], Awaitable[BaseMessage]]
"""Puts messages to a model, none of whose tokens reaches anybody."""
UPDATE_SECONDS = 120.0
MAX_ANSWERS = 2


async def update_memory(
    folder: MemoryFolder, pending: PendingUpdate, ask: AskModel, limits: FactLimits
) -> None:
    """Take what waits into the scope's memory, and take it off the queue.

    Raises AnswerRefused where the model's answers can't be used, TimeoutError, and whatever `ask` raises;
    then it still waits. Nothing is written where the scope was forgotten meanwhile.
    """
    document = await asyncio.to_thread(folder.files.read, pending.scope)
    told = any(one.role == "person" for one in pending.messages)
    if document.last_update_id == pending.id or not told:
        # It was written, and the process ended before the queue knew; or no person says anything new in it.
        await asyncio.to_thread(folder.queue.complete, pending)
        return
    asked = build_prompt(document, pending)
    async with asyncio.timeout(UPDATE_SECONDS):
        change = await _request_patch(asked, ask)
    await asyncio.to_thread(_write_patch, folder, pending, change, limits)


async def _request_patch(prompt: list[BaseMessage], ask: AskModel) -> MemoryPatch:
    """The model's change; an answer that can't be used is told what is wrong with it, once."""
    for attempt in range(1, MAX_ANSWERS + 1):
        answer = await ask(prompt)
        log.info("memory_model_asked", usage=sum_usage([answer]))
        try:
            return parse_patch(answer.text)
        except InvalidAnswer as error:
            if attempt == MAX_ANSWERS:
                raise
            prompt = build_correction(prompt, answer, str(error))
    raise AssertionError("unreachable")


def _write_patch(
    folder: MemoryFolder, pending: PendingUpdate, patch: MemoryPatch, limits: FactLimits
) -> None:
    """Write the change into the document as it is now, which others may have written to meanwhile."""
    with folder.files.lock_for_write():
        if folder.queue.count_erasures(pending.scope) == pending.erasures:
            now = datetime.fromtimestamp(folder.clock(), UTC).isoformat(timespec="seconds")
            document = folder.files.read(pending.scope)
            written = apply_patch(
                document, patch, limits, now=now, source=pending.thread_id, update_id=pending.id
            )
            folder.files.write(pending.scope, written)
        folder.queue.complete(pending)
    log.info("memory_updated", added=len(patch.add), removed=len(patch.remove))
