"""Types of subagents: purpose, prompt, tools, skills, model and limits.

Types belong to the service, like models and tools. Tools are selected by name, since a type usually needs a
few of one MCP server; a misspelled one is no error at startup, when those are not yet known. A type whose
model can't be created is skipped, because a conversation should not fail for a subagent it may not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from langchain_core.tools import BaseTool

TASK = "task"
GENERAL_PURPOSE, COMMAND_LINE = "general-purpose", "bash"
TURNS, MAX_TURNS = 50, 200


class BudgetSpent(Exception):
    """The subagent has exhausted its turns or tokens; the message states which, such as `50 turns`."""


@dataclass(frozen=True, slots=True)
class SubagentType:
    """A type of subagent. None stands for all `tools` or `skills`, and for the run's model in `model_name`.

    `tools` are names, with * as a wildcard; no type gets `task`. `needs` names tools without which the type
    is not offered. `turns` limits its model calls unless a task asks for others, at most `turn_cap`. `tokens`
    and `seconds` limit a task; None means no limit of its own.
    """

    name: str
    description: str
    prompt: str
    turns: int = TURNS
    tools: tuple[str, ...] | None = None
    needs: frozenset[str] = frozenset()
    skills: tuple[str, ...] | None = None
    model_name: str | None = None
    turn_cap: int = MAX_TURNS
    tokens: int | None = None
    seconds: float | None = None

    def allows_tool(self, name: str) -> bool:
        wanted = self.tools
        return name != TASK and (wanted is None or any(fnmatchcase(name, pattern) for pattern in wanted))

    def select_tools(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        return [one for one in tools if self.allows_tool(one.name)]

    def limit_turns(self, requested: int | None) -> int:
        """Return the number of model calls for a task that requests `requested` ones."""
        return min(max(requested or self.turns, 1), self.turn_cap)


SUBAGENT_TYPES: Sequence[SubagentType] = (
    SubagentType(
        GENERAL_PURPOSE,
        "Any work that takes several steps: looking things up, reading, writing, solving problems.",
        "You are a subagent that completes tasks on its own.",
    ),
    SubagentType(
        COMMAND_LINE,
        "A series of commands: building, testing, converting, searching through files.",
        "You are a subagent for work on the command line. Keep commands short, check the output of each one "
        "before the next, and never start one that waits for input.",
        turns=30,
        tools=("bash", "ls", "read_file", "write_file", "str_replace", "view_image"),
        needs=frozenset({"bash"}),
    ),
)
