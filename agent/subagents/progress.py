"""Progress of a subagent, read from its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from agent.core.interfaces.subagents import StepListener, SubagentResult, SubagentStatus, SubagentStep
from agent.core.usage import TokenUsage

MAX_CHARS = 20_000
CUT = "\n[… the middle is left out …]\n"
ASKS = "It needed a person's answer or approval, which only you can ask for. So far: {text}"
SILENT = "It ended without a result."
NOTHING = "(nothing yet)"


class SubagentProgress:
    """Holds the newest state and reports each model answer to `on_step`."""

    def __init__(self, on_step: StepListener | None) -> None:
        self._on_step = on_step
        self._values: Mapping[str, Any] = {}
        self._turns = 0

    def update(self, values: Mapping[str, Any]) -> None:
        """Take the next state."""
        self._values = values
        answers = self._find_answers()
        if len(answers) > self._turns:
            self._turns = len(answers)
            if self._on_step is not None:
                self._on_step(
                    SubagentStep(self._turns, tuple(call["name"] for call in answers[-1].tool_calls))
                )

    def to_result(self) -> SubagentResult:
        """Return the result of the last state."""
        if self._values.get("__interrupt__"):
            return self.finish(SubagentStatus.FAILED, ASKS.format(text=self.last_text))
        answers = self._find_answers()
        text = answers[-1].text.strip() if answers else ""
        if not text:
            return self.finish(SubagentStatus.FAILED, SILENT)
        return self.finish(SubagentStatus.COMPLETED, text)

    def finish(self, status: SubagentStatus, text: str) -> SubagentResult:
        """Return a result with the usage and artifacts so far."""
        artifacts = tuple(self._values.get("artifacts") or ())
        return SubagentResult(status, shorten_text(text), self._total_usage, artifacts)

    @property
    def last_text(self) -> str:
        """The last text of its model."""
        words = [answer.text.strip() for answer in self._find_answers()]
        return next((text for text in reversed(words) if text), NOTHING)

    @property
    def _total_usage(self) -> TokenUsage | None:
        found: TokenUsage | None = self._values.get("usage")
        return found

    def _find_answers(self) -> list[AIMessage]:
        return [one for one in self._values.get("messages", ()) if isinstance(one, AIMessage)]


def shorten_text(text: str) -> str:
    """Omit the middle of a very long text."""
    half = (MAX_CHARS - len(CUT)) // 2
    return text if len(text) <= MAX_CHARS else f"{text[:half]}{CUT}{text[-half:]}"
