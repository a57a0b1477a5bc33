"""Files on their way from a platform to the agent."""

from __future__ import annotations

from dataclasses import dataclass

from bot.clock import Clock
from bot.dispatch.account_channel import Outlet
from bot.dispatch.pacing.backoff import FETCHED_FOR, Tries
from bot.domain import Attachment, Turn
from bot.errors import DeliveryCategory, DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.platforms.base import FetchesFiles
from bot.runtime.interface import RuntimePort, Upload

PASSING = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.RATE_LIMIT, DeliveryCategory.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Handing:
    """Hands a turn's files over to the thread that it is answered in."""

    turn: Turn
    outlet: Outlet
    runtime: RuntimePort
    clock: Clock

    async def over(self, attachment: Attachment, key: str) -> Upload:
        """Fetch a file and store it, once for this key; a runtime or a platform that is away for a moment is
        waited for.

        Raises RuntimeUnreachable where the runtime stays away, another RuntimeProblem or a DeliveryError
        where the file can't be had.
        """
        adapter = self.outlet.adapter
        if not isinstance(adapter, FetchesFiles):
            raise RuntimeProblem("this platform does not hand files over")
        reaching, fetching = Tries(self.clock), Tries(self.clock, FETCHED_FOR)
        while True:
            content = adapter.fetch(attachment)
            try:
                return await self.runtime.upload(self.turn.thread_id, attachment.filename, content, key)
            except RuntimeUnreachable as problem:
                await reaching.pause(problem)
            except DeliveryError as problem:
                if problem.category not in PASSING:
                    raise
                await fetching.pause(problem)
