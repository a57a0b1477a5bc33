"""Interface of subagents, to which an agent delegates work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agent.core.run_context import RunContext
from agent.core.usage import TokenUsage


@dataclass(frozen=True, slots=True)
class SubagentKind:
    """A kind of subagent; `description` says when to use it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A delegated task: `description` for people, `prompt` for the subagent; `id` is the tool call's."""

    id: str
    description: str
    prompt: str
    kind: str = "general-purpose"
    max_turns: int | None = None


class SubagentStatus(StrEnum):
    """Final status of a task."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class SubagentStep:
    """The subagent's model answered for the `turn`-th time (from 1) and calls these tools."""

    turn: int
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """The end of a task: `text` is its result or the error.

    `usage` is the total of its models, None if none reported any; `artifacts` are the files it presents.
    """

    status: SubagentStatus
    text: str
    usage: TokenUsage | None = None
    artifacts: tuple[str, ...] = ()


StepListener = Callable[[SubagentStep], None]
"""Hears of each step as it is taken."""


class SubagentRunner(Protocol):
    """Runs tasks to completion."""

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        """Available kinds."""
        ...

    async def run(
        self, task: SubagentTask, context: RunContext, on_step: StepListener | None = None
    ) -> SubagentResult:
        """Run a task for a run of the lead agent. An unknown kind fails; nothing is raised.

        Cancelling it stops the subagent.
        """
        ...
