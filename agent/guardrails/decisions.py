"""Requests to a guardrail provider and its decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.core.run_context import RunContext


class SettingsError(ValueError):
    """Raised by a provider's constructor for invalid settings. People read the text: no values in it.

    `at` is the path of the invalid setting, such as `("policy", "limits")`, from which its line is found.
    """

    def __init__(self, text: str, *, at: tuple[str | int, ...] = ()) -> None:
        self.at = at
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call about to be made, with its run's context (`context.user_id`, `context.roles`)."""

    tool: str
    args: Mapping[str, Any]
    call_id: str
    context: RunContext = field(default_factory=RunContext)


@dataclass(frozen=True, slots=True)
class Allow:
    """Make the call."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the call. `reason` goes to the model; `code` is for logs and programs."""

    reason: str
    code: str = "denied"


@dataclass(frozen=True, slots=True)
class Ask:
    """Let a person decide; `question` is the text for them.

    With `remember` an approval may apply to later calls of the same tool, whatever the arguments.
    """

    question: str
    remember: bool = False


Decision = Allow | Deny | Ask


class GuardrailProvider(Protocol):
    """Decides about tool calls. Exceptions, time-outs and invalid decisions count as a denial."""

    def evaluate(self, request: ToolRequest, /) -> Decision | Awaitable[Decision]:
        """Return the decision. A plain function runs in a thread, so it may block."""
        ...
