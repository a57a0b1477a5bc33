"""Tests for every subagent runner."""

from __future__ import annotations

import asyncio

import pytest

from agent.core.interfaces import SubagentRunner, SubagentStatus, SubagentStep, SubagentTask
from agent.core.run_context import RunContext


@pytest.mark.asyncio
class SubagentSuite:
    """Conformance of a subagent runner. Subclasses provide a fixture `runner`, whose subagents repeat their
    prompt.
    """

    @pytest.fixture
    def runner(self) -> SubagentRunner:
        """The runner to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named runner")

    async def test_the_two_kinds_are_there(self, runner: SubagentRunner) -> None:
        """With a line for the model."""
        kinds = {kind.name: kind.description for kind in runner.kinds}
        assert {"general-purpose", "bash"} <= set(kinds)
        assert all(kinds.values())

    async def test_a_task_is_done(self, runner: SubagentRunner) -> None:
        """The task's result is returned."""
        result = await runner.run(SubagentTask("call-1", "Say it", "the word"), RunContext(thread_id="t-1"))
        assert result.status is SubagentStatus.COMPLETED
        assert "the word" in result.text

    async def test_each_step_is_told_and_the_end_is_not_one(self, runner: SubagentRunner) -> None:
        """Turns are counted from 1; the beginning may be reported as turn 0."""
        steps: list[SubagentStep] = []
        task = SubagentTask("call-1", "Say it", "the word", kind="bash")
        result = await runner.run(task, RunContext(thread_id="t-1"), steps.append)
        assert result.status is SubagentStatus.COMPLETED
        turns = [step.turn for step in steps]
        assert turns == list(range(turns[0], turns[0] + len(turns)))
        assert turns[0] in {0, 1}
        assert turns[-1] >= 1

    async def test_several_at_once_keep_apart(self, runner: SubagentRunner) -> None:
        """Each task finishes independently, even if there are more than may run simultaneously."""
        context = RunContext(thread_id="t-1")
        asked = [SubagentTask(f"call-{n}", "Say it", f"word {n}") for n in range(7)]
        results = await asyncio.gather(*(runner.run(task, context) for task in asked))
        for task, result in zip(asked, results, strict=True):
            assert task.prompt in result.text

    async def test_an_unknown_kind_fails(self, runner: SubagentRunner) -> None:
        """Naming it, without an exception."""
        task = SubagentTask("call-1", "Say it", "the word", kind="poet")
        result = await runner.run(task, RunContext(thread_id="t-1"))
        assert result.status is SubagentStatus.FAILED
        assert "poet" in result.text
