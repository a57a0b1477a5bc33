"""What an agent says and does while it works on a task, read from the updates that it sends."""

from __future__ import annotations

from typing import Any

from agent.core.interfaces import StepListener, SubagentStep
from agent.subagents.runner import CUT, MAX_CHARS

LINE = 120
KEPT = 2 * MAX_CHARS


class Hearing:
    """Keeps its words; `told` hears of each tool that it begins to use."""

    def __init__(self, told: StepListener | None = None) -> None:
        self._told = told
        self._text = ""
        self._steps = 0
        self._apart = False

    @property
    def said(self) -> str:
        """Its words so far, without the middle where they are very many."""
        return shortened(self._text.strip(), MAX_CHARS)

    def see(self, update: Any) -> None:
        """Take the next update. Never waits, so that updates stay in their order."""
        kind = getattr(update, "session_update", "")
        if kind == "agent_message_chunk":
            self._add(_words(update.content))
        elif kind == "tool_call":
            self._apart = True
            self._steps += 1
            if self._told is not None:
                self._told(SubagentStep(self._steps, (line(update.title or "tool"),)))

    def _add(self, words: str) -> None:
        if self._apart and self._text and words.strip():
            self._text += "\n\n"
        self._apart = self._apart and not words.strip()
        self._text += words
        if len(self._text) > 2 * KEPT:
            self._text = shortened(self._text, KEPT)


def _words(content: Any) -> str:
    """What a piece of its answer says. Where a file of it lies is not for the model."""
    kind = getattr(content, "type", "")
    if kind == "text":
        return str(content.text)
    if kind == "resource_link":
        return f"\n[file: {content.name}]"
    return f"[{kind or 'something'} that can't be shown]"


def shortened(text: str, length: int) -> str:
    """The text without its middle, where it is longer."""
    half = (length - len(CUT)) // 2
    return text if len(text) <= length else f"{text[:half]}{CUT}{text[-half:]}"


def line(text: str) -> str:
    """The text in one line that is not long."""
    whole = " ".join(text.split())
    return whole if len(whole) <= LINE else f"{whole[: LINE - 1]}…"
