"""The port of agents that an agent hands work to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agent.core.run_context import RunContext
from agent.core.usage import TokenUsage


@dataclass(frozen=True, slots=True)
class SubagentKind:
    """A kind of subagent, and when to use it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A piece of work: `description` for people, `prompt` for the subagent; `id` is the tool call's."""

    id: str
    description: str
    prompt: str
    kind: str = "general-purpose"
    max_turns: int | None = None


class SubagentStatus(StrEnum):
    """How it ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class SubagentStep:
    """A subagent has answered its model's turn number `turn` (from 1), and now calls these tools."""

    turn: int
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """The end of a task: `text` is its result, or what went wrong.

    `usage` is what its models cost, None where none said; `artifacts` are files that it presents.
    """

    status: SubagentStatus
    text: str
    usage: TokenUsage | None = None
    artifacts: tuple[str, ...] = ()


StepListener = Callable[[SubagentStep], None]
"""Hears of each step as it is taken."""


class SubagentRunner(Protocol):
    """Runs tasks to their end."""

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        """The kinds that there are."""
        ...

    async def run(
        self, task: SubagentTask, context: RunContext, on_step: StepListener | None = None
    ) -> SubagentResult:
        """Run a task for a run of the lead agent. An unknown kind fails; nothing is raised.

        To cancel it ends the subagent.
        """
        ...
