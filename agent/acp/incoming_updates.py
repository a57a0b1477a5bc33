"""What an agent says and does while it works on a task, read from the updates that it sends."""

from __future__ import annotations

from typing import Any

from agent.core.interfaces import StepListener, SubagentStep
from agent.subagents.runner import CUT, MAX_CHARS

MAX_LINE_CHARACTERS = 120
MAX_BUFFERED = 2 * MAX_CHARS


class TaskOutput:
    """Keeps its words; `told` hears of each tool that it begins to use."""

    def __init__(self, on_step: StepListener | None = None) -> None:
        self._on_step = on_step
        self._text = ""
        self._steps = 0
        self._needs_break = False

    @property
    def text(self) -> str:
        """Its words so far, without the middle where they are very many."""
        return cut_middle(self._text.strip(), MAX_CHARS)

    def add_update(self, update: Any) -> None:
        """Take the next update. Never waits, so that updates stay in their order."""
        kind = getattr(update, "session_update", "")
        if kind == "agent_message_chunk":
            self._append_text(_render_content(update.content))
        elif kind == "tool_call":
            self._needs_break = True
            self._steps += 1
            if self._on_step is not None:
                self._on_step(SubagentStep(self._steps, (to_one_line(update.title or "tool"),)))

    def _append_text(self, words: str) -> None:
        if self._needs_break and self._text and words.strip():
            self._text += "\n\n"
        self._needs_break = self._needs_break and not words.strip()
        self._text += words
        if len(self._text) > 2 * MAX_BUFFERED:
            self._text = cut_middle(self._text, MAX_BUFFERED)


def _render_content(content: Any) -> str:
    """What a piece of its answer says. Where a file of it lies is not for the model."""
    kind = getattr(content, "type", "")
    if kind == "text":
        return str(content.text)
    if kind == "resource_link":
        return f"\n[file: {content.name}]"
    return f"[{kind or 'something'} that can't be shown]"


def cut_middle(text: str, length: int) -> str:
    """The text without its middle, where it is longer."""
    half = (length - len(CUT)) // 2
    return text if len(text) <= length else f"{text[:half]}{CUT}{text[-half:]}"


def to_one_line(text: str) -> str:
    """The text in one line that is not long."""
    whole = " ".join(text.split())
    return whole if len(whole) <= MAX_LINE_CHARACTERS else f"{whole[: MAX_LINE_CHARACTERS - 1]}…"
