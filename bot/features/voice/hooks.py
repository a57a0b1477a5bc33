"""Transcription of recordings in a turn's messages, each once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson
import structlog

from agent.shared.aio import within_time
from agent.shared.envelope import escape_text
from agent.shared.schemas import RecordingTranscript
from bot.content import transcript_line
from bot.dispatch.pacing import Backoff
from bot.dispatch.run.hooks import MessageDraft, RunHooks, RunScope
from bot.domain import CONTEXT_KINDS, Attachment, AttachmentKind, Quotation, QuotationKind
from bot.errors import RuntimeProblem, RuntimeTimedOut, RuntimeUnreachable
from bot.faults import Step, reach
from bot.features.voice.store import SpokenFile, add_transcripts, store_transcripts
from bot.runtime.interface import StoredUpload
from bot.turn import TurnMessage

log = structlog.get_logger(__name__)
PATIENCE = 20.0
"""Seconds for which a transcript waits for an unreachable runtime; the answer goes on without it."""
TURN_SECONDS = 330.0
"""Seconds for which a turn waits for all its transcripts: the longest time for one, and half a minute."""
_OWN_FORM = frozenset({QuotationKind.TRANSCRIPT, QuotationKind.CARD})


class VoiceTranscripts(RunHooks):
    """Requests a turn's transcripts from the agent and stores them."""

    def __init__(self, scope: RunScope) -> None:
        super().__init__(scope)
        self._seconds_left = TURN_SECONDS

    async def complete_message(
        self, draft: MessageDraft, stored: TurnMessage, uploads: Mapping[int, StoredUpload]
    ) -> MessageDraft:
        """Return a message with transcripts that the platform did not provide, and a note for each recording
        without one.
        """
        message, spoken, notes = draft.message, list[SpokenFile](), [*draft.notes]
        places = [(at, quotation) for at, quotation in _list_untranscribed(message) if at in uploads]
        results = await self._ask_all([uploads[at].filename for at, _ in places])
        for (at, quotation), found in zip(places, results, strict=True):
            file = message.attachments[at].filename
            if found.text:
                spoken.append(SpokenFile(file, found.text, quotation))
            else:
                notes.append(self._note(file, found.note or ""))
        if not spoken:
            return replace(draft, notes=tuple(notes))
        reach(Step.TRANSCRIBED)
        core = self.scope.core
        await core.db.transact(store_transcripts, core.record, self.scope.turn, stored, spoken)
        message = replace(message, quotations=add_transcripts(message.quotations, spoken))
        return replace(draft, message=message, notes=tuple(notes))

    async def _ask_all(self, names: Sequence[str]) -> Sequence[RecordingTranscript]:
        """Return the transcripts of these uploads. The agent limits the number of simultaneous
        transcriptions.
        """
        clock = self.scope.core.clock
        began = clock.now()
        found = await asyncio.gather(*(self._ask_in_time(name) for name in names))
        self._seconds_left -= clock.now() - began
        return found

    async def _ask_in_time(self, name: str) -> RecordingTranscript:
        found = None
        if self._seconds_left > 0:
            found = await within_time(self._ask(name), self.scope.core.clock.sleep, self._seconds_left)
        return found or RecordingTranscript(text=None, note=self.scope.texts("transcript_late"))

    async def _ask(self, name: str) -> RecordingTranscript:
        """Return an upload's transcript. The turn can be answered without it, so every failure becomes a
        note.
        """
        turn, core = self.scope.turn, self.scope.core
        tries = Backoff(core.clock, PATIENCE)
        while True:
            try:
                return await core.runtime.management.transcribe_upload(turn.thread_id, name)
            except RuntimeTimedOut:
                return RecordingTranscript(text=None, note="the agent did not answer in time")
            except RuntimeUnreachable as problem:
                try:
                    await tries.pause(problem)
                except RuntimeUnreachable:
                    return RecordingTranscript(text=None, note=str(problem))
            except RuntimeProblem as problem:
                log.warning("transcript_refused", turn=turn.id, problem=str(problem))
                return RecordingTranscript(text=None, note=self.scope.texts("transcript_unavailable"))

    def _note(self, file: str, reason: str) -> str:
        name = orjson.dumps(file).decode()
        return escape_text(self.scope.texts("transcript_missing", name=name, reason=reason))


def _list_untranscribed(message: TurnMessage) -> list[tuple[int, int]]:
    """Return the positions of voice messages without a transcript, each with its quotation's position (-1: it
    is the author's own).
    """
    known = Counter(
        name for one in message.quotations if one.kind is QuotationKind.TRANSCRIPT for name in one.files
    )
    found: list[tuple[int, int]] = []
    for at, attachment in enumerate(message.attachments):
        if attachment.kind is not AttachmentKind.VOICE:
            continue
        holder = _find_holder(message, at)
        if holder >= 0:
            if not _has_line(message.quotations[holder], attachment):
                found.append((at, holder))
        elif known[attachment.filename]:
            known[attachment.filename] -= 1
        else:
            found.append((at, -1))
    return found


def _find_holder(message: TurnMessage, at: int) -> int:
    """Return the position of the quotation that an attachment belongs to, or -1 if it is the author's own.
    The author's own attachments come first, possibly with the same names.
    """
    holders = [
        (name, position)
        for position, one in enumerate(message.quotations)
        if one.kind not in CONTEXT_KINDS and one.kind not in _OWN_FORM
        for name in one.files
    ]
    name = message.attachments[at].filename
    mine = [position for file, position in holders if file == name]
    same = [index for index, one in enumerate(message.attachments) if one.filename == name]
    back = len(same) - same.index(at)
    return mine[-back] if back <= len(mine) else -1


def _has_line(quotation: Quotation, attachment: Attachment) -> bool:
    start = transcript_line("", attachment.filename)
    return any(line.startswith(start) for line in quotation.text.splitlines())
