"""Files on their way from a platform to the agent."""

from __future__ import annotations

from dataclasses import dataclass

from bot.clock import Clock
from bot.dispatch.account_channel import AccountChannel
from bot.dispatch.pacing.backoff import FETCH_PATIENCE, Backoff
from bot.domain import Attachment, Turn
from bot.errors import DeliveryCategory, DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.platforms.base import FetchesFiles
from bot.runtime.interface import AgentRuntime, StoredUpload

TRANSIENT = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.RATE_LIMIT, DeliveryCategory.UNKNOWN})


@dataclass(frozen=True, slots=True)
class AttachmentUploader:
    """Hands a turn's files over to the thread that it is answered in."""

    turn: Turn
    outlet: AccountChannel
    runtime: AgentRuntime
    clock: Clock

    async def upload(self, attachment: Attachment, key: str) -> StoredUpload:
        """Fetch a file and store it, once for this key; a runtime or a platform that is away for a moment is
        waited for.

        Raises RuntimeUnreachable where the runtime stays away, another RuntimeProblem or a DeliveryError
        where the file can't be had.
        """
        adapter = self.outlet.adapter
        if not isinstance(adapter, FetchesFiles):
            raise RuntimeProblem("this platform does not hand files over")
        reaching, fetching = Backoff(self.clock), Backoff(self.clock, FETCH_PATIENCE)
        while True:
            content = adapter.fetch(attachment)
            try:
                return await self.runtime.upload_file(self.turn.thread_id, attachment.filename, content, key)
            except RuntimeUnreachable as problem:
                await reaching.pause(problem)
            except DeliveryError as problem:
                if problem.category not in TRANSIENT:
                    raise
                await fetching.pause(problem)
