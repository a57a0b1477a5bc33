"""What a subagent has done so far, read from its states as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from agent.core.interfaces.subagents import SubagentResult, SubagentStatus, SubagentStep, Told
from agent.core.usage import Usage

LONGEST = 20_000
CUT = "\n[… the middle is left out …]\n"
ASKS = "It needed a person's answer or approval, which only you can ask for. So far: {text}"
SILENT = "It ended without a result."
NOTHING = "(nothing yet)"


class SubagentProgress:
    """The newest state; `told` hears of each answer of the model."""

    def __init__(self, told: Told | None) -> None:
        self._told = told
        self._values: Mapping[str, Any] = {}
        self._turns = 0

    def see(self, values: Mapping[str, Any]) -> None:
        """Take the next state."""
        self._values = values
        answers = self._answers()
        if len(answers) > self._turns:
            self._turns = len(answers)
            if self._told is not None:
                self._told(SubagentStep(self._turns, tuple(call["name"] for call in answers[-1].tool_calls)))

    def result(self) -> SubagentResult:
        """The end that its last state is."""
        if self._values.get("__interrupt__"):
            return self.ended(SubagentStatus.FAILED, ASKS.format(text=self.said))
        answers = self._answers()
        text = answers[-1].text.strip() if answers else ""
        if not text:
            return self.ended(SubagentStatus.FAILED, SILENT)
        return self.ended(SubagentStatus.COMPLETED, text)

    def ended(self, status: SubagentStatus, text: str) -> SubagentResult:
        """An end with what it has cost and made so far."""
        artifacts = tuple(self._values.get("artifacts") or ())
        return SubagentResult(status, shortened(text), self._usage, artifacts)

    @property
    def said(self) -> str:
        """Its last words so far."""
        words = [answer.text.strip() for answer in self._answers()]
        return next((text for text in reversed(words) if text), NOTHING)

    @property
    def _usage(self) -> Usage | None:
        found: Usage | None = self._values.get("usage")
        return found

    def _answers(self) -> list[AIMessage]:
        return [one for one in self._values.get("messages", ()) if isinstance(one, AIMessage)]


def shortened(text: str) -> str:
    """The text without its middle, where it is very long."""
    half = (LONGEST - len(CUT)) // 2
    return text if len(text) <= LONGEST else f"{text[:half]}{CUT}{text[-half:]}"
