"""`/retry`: answer a turn again on a fork of its thread, immediately or from the queue."""

from __future__ import annotations

from collections.abc import Callable

from bot.commands.registry import Invocation, Result
from bot.errors import RunMissing
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.conversations import load_lane
from bot.store.retries import AnsweredTurn, begin_retry, find_last_answered, open_retry, queue_retry
from bot.turn import Turn


async def find_fork(
    runtime: AgentRuntime, answered: AnsweredTurn, new_id: Callable[[], str]
) -> tuple[str, str]:
    """Return the thread and checkpoint before an answered turn ("" for the newest).

    The result is a new thread if nothing came before the turn. Raises RunMissing if the run is gone, and
    RuntimeProblem.
    """
    if not answered.run_id:
        return answered.thread_id, ""
    found = await runtime.checkpoint_before(answered.thread_id, answered.run_id)
    return (answered.thread_id, found) if found else (new_id(), "")


async def begin_queued_retry(
    turn: Turn, db: Database, runtime: AgentRuntime, new_id: Callable[[], str], now: float
) -> str:
    """Start a queued `/retry` and determine the turn to repeat.

    Returns "" if the run can begin, else the key of the text that explains why not. Raises RuntimeProblem if
    the runtime does not answer.
    """
    answered = await db.transact(find_last_answered, turn.conversation)
    if answered is None:
        return "retry_nothing"
    try:
        thread_id, checkpoint = await find_fork(runtime, answered, new_id)
    except RunMissing:
        return "retry_gone"
    begun = await db.transact(
        begin_retry, turn.id, answered, checkpoint=checkpoint, thread_id=thread_id, now=now
    )
    return "" if begun else "retry_nothing"


async def retry(call: Invocation) -> Result:
    """Answer the last turn again, on a fork that precedes it."""
    services = call.services
    lane = await call.core.db.transact(load_lane, call.turn.conversation)
    if refusal := await call.core.db.transact(call.limits.find_refusal, call.core.clock.now()):
        return Result(refusal)
    if lane.turn is not None:
        waits, now = call.texts("retry_waits"), call.core.clock.now()
        await call.core.db.transact(queue_retry, call.turn, text=waits, limits=call.limits, now=now)
        services.runs.wake_conversation(call.turn.conversation)
        return Result(waits, composed=True)
    answered = await call.core.db.transact(find_last_answered, call.turn.conversation)
    if answered is None:
        return Result(call.texts("retry_nothing"))
    try:
        thread_id, checkpoint = await find_fork(call.core.runtime, answered, call.core.new_id)
    except RunMissing:
        return Result(call.texts("retry_gone"))
    text = call.texts("retry_done")
    await call.core.db.transact(
        open_retry,
        call.turn,
        answered,
        checkpoint=checkpoint,
        thread_id=thread_id,
        text=text,
        limits=call.limits,
        now=call.core.clock.now(),
    )
    services.runs.wake_conversation(call.turn.conversation)
    return Result(text, composed=True)
