"""What is asked of a guardrail, and what it may answer."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.core.run_context import RunContext


class SettingsError(ValueError):
    """For a provider's constructor: settings that don't fit. People read the text, so it holds no value.

    `at` is the path of the wrong one, such as `("policy", "limits")`: its line is told.
    """

    def __init__(self, text: str, *, at: tuple[str | int, ...] = ()) -> None:
        self.at = at
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that is about to be made, and whose run it is (`context.user_id`, `context.roles`)."""

    tool: str
    args: Mapping[str, Any]
    call_id: str
    context: RunContext = field(default_factory=RunContext)


@dataclass(frozen=True, slots=True)
class Allow:
    """Make the call."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Don't. `reason` goes to the model; `code` is for the log and for programs."""

    reason: str
    code: str = "denied"


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides; `question` is what they read. `remember` says that their yes may be taken for later
    calls of the same tool, whatever its arguments.
    """

    question: str
    remember: bool = False


Decision = Allow | Deny | Ask


class GuardrailProvider(Protocol):
    """Decides. An exception, a time-out and anything that is no decision count as a denial."""

    def evaluate(self, request: ToolRequest, /) -> Decision | Awaitable[Decision]:
        """The decision. A plain function runs in a thread of its own, so it may block."""
        ...
