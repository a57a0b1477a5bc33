"""After a stop, the model knows which calls ended, which one was interrupted, and which never began."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent.core import telemetry
from agent.core.interfaces import SubagentResult, SubagentStatus
from agent.core.state import merge_usage
from agent.core.tool_order import Order
from agent.guardrails import AllowlistProvider
from agent.middleware.call_results import UNANSWERED
from agent.middleware.clarification import ClarificationMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.stopped_calls import NOT_RUN, UNANSWERED_QUESTION
from agent.middleware.todo import write_todos
from agent.middleware.tool_order import BegunCalls, ToolOrderMiddleware
from agent.subagents.tool import make_task_tool
from roebot_testing.agent import Script, ToolUse
from roebot_testing.agent.subagents import ScriptedSubagents
from tests.component.agent.test_tool_order import Workshop
from tests.harness.agents import THREAD, chain, say, says, scripted


@pytest.fixture(autouse=True, params=["no spans", "spans"])
def spans(request: pytest.FixtureRequest, spans_on_demand: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call hooks in spans, which start in threads, and without. Without, a step begins before its checkpoint
    is stored.
    """
    monkeypatch.setattr(telemetry, "tracing_is_enabled", lambda: request.param == "spans")


QUESTIONS = ClarificationMiddleware()
GO = {"messages": [HumanMessage("go")]}
USED = merge_usage(None, {"input_tokens": 70, "output_tokens": 7})
FOUND = SubagentResult(
    SubagentStatus.COMPLETED, "found it", usage=USED, artifacts=("/mnt/user-data/outputs/x",)
)


class Stopped:
    """An agent that makes these calls at once; `b` of the tool `work` never ends."""

    def __init__(self, *uses: ToolUse, middleware: tuple[Any, ...] = (), **dangling: Any) -> None:
        self.workshop = Workshop(held=["b"])
        tools = [
            self.workshop.tool("work"),
            self.workshop.tool("look", Order.FREE),
            self.workshop.tool("help", Order.BESIDE),
            self.workshop.tool("show", Order.LAST),
            write_todos,
            make_task_tool(ScriptedSubagents({"look": FOUND})),
        ]
        self._tools, self._saver = tools, InMemorySaver()
        model = scripted(Script(tools=uses), says("done"), says("done"))
        first = (ToolOrderMiddleware(), CallRepairMiddleware(**dangling), *middleware)
        self.graph = chain(model, *first, tools=tools, checkpointer=self._saver)

    def restart(self) -> None:
        """Go on in another process."""
        self.workshop.begun.clear()
        begun = BegunCalls()
        first = ToolOrderMiddleware(begun=begun), CallRepairMiddleware(begun=begun)
        self.graph = chain(scripted(says("done")), *first, tools=self._tools, checkpointer=self._saver)

    async def stop(self, begun: str = "b", given: Any = GO, unlogged: int = 0) -> None:
        """Cancel the run once this call has begun and the results of those that ended are stored, also of
        this many `unlogged` ones.
        """
        run = asyncio.create_task(self.graph.ainvoke(given, THREAD))
        await self.workshop.event(begun).wait()
        ended = unlogged + sum(line.endswith("ends") for line in self.workshop.log)
        while len([task for task in (await self.graph.aget_state(THREAD)).tasks if task.result]) < ended:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    async def results(self, **message: Any) -> dict[str, str]:
        """What the next turn knows of each call."""
        values = await self.graph.ainvoke({"messages": [HumanMessage("and now?", **message)]}, THREAD)
        return {one.tool_call_id: one.text for one in values["messages"] if isinstance(one, ToolMessage)}


def use(word: str, tool: str = "work") -> ToolUse:
    return ToolUse(tool, {"word": word}, word)


async def test_each_call_is_told_by_what_became_of_it() -> None:
    at = Stopped(use("a"), use("b"), use("c"), use("d", "show"))
    await at.stop()
    assert await at.results() == {"a": "a done", "b": UNANSWERED, "c": NOT_RUN, "d": NOT_RUN}
    assert at.workshop.log == ["a begins", "a ends", "b begins"]
    assert (await at.results())["c"] == NOT_RUN, "it is stored"


async def test_calls_that_wait_for_none_may_have_begun() -> None:
    at = Stopped(use("b", "help"), use("b2", "look"), use("c"), use("d", "show"))
    at.workshop.go |= {name: asyncio.Event() for name in ("b2", "c")}
    await at.stop(begun="c")
    assert await at.results() == {"b": UNANSWERED, "b2": UNANSWERED, "c": UNANSWERED, "d": NOT_RUN}


async def test_a_turn_that_was_stopped_again_at_once_changes_nothing() -> None:
    at = Stopped(use("a"), use("b"), use("c"))
    await at.stop()
    await at.graph.aupdate_state(THREAD, {"messages": [HumanMessage("wait")]}, as_node="__start__")
    assert await at.results() == {"a": "a done", "b": UNANSWERED, "c": NOT_RUN}


async def test_a_call_that_waited_for_approval_did_not_run() -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["show"]))
    at = Stopped(use("a"), use("d", "show"), use("c"), middleware=(guard,))
    values = await say(at.graph, "go")
    assert values["__interrupt__"]
    assert await at.results() == {"a": "a done", "d": NOT_RUN, "c": NOT_RUN}
    assert "d begins" not in at.workshop.log


async def test_an_approval_runs_it_as_before() -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["show"]))
    at = Stopped(use("a"), use("d", "show"), middleware=(guard,))
    await say(at.graph, "go")
    await at.graph.ainvoke(Command(resume="approve"), THREAD)
    assert await at.results() == {"a": "a done", "d": "d done"}


async def test_an_approved_call_that_was_stopped_may_have_had_an_effect() -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["show"]))
    at = Stopped(use("a"), use("b", "show"), use("c"), middleware=(guard,))
    await say(at.graph, "go")
    await at.stop(given=Command(resume="approve"))
    assert await at.results() == {"a": "a done", "b": UNANSWERED, "c": NOT_RUN}


async def test_a_process_that_did_not_run_the_step_claims_nothing() -> None:
    at = Stopped(use("a"), use("b"), use("c"), begun=BegunCalls())
    await at.stop()
    assert await at.results() == {"a": "a done", "b": UNANSWERED, "c": UNANSWERED}


async def test_a_result_does_not_tell_of_a_change_that_is_lost() -> None:
    plan = ToolUse("write_todos", {"todos": [{"content": "Look", "status": "in_progress"}]}, "plan")
    at = Stopped(plan, use("a"), use("b"))
    await at.stop(unlogged=1)
    assert await at.results() == {"plan": UNANSWERED, "a": "a done", "b": UNANSWERED}
    assert not (await at.graph.aget_state(THREAD)).values.get("todos")


async def test_a_report_of_a_subagent_is_kept() -> None:
    task = ToolUse("task", {"description": "look", "prompt": "look"}, "task")
    at = Stopped(task, use("a"), use("b"))
    await at.stop(unlogged=1)
    assert (await at.graph.aget_state(THREAD)).values["usage"] == USED, "the stopped run reports it"
    assert await at.results() == {"task": "found it", "a": "a done", "b": UNANSWERED}
    assert not (await at.graph.aget_state(THREAD)).values["usage"], "the next run does not report it again"


async def test_a_process_that_resumed_the_step_does_not_know_what_began_before() -> None:
    at = Stopped(use("a"), use("b"), use("c"))
    await at.stop()
    at.restart()
    await at.stop(given=None)
    assert await at.results() == {"a": "a done", "b": UNANSWERED, "c": UNANSWERED}


async def test_an_open_question_was_not_answered() -> None:
    at = Stopped(ToolUse("ask_clarification", {"question": "Which one?"}, "q"), middleware=(QUESTIONS,))
    values = await say(at.graph, "go")
    assert values["__interrupt__"]
    assert await at.results() == {"q": UNANSWERED_QUESTION}
