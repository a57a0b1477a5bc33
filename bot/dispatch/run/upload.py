"""Uploads of attachments to a turn's agent thread."""

from __future__ import annotations

from dataclasses import dataclass

from bot.clock import Clock
from bot.dispatch.pacing import FETCH_PATIENCE, AccountChannel, Backoff
from bot.domain import Attachment
from bot.errors import DeliveryCategory, DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.runtime.interface import AgentRuntime, StoredUpload
from bot.turn import Turn

TRANSIENT = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.RATE_LIMIT, DeliveryCategory.UNKNOWN})


@dataclass(frozen=True, slots=True)
class AttachmentUploader:
    """Uploads a turn's attachments to its agent thread."""

    turn: Turn
    channel: AccountChannel
    runtime: AgentRuntime
    clock: Clock

    async def upload(self, attachment: Attachment, key: str) -> StoredUpload:
        """Fetch and upload a file, once per key, waiting while the runtime or the platform is unavailable.

        Raises RuntimeUnreachable if the runtime stays unavailable, another RuntimeProblem or a DeliveryError
        if the file can't be fetched or stored.
        """
        adapter = self.channel.capabilities.fetches_files
        if adapter is None:
            raise RuntimeProblem("files from this platform can't be read")
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
