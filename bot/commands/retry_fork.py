"""Find the checkpoint from which a retried turn forks."""

from __future__ import annotations

from collections.abc import Callable

from bot.runtime.interface import AgentRuntime
from bot.store.retries import AnsweredTurn


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
