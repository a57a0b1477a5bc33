"""`/retry`: answer a turn again on a fork of its thread, now or once the queue reaches it."""

from __future__ import annotations

from collections.abc import Callable

from bot.domain import Turn
from bot.errors import RunMissing
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.retries import AnsweredTurn, begin_retry, find_last_answered


async def find_fork(
    runtime: AgentRuntime, answered: AnsweredTurn, new_id: Callable[[], str]
) -> tuple[str, str]:
    """Return the thread and the checkpoint before an answered turn ("" for the newest).

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
    """Resolve the turn that a queued `/retry` answers again.

    Returns "" if the run can begin, else the key of the text that explains why not. Raises RuntimeProblem if
    the runtime does not answer.
    """
    answered = await db.run(find_last_answered, turn.conversation)
    if answered is None:
        return "retry_nothing"
    try:
        thread_id, checkpoint = await find_fork(runtime, answered, new_id)
    except RunMissing:
        return "retry_gone"
    begun = await db.run(begin_retry, turn.id, answered, checkpoint=checkpoint, thread_id=thread_id, now=now)
    return "" if begun else "retry_nothing"
