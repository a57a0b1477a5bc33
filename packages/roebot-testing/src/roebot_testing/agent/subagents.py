"""Scripted subagents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.core.interfaces import (
    StepListener,
    SubagentKind,
    SubagentResult,
    SubagentStatus,
    SubagentStep,
    SubagentTask,
    SubagentWaiting,
)
from agent.core.run_context import RunContext

KINDS = (
    SubagentKind("general-purpose", "Any work that takes several steps."),
    SubagentKind("bash", "Running commands."),
)


class ScriptedSubagents:
    """Answers tasks from `results` by prompt, or repeats the prompt."""

    def __init__(self, results: Mapping[str, SubagentResult] | None = None) -> None:
        self._results = results or {}
        self.tasks: list[SubagentTask] = []

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        return KINDS

    async def run(
        self,
        task: SubagentTask,
        context: RunContext,
        on_step: StepListener | None = None,
        waiting: SubagentWaiting | None = None,
    ) -> SubagentResult:
        self.tasks.append(task)
        if on_step is not None:
            on_step(SubagentStep(1))
        if task.kind not in {kind.name for kind in KINDS}:
            return SubagentResult(SubagentStatus.FAILED, f"There is no subagent {task.kind}.")
        return self._results.get(task.prompt) or SubagentResult(SubagentStatus.COMPLETED, task.prompt)
