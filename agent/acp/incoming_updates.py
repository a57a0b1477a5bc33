"""Collection of an external agent's answer and tool calls from its session updates."""

from __future__ import annotations

from typing import Any

from agent.core.interfaces import StepListener, SubagentStep
from agent.shared.text import cut_middle, shorten, to_one_line

MAX_CHARS = 20_000
CUT = "\n[… the middle is omitted …]\n"
MAX_LINE_CHARACTERS = 120
MAX_BUFFERED = 2 * MAX_CHARS


class TaskOutput:
    """An external agent's text. `on_step` is called at the start of each of its tool calls."""

    def __init__(self, on_step: StepListener | None = None) -> None:
        self._on_step = on_step
        self._text = ""
        self._steps = 0
        self._needs_break = False

    @property
    def text(self) -> str:
        """Return the text received so far, with the middle omitted if it is very long."""
        return cut_middle(self._text.strip(), MAX_CHARS, CUT)

    def add_update(self, update: Any) -> None:
        """Add the next update, without waiting, to preserve the order."""
        kind = getattr(update, "session_update", "")
        if kind == "agent_message_chunk":
            self._append_text(_render_content(update.content))
        elif kind == "tool_call":
            self._needs_break = True
            self._steps += 1
            if self._on_step is not None:
                self._on_step(SubagentStep(self._steps, (to_short_line(update.title or "tool"),)))

    def _append_text(self, words: str) -> None:
        if self._needs_break and self._text and words.strip():
            self._text += "\n\n"
        self._needs_break = self._needs_break and not words.strip()
        self._text += words
        if len(self._text) > 2 * MAX_BUFFERED:
            self._text = cut_middle(self._text, MAX_BUFFERED, CUT)


def _render_content(content: Any) -> str:
    """Render a content block as text. File locations are omitted, since our model can't open them."""
    kind = getattr(content, "type", "")
    if kind == "text":
        return str(content.text)
    if kind == "resource_link":
        return f"\n[file: {content.name}]"
    return f"[{kind or 'something'} that can't be shown]"


def to_short_line(text: str) -> str:
    """Return the text as one line of at most `MAX_LINE_CHARACTERS` characters."""
    return shorten(to_one_line(text), MAX_LINE_CHARACTERS)
