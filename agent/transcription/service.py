"""Transcription of uploads, each at most once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from agent.catalog.source import ModelSource
from agent.config.transcriber import TranscriberConfig
from agent.core.paths import check_name, check_thread_id
from agent.errors import FileMissing, RecordingRefused, TranscriberUnavailable
from agent.shared.aio import Sleep
from agent.shared.schemas import RecordingTranscript
from agent.transcription.containers import find_container
from agent.transcription.interface import Recording, Transcriber
from agent.transcription.loading import load_transcriber
from agent.transcription.running import transcribe
from agent.uploads.folders import ThreadFolders
from agent.uploads.recordings import TranscriptRecord, TranscriptRecords, digest_of
from agent.uploads.store import UploadStore

log = structlog.get_logger(__name__)
MAX_BYTES = 100_000_000
"""Largest recording in bytes, even if the transcriber accepts more: it is read into memory."""
NONE_CONFIGURED = "no transcriber is configured; an admin can set transcriber in the configuration"
UNKNOWN_FORMAT = "its audio format is unknown"
REPLACED = "another file has taken its place"
NO_SPEECH = "no speech was recognized in it"


class TranscriptionService:
    """Transcribes the uploads in a data directory with the configured transcriber.

    A transcript is stored with the upload and deleted with it. Concurrent requests for the same upload share
    the work, which continues if a client disconnects. Failures are not stored.
    """

    def __init__(self, home: Path, source: ModelSource, *, sleep: Sleep = asyncio.sleep) -> None:
        folders = ThreadFolders(home)
        self._source = source
        self._sleep = sleep
        self._uploads = UploadStore(folders)
        self._records = TranscriptRecords(folders)
        self._running: dict[tuple[str, str], asyncio.Task[str]] = {}
        self._loaded: tuple[TranscriberConfig, Transcriber | None] | None = None

    async def transcribe(self, thread_id: str, filename: str) -> RecordingTranscript:
        """Return the transcript of an upload, or the reason why there is none.

        Raises BadIdentifier or FileMissing.
        """
        key = check_thread_id(thread_id), check_name(filename)
        work = self._running.get(key)
        if work is None:
            work = self._running[key] = asyncio.create_task(self._find_or_make(*key))
            work.add_done_callback(lambda done: self._end(key, done))
        try:
            text = await asyncio.shield(work)
        except (RecordingRefused, TranscriberUnavailable) as error:
            return RecordingTranscript(text=None, note=str(error))
        return RecordingTranscript(text=text or None, note=None if text else NO_SPEECH)

    def _end(self, key: tuple[str, str], done: asyncio.Task[str]) -> None:
        self._running.pop(key, None)
        if not done.cancelled():
            done.exception()  # there may be nobody left to retrieve it

    async def _find_or_make(self, thread_id: str, name: str) -> str:
        digest = await self._uploads.digest(thread_id, name, limit=MAX_BYTES)
        if digest is None:
            raise await self._explain_missing(thread_id, name)
        known = await asyncio.to_thread(self._records.read, thread_id, name, digest)
        if known is not None:
            return known
        config = (await self._source.config()).transcriber
        transcriber = await self._load(config)
        if transcriber is None:
            raise RecordingRefused(NONE_CONFIGURED)

        async def read() -> Recording:
            return await self._read(thread_id, name, digest)

        text = await transcribe(transcriber, read, config.timeout_seconds, self._sleep)
        await asyncio.to_thread(self._keep, thread_id, name, TranscriptRecord(digest=digest, text=text))
        return text

    async def _read(self, thread_id: str, name: str, digest: str) -> Recording:
        content = await self._uploads.read(thread_id, name, limit=MAX_BYTES)
        if content is None:
            raise await self._explain_missing(thread_id, name)
        if await asyncio.to_thread(digest_of, content) != digest:
            raise RecordingRefused(REPLACED)
        container = find_container(content)
        if container is None:
            raise RecordingRefused(UNKNOWN_FORMAT)
        return Recording(content, container)

    async def _explain_missing(self, thread_id: str, name: str) -> RecordingRefused | FileMissing:
        if any(one.filename == name for one in await self._uploads.list_uploads(thread_id)):
            return RecordingRefused(f"it is larger than {MAX_BYTES // 1_000_000} MB")
        return FileMissing("Upload not found.")

    def _keep(self, thread_id: str, name: str, record: TranscriptRecord) -> None:
        """Store a transcript. A failure to store it must not discard it, because it cost money. Blocking."""
        try:
            self._records.write(thread_id, name, record)
        except OSError as error:
            log.warning("transcript_not_stored", thread=thread_id, error=type(error).__name__)

    async def _load(self, config: TranscriberConfig) -> Transcriber | None:
        """Return the transcriber for this configuration, creating it on first use."""
        if self._loaded is None or self._loaded[0] != config:
            self._loaded = config, await asyncio.to_thread(load_transcriber, config)
        return self._loaded[1]
