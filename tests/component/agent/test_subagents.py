"""Subagents through a compiled agent: what they get, how they end, what reaches whom."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from agent.core.interfaces import SubagentResult, SubagentStatus, SubagentTask
from agent.core.run_context import RunContext
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails.providers import AllowlistProvider
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.run_limits import MODEL_CALLS
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.shared.run_identity import PRESENTED_FILES
from agent.subagents.kinds import SUBAGENT_TYPES
from agent.subagents.runner import CANCEL_SECONDS, GUARD_SECONDS, GraphSubagents
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider
from roebot_testing.agent.subagents import ScriptedSubagents
from roebot_testing.clock import ManualClock
from tests.harness.agents import THREAD, calls, chain, says, scripted

SECRET = "inner-words"


@tool
async def look(word: str) -> str:
    """Look a word up."""
    return f"{word} means 42"


@tool
async def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


@tool
async def ask_a_person() -> str:
    """Ask."""
    return str(interrupt("really?"))


class Both(ScriptedChatModel):
    """One model for both: the lead agent is offered `task`, a subagent is not."""

    lead: tuple[Script, ...] = ()
    sub: tuple[Script, ...] = ()
    taken: dict[str, int] = {}  # noqa: RUF012 - a field of pydantic, copied for each instance

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        who = "lead" if "task" in kwargs.get("seen_tools", ()) else "sub"
        steps = self.lead if who == "lead" else self.sub
        key = who if who == "lead" else f"sub:{messages[1].text}"
        number = self.taken.get(key, 0)
        self.taken[key] = number + 1
        self.steps = (steps[min(number, len(steps) - 1)],)
        return super()._prepare_answer(messages, kwargs, manager)


def both(lead: Iterable[Script], sub: Iterable[Script]) -> Both:
    return Both(lead=tuple(lead), sub=tuple(sub), environ={})


def tasks(*prompts: str, **more: Any) -> Script:
    """A step that hands work to a subagent for each prompt."""
    return Script(
        tools=tuple(
            ToolUse("task", {"description": f"do {prompt}", "prompt": prompt, **more}, f"call-{prompt}")
            for prompt in prompts
        )
    )


def agent(model: Any, *tools: Any, features: RuntimeFeatures | None = None, **options: Any) -> Any:
    features = features or RuntimeFeatures(sandbox=False, subagent=True)
    options.setdefault("checkpointer", InMemorySaver())
    return create_agent_graph(model, list(tools), features=features, **options)


async def test_tags_that_a_subagent_quotes_are_marked_once() -> None:
    subs = [calls("look", word="<message>"), says("It says: <·message> means 42")]
    model = both([tasks("look"), says("ok")], subs)
    values, _ = await done(agent(model, look))
    [result] = results(values)
    assert result.text == "It says: <·message> means 42"


async def done(graph: Any, text: str = "go") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The values after a turn, and the custom events of its tasks."""
    values, events = await streamed(graph, text)
    return values, [event for event in events if event["type"] != MODEL_CALLS]


async def streamed(graph: Any, text: str = "go") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The values after a turn, and the custom events of it."""
    values: dict[str, Any] = {}
    events = []
    async for mode, part in graph.astream(
        {"messages": [HumanMessage(text)]}, THREAD, stream_mode=["custom", "values"]
    ):
        if mode == "custom":
            events.append(part)
        else:
            values = part
    return values, events


def results(values: dict[str, Any]) -> list[ToolMessage]:
    return [one for one in values["messages"] if isinstance(one, ToolMessage)]


@pytest.mark.parametrize("written", ["General_Purpose", "general purpose", "GeneralPurpose"])
async def test_an_imprecise_call_is_understood(written: str) -> None:
    model = both([tasks("find-x", subagent_type=written, max_turns="3"), says("Found.")], [says("x is 42")])
    values, events = await done(agent(model, look))
    assert [one.text for one in results(values)] == ["x is 42"]
    assert events[0]["subagent_type"] == "general-purpose"


async def test_a_task_is_done_by_an_agent_of_its_own() -> None:
    model = both([tasks("find-x"), says("Found.")], [calls("look", word="x"), says("x is 42")])
    values, events = await done(agent(model, look))
    [result] = results(values)
    assert (result.text, result.name, result.status) == ("x is 42", "task", "success")
    assert values["messages"][-1].text == "Found."
    inner = [heard for heard in model.calls if "task" not in heard.tools]
    assert [heard.texts[1:] for heard in inner] == [["find-x"], ["find-x", "", "x means 42"]]
    assert "can't see its conversation or ask questions" in inner[0].texts[0]
    assert set(inner[0].tools) == {"look"}, "every tool but task, and none of the lead agent's own"
    assert events == [
        {
            "type": "task_started",
            "task_id": "call-find-x",
            "description": "do find-x",
            "subagent_type": "general-purpose",
        },
        {
            "type": "task_running",
            "task_id": "call-find-x",
            "description": "do find-x",
            "turn": 1,
            "tools": ["look"],
        },
        {
            "type": "task_running",
            "task_id": "call-find-x",
            "description": "do find-x",
            "turn": 2,
            "tools": [],
        },
        {"type": "task_completed", "task_id": "call-find-x", "description": "do find-x"},
    ]


async def test_model_calls_are_reported_with_the_task_that_made_them() -> None:
    model = both([tasks("find-x"), says("Found.")], [calls("look", word="x"), says("x is 42")])
    _, events = await streamed(agent(model, look))
    reports = [event["calls"] for event in events if event["type"] == MODEL_CALLS]
    task = "call-find-x"
    assert [[call["task"] for call in calls] for calls in reports] == [[""], [task, task, ""]]
    made = [call for calls in reports for call in calls]
    assert all(call["begin"] <= call["end"] and call["total_tokens"] > 0 for call in made)
    assert [call["begin"] for call in made] == sorted(call["begin"] for call in made)


async def test_the_prompt_says_how_many_work_at_once_and_that_others_wait() -> None:
    model = both([says("ok")], [])
    await done(agent(model, look))
    system = model.calls[0].texts[0]
    assert "3 subagents work at once, further ones wait for a free place" in system
    assert "one response starts at most 12" in system
    assert "task" in model.calls[0].tools


async def test_five_are_asked_for_and_all_of_them_run() -> None:
    """Three at once (see below); the other two wait, and none is lost."""
    model = both([tasks("a", "b", "c", "d", "e"), says("All done.")], [says("fine")])
    values, events = await done(agent(model, look))
    at_work: set[str] = set()
    for event in events:
        if event["type"] == "task_started":
            at_work.add(event["task_id"])
        elif event["type"] == "task_completed":
            at_work.remove(event["task_id"])
        assert len(at_work) <= 3, "one that waits is not said to have begun"
    assert [one.tool_call_id for one in results(values)] == [f"call-{name}" for name in "abcde"]
    assert {one.text for one in results(values)} == {"fine"}
    assert [len(one.tool_calls) for one in values["messages"] if isinstance(one, AIMessage)] == [5, 0]


async def test_what_they_cost_is_counted_to_the_turn() -> None:
    step = {"usage": (100, 10)}
    model = both(
        [Script(tools=tasks("a", "b").tools, usage=(10, 1)), Script(reply="Done.", usage=(10, 1))],
        [Script(tools=(ToolUse("look", {"word": "x"}),), **step), Script(reply="x", **step)],  # type: ignore[arg-type]
    )
    values, _ = await done(agent(model, look))
    assert values["usage"] == {
        "input_tokens": 420,
        "output_tokens": 42,
        "total_tokens": 462,
        "cached_tokens": 0,
    }


async def test_none_of_their_words_reach_a_stream() -> None:
    sub = [calls("look", word=SECRET), says(f"{SECRET} and more")]
    model = both([tasks("a"), says("The answer.")], sub)
    graph = agent(model, look)
    modes = ["messages", "updates", "custom", "debug", "tasks", "checkpoints"]
    streamed = []
    given = {"messages": [HumanMessage("go")]}
    async for namespace, mode, part in graph.astream(given, THREAD, stream_mode=modes, subgraphs=True):
        assert namespace == ()
        if mode == "messages" and isinstance(part[0], AIMessage):
            streamed.append(part[0].text)
    assert "".join(streamed) == "The answer."
    model.taken.clear()
    named = [
        (event["event"], event.get("name"))
        async for event in graph.astream_events(given, {"configurable": {"thread_id": "t-2"}}, version="v2")
    ]
    assert ("on_tool_start", "task") in named
    assert ("on_tool_start", "look") not in named
    assert [name for kind, name in named if kind == "on_chat_model_start"] == ["Both", "Both"]


class Hanging:
    """A tool that never comes back, and hears of its end."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.begun = 0
        self.ended = 0
        self.let_go = asyncio.Event()
        hanging = self

        @tool
        async def hang() -> str:
            """Hang."""
            hanging.begun += 1
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                hanging.ended += 1
                while stubborn and not hanging.let_go.is_set():
                    try:
                        await hanging.let_go.wait()
                    except asyncio.CancelledError:
                        continue
            return "never"

        self.tool = hang


async def until(clock: ManualClock, condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await clock.run_ready()
            await asyncio.to_thread(lambda: None)


def hanging_agent(
    clock: ManualClock, hanging: Hanging, types: Any = SUBAGENT_TYPES, **limits: Any
) -> tuple[Any, Both]:
    """A lead agent whose subagents answer at once, but for those that are to hang."""
    model = both([tasks("hang"), says("On we go.")], [calls("hang"), says("never")])
    parts = SubagentParts(SubagentModel(model), [hanging.tool])
    runner = GraphSubagents(SubagentGraphs(parts, types), sleep=clock.sleep, **limits)
    return chain(model, SubagentLimitMiddleware(runner=runner)), model


async def test_a_hung_one_times_out_and_the_run_goes_on(clock: ManualClock) -> None:
    hanging = Hanging()
    graph, _ = hanging_agent(clock, hanging)
    turn = asyncio.create_task(done(graph))
    await until(clock, lambda: hanging.begun)
    await clock.advance(899.9)
    assert not turn.done()
    await clock.advance(0.1)
    values, events = await turn
    assert hanging.ended == 1
    [result] = results(values)
    assert result.status == "error"
    assert result.text == "It was stopped after 900 seconds. Its output so far: (nothing yet)"
    assert events[-1]["type"] == "task_timed_out"
    assert events[-1]["error"] == result.text
    assert values["messages"][-1].text == "On we go."


async def test_a_type_has_its_own_time_limit(clock: ManualClock) -> None:
    hanging = Hanging()
    kind = replace(SUBAGENT_TYPES[0], seconds=5)
    graph, _ = hanging_agent(clock, hanging, types=[kind])
    turn = asyncio.create_task(done(graph))
    await until(clock, lambda: hanging.begun)
    await clock.advance(5)
    [result] = results((await turn)[0])
    assert result.text == "It was stopped after 5 seconds. Its output so far: (nothing yet)"


async def test_one_that_does_not_even_end_is_left_alone(clock: ManualClock) -> None:
    hanging = Hanging(stubborn=True)
    graph, _ = hanging_agent(clock, hanging, seconds=10)
    turn = asyncio.create_task(done(graph))
    await until(clock, lambda: hanging.begun)
    await clock.advance(10)
    await clock.advance(GUARD_SECONDS - 0.1)
    assert not turn.done()
    await clock.advance(0.1)
    values, events = await turn
    assert events[-1]["type"] == "task_timed_out"
    assert values["messages"][-1].text == "On we go."
    hanging.let_go.set()
    await clock.run_ready()


async def test_who_cancels_the_run_ends_its_subagents(clock: ManualClock) -> None:
    hanging = Hanging()
    graph, _ = hanging_agent(clock, hanging)
    turn = asyncio.create_task(done(graph))
    await until(clock, lambda: hanging.begun)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert hanging.ended == 1, "no time had to pass"


async def test_cancelling_does_not_wait_for_one_that_does_not_end(clock: ManualClock) -> None:
    hanging = Hanging(stubborn=True)
    graph, _ = hanging_agent(clock, hanging)
    turn = asyncio.create_task(done(graph))
    await until(clock, lambda: hanging.begun)
    turn.cancel()
    await until(clock, lambda: hanging.ended)
    assert not turn.done()
    await clock.advance(CANCEL_SECONDS)
    with pytest.raises(asyncio.CancelledError):
        await turn
    hanging.let_go.set()
    await clock.run_ready()


async def test_a_stream_that_is_left_ends_them_too(clock: ManualClock) -> None:
    hanging = Hanging()
    graph, _ = hanging_agent(clock, hanging)
    given = {"messages": [HumanMessage("go")]}
    async with aclosing(graph.astream(given, THREAD, stream_mode="custom")) as stream:
        async for event in stream:
            if event["type"] == "task_running":
                break
    await until(clock, lambda: hanging.ended == hanging.begun)


async def test_three_at_once_even_where_nobody_cuts(clock: ManualClock) -> None:
    hanging = Hanging()
    model = both([], [calls("hang"), says("never")])
    parts = SubagentParts(SubagentModel(model), [hanging.tool])
    runner = GraphSubagents(SubagentGraphs(parts), seconds=10, sleep=clock.sleep)

    async def one(number: int, thread: str = "t") -> SubagentStatus:
        task = SubagentTask(f"c{number}", "d", f"p{number}")
        return (await runner.run(task, RunContext(thread_id=thread))).status

    running = [asyncio.create_task(one(number)) for number in range(5)]
    await until(clock, lambda: hanging.begun == 3)
    other = asyncio.create_task(one(9, "another thread"))
    await until(clock, lambda: hanging.begun == 4)
    await clock.advance(10)
    await until(clock, lambda: hanging.begun == 6)
    assert [task.done() for task in running] == [True] * 3 + [False] * 2
    await clock.advance(10)
    assert set(await asyncio.gather(*running, other)) == {SubagentStatus.TIMED_OUT}


@pytest.mark.parametrize(("asked", "most"), [({"max_turns": 2}, 2), ({}, 50), ({"max_turns": 0}, 50)])
async def test_turns_are_bounded(asked: dict[str, int], most: int) -> None:
    model = both([tasks("a", **asked), says("ok")], [calls("look", word="x")])
    features = RuntimeFeatures(sandbox=False, subagent=True, loop_detection=False)
    values, events = await done(agent(model, look, features=features))
    [result] = results(values)
    assert result.text == f"It used up its {most} turns. Its output so far: (nothing yet)"
    assert (result.status, events[-1]["type"]) == ("error", "task_failed")
    assert model.taken["sub:a"] == most


async def test_a_subagent_in_a_loop_is_stopped_as_the_lead_agent_is() -> None:
    model = both([tasks("a"), says("ok")], [calls("look", word="x")])
    values, _ = await done(agent(model, look))
    assert "again and again" in results(values)[0].text
    assert model.taken["sub:a"] == 6


async def test_a_model_or_tool_that_fails_is_told_to_the_lead_agent() -> None:
    broken = both([tasks("a"), says("I'll do it myself.")], [Script(fail="auth")])
    values, events = await done(agent(broken, look))
    [result] = results(values)
    assert result.text.startswith("It failed: ")
    assert "sk-secret" not in result.text
    assert events[-1]["type"] == "task_failed"
    assert values["messages"][-1].text == "I'll do it myself."
    silent = both([tasks("a"), says("ok")], [says("  ")])
    values, _ = await done(agent(silent, look))
    assert results(values)[0].text == "It ended without a result."


async def test_it_cannot_ask_a_person_where_no_run_can_wait() -> None:
    model = both([tasks("a"), says("ok")], [calls("ask_a_person"), says("never")])
    values, events = await done(agent(model, ask_a_person, checkpointer=None))
    assert results(values)[0].text.startswith("It needed a person's answer")
    assert events[-1]["type"] == "task_failed"
    assert "__interrupt__" not in values


async def test_the_kind_decides_about_prompt_and_tools() -> None:
    model = both([tasks("a", subagent_type="bash"), says("ok")], [calls("bash", command="ls"), says("done")])
    values, events = await done(agent(model, look, bash))
    assert results(values)[0].text == "done"
    inner = next(heard for heard in model.calls if "task" not in heard.tools)
    assert inner.tools == ("bash",)
    assert "command line" in inner.texts[0]
    assert events[0]["subagent_type"] == "bash"


async def test_a_kind_whose_tools_are_not_there_is_none() -> None:
    model = both([tasks("a", subagent_type="bash"), says("ok")], [says("never")])
    values, _ = await done(agent(model, look))
    assert results(values)[0].text == "There is no subagent type bash. Available: general-purpose."
    assert [kind.name for kind in SUBAGENT_TYPES] == ["general-purpose", "bash"]


LONG = "start " + "x" * 50_000 + " end"


@pytest.mark.parametrize(("tools", "shown"), [(None, ("look", "tool_search")), (("*",), ("look", "bash"))])
async def test_many_tools_are_found_by_search_unless_the_type_names_its_own(
    tools: tuple[str, ...] | None, shown: tuple[str, ...]
) -> None:
    model = scripted(says("fine"))
    deferral = DeferredToolFilterMiddleware(threshold=1)
    parts = SubagentParts(SubagentModel(model), [look, bash], deferral=deferral)
    runner = GraphSubagents(SubagentGraphs(parts, [replace(SUBAGENT_TYPES[0], tools=tools)]))
    await runner.run(SubagentTask("call-1", "d", "p"), RunContext(thread_id="t"))
    assert set(model.calls[0].tools) == set(shown)


async def test_a_long_result_is_a_file_and_its_beginning_and_end() -> None:
    provider = MemorySandboxProvider()
    features = RuntimeFeatures(sandbox=SandboxMiddleware(provider=provider, tools=[]), subagent=True)
    model = both([tasks("a"), says("ok")], [says(LONG)])
    [result] = results((await done(agent(model, look, features=features)))[0])
    assert result.text.startswith("[This output has 50,010 characters in 1 lines. ")
    [path] = re.findall(r"All of it is in (/mnt/user-data/workspace/\S+task-call-a\S*\.txt)", result.text)
    assert "[… 41,010 characters are omitted here. It ends:]" in result.text
    assert result.text.endswith(" end")
    sandbox = provider.get(await provider.acquire("t-1"))
    assert sandbox is not None
    assert (await sandbox.read_file(path)).decode() == LONG


async def test_a_long_result_without_a_sandbox_says_what_is_lost() -> None:
    model = both([tasks("a"), says("ok")], [says(LONG)])
    [result] = results((await done(agent(model, look)))[0])
    assert len(result.text) < 20_000
    assert "it could not be stored (there is no sandbox)" in result.text
    assert "[… 41,010 characters are omitted here. It ends:]" in result.text


async def test_the_lead_agents_guardrail_decides_about_them_too() -> None:
    model = both([tasks("a"), says("ok")], [calls("look", word="x"), says("I was not allowed to")])
    guard = GuardrailMiddleware(provider=AllowlistProvider(denied=["look"]))
    features = RuntimeFeatures(sandbox=False, subagent=True, guardrail=guard)
    await done(agent(model, look, features=features))
    inner = [heard for heard in model.calls if "task" not in heard.tools]
    assert inner[-1].texts[-1].startswith("Not allowed: the tool look")


async def test_a_guardrail_of_another_class_does_too() -> None:
    asked: list[str] = []

    class Own(AgentMiddleware[Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            asked.append(request.tool_call["name"])
            return await handler(request)

    model = both([tasks("a"), says("ok")], [calls("look", word="x"), says("done")])
    await done(agent(model, look, features=RuntimeFeatures(sandbox=False, subagent=True, guardrail=Own())))
    assert asked == ["task", "look"]


class Watched(MemorySandboxProvider):
    """Notes when a sandbox is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.released: list[str] = []

    async def release(self, sandbox_id: str) -> None:
        self.released.append(sandbox_id)
        await super().release(sandbox_id)


async def test_they_work_in_the_lead_agents_sandbox_and_leave_it_to_the_lead_agent() -> None:
    provider = Watched()
    seen: list[tuple[Any, bool, int]] = []

    @tool
    async def peek() -> str:
        """Peek."""
        sandbox_id = await provider.acquire("t-1")
        seen.append((sandbox_id, provider.get(sandbox_id) is not None, len(provider.released)))
        return "seen"

    model = both([tasks("a", "b"), says("ok")], [calls("peek"), calls("peek"), says("done")])
    features = RuntimeFeatures(sandbox=SandboxMiddleware(provider=provider), subagent=True)
    values, _ = await done(agent(model, peek, features=features))
    sandbox_id = values["sandbox"]["sandbox_id"]
    assert seen == [(sandbox_id, True, 0)] * 4
    assert provider.released == [sandbox_id], "once, by the lead agent"


async def test_another_runner_stands_behind_the_same_tool() -> None:
    runner = ScriptedSubagents()
    model = scripted(tasks("a"), says("ok"))
    values, events = await done(chain(model, SubagentLimitMiddleware(runner=runner)))
    assert results(values)[0].text == "a"
    assert runner.tasks == [SubagentTask("call-a", "do a", "a")]
    assert [event["type"] for event in events] == ["task_started", "task_running", "task_completed"]


async def test_files_that_a_subagent_presents_are_in_its_result() -> None:
    runner = ScriptedSubagents({"a": SubagentResult(SubagentStatus.COMPLETED, "Here.", artifacts=("/x",))})
    model = scripted(tasks("a", "b"), says("ok"))
    values, _ = await done(chain(model, SubagentLimitMiddleware(runner=runner)))
    assert [one.artifact for one in results(values)] == [{PRESENTED_FILES: ["/x"]}, None]


async def test_a_tool_of_that_name_that_is_given_stays() -> None:
    @tool
    async def task(prompt: str) -> str:
        """My own."""
        return f"mine: {prompt}"

    model = scripted(Script(tools=(ToolUse("task", {"prompt": "x"}),)), says("ok"))
    values, events = await done(agent(model, task))
    assert results(values)[0].text == "mine: x"
    assert events == []


async def test_a_limit_below_one_is_no_limit() -> None:
    with pytest.raises(ValueError, match="at least one subagent"):
        GraphSubagents(
            SubagentGraphs(SubagentParts(SubagentModel(scripted(says("x"))), [])), max_concurrent=0
        )
