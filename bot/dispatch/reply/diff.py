"""Difference between a reply's intended and displayed content.

A reply is an ordered list of parts. What should be seen (`want`) and what is known to be seen (`parts`,
`shown`) are compared; the first difference is the next action. Streaming, the final answer and recovery after
a crash all use this comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import Part, PartKind, PartState

REPEATED_MARK = "(possible duplicate)"
# Placeholder in a message whose text was retracted, until new text replaces it.
RETRACTED_TEXT = "…"
SEEN = frozenset({PartState.POSTED, PartState.FINAL})


@dataclass(frozen=True, slots=True)
class PostPart:
    """Post a new message; `unknown`: it may have been sent already."""

    part: Part
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class EditPart:
    """Replace the text of a posted message."""

    part: Part


@dataclass(frozen=True, slots=True)
class RemovePart:
    """Delete a message that is not part of the final answer."""

    part: Part


Action = PostPart | EditPart | RemovePart


class Reply:
    """The parts of a turn's reply with their last known displayed state.

    `parts` comes from the store; after a crash, the outcome of an `intended` part is unknown.
    """

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self._parts: list[Part] = list(parts)
        self._shown: dict[int, str] = {}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The known parts, in order."""
        return tuple(self._parts)

    @property
    def visible(self) -> bool:
        """Return whether a part of this reply is visible, or may be."""
        return any(part.state is not PartState.PLANNED for part in self._parts)

    def next_frame(self, want: Sequence[str]) -> Action | None:
        """Return the next streaming action towards these texts. Earlier parts come first; no part is removed.

        If text moves from one part to the next, the earlier part keeps it until the next one is posted.
        """
        for index, text in enumerate(want):
            action = self._next_action(Part(index, PartKind.TEXT, text), final=False)
            if isinstance(action, EditPart) and self._shrinks(index, text) and index + 1 < len(want):
                later = self._next_action(Part(index + 1, PartKind.TEXT, want[index + 1]), final=False)
                if isinstance(later, PostPart) and not later.unknown:
                    return later
            if action is not None:
                return action
        return None

    def _shrinks(self, index: int, text: str) -> bool:
        return self._shown.get(index, "").startswith(text)

    def next_final(self, want: Sequence[Part]) -> Action | None:
        """Return the next action towards the final parts, or None when all are displayed or abandoned."""
        for part in want:
            action = self._next_action(part, final=True)
            if action is not None:
                return action
        wanted = {part.index for part in want}
        for part in self._parts:
            if part.index not in wanted and part.state in SEEN:
                return RemovePart(part)
        return None

    def _next_action(self, want: Part, *, final: bool) -> Action | None:
        have = self._parts[want.index] if want.index < len(self._parts) else None
        if have is None:
            return PostPart(want)
        if have.state is PartState.PLANNED:
            # A part that may have been posted before stays marked, even if the platform rejected the repeat.
            return PostPart(replace(want, repeated=have.repeated))
        if have.state is PartState.INTENDED:
            return PostPart(want, unknown=True)
        if have.state is PartState.UNDELIVERED or have.state is PartState.FINAL:
            return None
        if self._shown.get(want.index) == want.content and not final:
            return None
        return EditPart(replace(want, platform_id=have.platform_id, repeated=have.repeated))

    def shows_as_much(self, index: int, text: str) -> bool:
        """Return whether a part is known to display at least as many characters as this text."""
        return len(self._shown.get(index, "")) >= len(text)

    def shows(self, part: Part) -> bool:
        """Return whether exactly this text is known to be displayed."""
        return self._shown.get(part.index) == part.content

    def update_part(self, part: Part, *, shown: str | None = None) -> Part:
        """Record a part's new state; `shown` is its displayed text."""
        while len(self._parts) <= part.index:
            self._parts.append(Part(len(self._parts), PartKind.TEXT, ""))
        self._parts[part.index] = part
        if shown is not None:
            self._shown[part.index] = shown
        return part

    def cut(self, count: int) -> None:
        """Remove the parts from index `count` on."""
        del self._parts[count:]


def place_parts(want: Sequence[Part], known: Sequence[Part]) -> list[Part]:
    """Assign an index to each final part, so that a message with text never becomes a file."""
    found: list[Part] = []
    index = 0
    for part in want:
        while part.kind is not PartKind.TEXT and index < len(known) and _holds_text(known[index]):
            index += 1
        found.append(replace(part, index=index))
        index += 1
    return found


def _holds_text(part: Part) -> bool:
    return part.kind is PartKind.TEXT and part.state is not PartState.PLANNED


def mark_repeated(text: str) -> str:
    """Mark the text of a part that may be displayed twice."""
    return f"{REPEATED_MARK}\n\n{text}"
