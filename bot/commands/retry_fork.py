"""Where an answer that is given again begins."""

from __future__ import annotations

from collections.abc import Callable

from bot.runtime.interface import AgentRuntime
from bot.store.retries import AnsweredTurn


async def fork_of(
    runtime: AgentRuntime, answered: AnsweredTurn, new_id: Callable[[], str]
) -> tuple[str, str]:
    """The thread and its checkpoint from before an answered turn ("" for the newest); a new thread where
    there was nothing before it. Raises RunMissing where it is gone, and RuntimeProblem.
    """
    if not answered.run_id:
        return answered.thread_id, ""
    found = await runtime.checkpoint_before(answered.thread_id, answered.run_id)
    return (answered.thread_id, found) if found else (new_id(), "")
