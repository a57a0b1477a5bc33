"""What happened in the chats of an emulator, without times and ids: two runs can be compared by it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from roebot_testing.emulators.transcript import FrameKind
from tests.harness.wires import Wire

TOLD = frozenset({FrameKind.PERSON, FrameKind.POST, FrameKind.DELETE})
"""How often an answer that grows is edited, and how often typing shows, follows from the time alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """One chat: who did what in which order, and what stands at the end."""

    acts: tuple[tuple[str, str, int], ...]
    standing: tuple[tuple[str, bool], ...]


def story(wire: Wire) -> dict[str, Place]:
    """Every chat of an account."""
    acts: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for frame in wire.emulator.transcript.of():
        if frame.kind in TOLD and frame.chat:
            said = frame.text if frame.kind is FrameKind.PERSON else ""
            acts[frame.chat].append((frame.kind.value, said, frame.status))
    return {
        chat: Place(tuple(told), tuple((seen.text, seen.open) for seen in wire.standing(chat)))
        for chat, told in acts.items()
    }
