"""Event counters of an account."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FeishuCounts:
    """Numbers of received events, for tests and diagnosis."""

    events: int = 0
    messages: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0
    refused: int = 0
    postponed: int = 0
    connections: int = 0
