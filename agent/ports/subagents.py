"""The port of agents that an agent hands work to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agent.context import RunContext


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
class SubagentResult:
    """The end of a task: `text` is its result, or what went wrong."""

    status: SubagentStatus
    text: str


class SubagentRunner(Protocol):
    """Runs tasks to their end."""

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        """The kinds that there are."""
        ...

    async def run(self, task: SubagentTask, context: RunContext) -> SubagentResult:
        """Run a task for a run of the lead agent. An unknown kind fails; nothing is raised."""
        ...
