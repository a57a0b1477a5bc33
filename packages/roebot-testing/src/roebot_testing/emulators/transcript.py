"""Transcript of an emulator: an append-only list of frames, read in pages."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class FrameKind(StrEnum):
    """Effect of a frame on the chat."""

    POST = "post"
    EDIT = "edit"
    DELETE = "delete"
    TYPING = "typing"
    DRAFT = "draft"
    REACTION = "reaction"
    OTHER = "other"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of the bot, or one action of a person (`kind` person, `status` 0).

    `at` is monotonic and `wall` epoch time in seconds, `status` the HTTP status of the answer (0 if the
    connection was closed instead); `committed` is set if the call took effect.
    """

    seq: int
    at: float
    wall: float
    kind: FrameKind
    method: str
    chat: str
    message_id: str
    text: str
    status: int
    committed: bool
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the frame as plain JSON values."""
        return asdict(self)


class Transcript:
    """All frames and call counters since the last reset."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._frames: list[Frame] = []
        self._first = 0
        self.calls: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()

    def add(
        self,
        kind: FrameKind,
        method: str,
        *,
        chat: str = "",
        message_id: str = "",
        text: str = "",
        status: int = 0,
        committed: bool = True,
        detail: str = "",
    ) -> Frame:
        """Append a frame, stamped now."""
        frame = Frame(
            self._first + len(self._frames),
            self._monotonic(),
            time.time(),
            kind,
            method,
            chat,
            message_id,
            text,
            status,
            committed,
            detail,
        )
        self._frames.append(frame)
        return frame

    def count(self, method: str, status: int) -> None:
        """Count a call, independently of its frame: polls have none."""
        self.calls[method] += 1
        self.statuses[status] += 1

    def since(self, seq: int = 0, limit: int = 1000) -> list[Frame]:
        """Return up to `limit` frames from number `seq` on."""
        start = max(0, seq - self._first)
        return self._frames[start : start + limit]

    def of(self, kind: FrameKind | None = None, chat: int | str | None = None) -> list[Frame]:
        """Return all frames of a kind and a chat; a scan, for assertions."""
        return [
            frame
            for frame in self._frames
            if (kind is None or frame.kind is kind) and (chat is None or frame.chat == str(chat))
        ]

    def reset(self) -> None:
        """Clear frames and counters; numbering continues, so that old positions stay valid."""
        self._first += len(self._frames)
        self._frames.clear()
        self.calls.clear()
        self.statuses.clear()
