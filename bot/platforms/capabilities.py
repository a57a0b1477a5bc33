"""The optional capabilities of an adapter, determined once.

`isinstance` against a protocol inspects the object again each time, which is too slow for every frame.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.platforms.base import (
    Adapter,
    AsksChoice,
    ChoosesFrames,
    DeletesMessages,
    DescribesChats,
    EditsMessages,
    EndsTyping,
    FetchesFiles,
    MentionsByName,
    Reacts,
    ReadsThreads,
    RepeatsSafely,
    SendsFiles,
    ShowsAlone,
    ShowsProgress,
    ShowsTyping,
    StreamsDrafts,
    StreamsNatively,
)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """An adapter as each protocol that it implements; None for the others."""

    asks_choice: AsksChoice | None
    chooses_frames: ChoosesFrames | None
    deletes: DeletesMessages | None
    describes_chats: DescribesChats | None
    edits: EditsMessages | None
    ends_typing: EndsTyping | None
    fetches_files: FetchesFiles | None
    mentions: MentionsByName | None
    reacts: Reacts | None
    reads_threads: ReadsThreads | None
    repeats: RepeatsSafely | None
    sends_files: SendsFiles | None
    shows_alone: ShowsAlone | None
    shows_progress: ShowsProgress | None
    shows_typing: ShowsTyping | None
    streams_drafts: StreamsDrafts | None
    streams_natively: StreamsNatively | None


def find_capabilities(adapter: Adapter) -> Capabilities:
    """Return the capabilities of an adapter."""
    return Capabilities(
        asks_choice=adapter if isinstance(adapter, AsksChoice) else None,
        chooses_frames=adapter if isinstance(adapter, ChoosesFrames) else None,
        deletes=adapter if isinstance(adapter, DeletesMessages) else None,
        describes_chats=adapter if isinstance(adapter, DescribesChats) else None,
        edits=adapter if isinstance(adapter, EditsMessages) else None,
        ends_typing=adapter if isinstance(adapter, EndsTyping) else None,
        fetches_files=adapter if isinstance(adapter, FetchesFiles) else None,
        mentions=adapter if isinstance(adapter, MentionsByName) else None,
        reacts=adapter if isinstance(adapter, Reacts) else None,
        reads_threads=adapter if isinstance(adapter, ReadsThreads) else None,
        repeats=adapter if isinstance(adapter, RepeatsSafely) else None,
        sends_files=adapter if isinstance(adapter, SendsFiles) else None,
        shows_alone=adapter if isinstance(adapter, ShowsAlone) else None,
        shows_progress=adapter if isinstance(adapter, ShowsProgress) else None,
        shows_typing=adapter if isinstance(adapter, ShowsTyping) else None,
        streams_drafts=adapter if isinstance(adapter, StreamsDrafts) else None,
        streams_natively=adapter if isinstance(adapter, StreamsNatively) else None,
    )
