"""A run ends within its limits: warned, answered without tools, explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent.core.run_meter import Price, RunLimits
from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails import AllowlistProvider
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.run_limits import RunEndMiddleware, RunLimitsMiddleware
from agent.middleware.title import TitleMiddleware
from agent.middleware.todo import TodoListMiddleware
from agent.models.calls import ModelCalls
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, texts, unhurried

TURN: Any = {"configurable": {"thread_id": "t-1", "turn_id": "7"}}


@tool
async def look(at: str) -> str:
    """Look."""
    return f"saw {at}"


@tool
async def find(what: str) -> str:
    """Find."""
    return f"found {what}"


def looks(count: int, **fields: Any) -> list[Script]:
    return [Script(tools=(ToolUse("look", {"at": str(number)}),), **fields) for number in range(count)]


def limited(model: ScriptedChatModel, *between: Any, **limits: Any) -> Any:
    outer = RunLimitsMiddleware(limits=RunLimits(**limits))
    return chain(model, outer, *between, RunEndMiddleware(), tools=[look, find])


def notices(model: ScriptedChatModel) -> list[str]:
    """What the model was told before each of its answers: warned, last or nothing."""
    found = []
    for call in model.calls:
        text = call.texts[-1]
        found.append("last" if "Answer now, without tools" in text else "warned" if "[System" in text else "")
    return found


@pytest.mark.guard(
    "the answer at the limit has no calls",
    "agent/middleware/run_limits.py",
    '    bare = without_calls(answer, [call["id"] for call in list_calls(answer)])',
    "    bare = without_calls(answer, [])",
    against="endless runs",
)
async def test_a_model_that_calls_for_ever_is_warned_and_ends_with_what_it_did() -> None:
    model = scripted(*looks(10), Script(reply="I saw ten things.", tools=(ToolUse("look", {"at": "x"}),)))
    graph = limited(model, tool_calls=10)
    values = await say(graph, "go")
    assert notices(model) == [""] * 8 + ["warned"] * 2 + ["last"]
    assert kinds(values).count("tool") == 10
    last = values["messages"][-1]
    assert last.tool_calls == []
    assert last.text == (
        "I saw ten things.\n\nI stopped here because this run reached its limit of 10 tool calls. "
        "Send another message to continue."
    )
    assert values["run_spent"]["calls"] == {"look": 10}
    assert not any("[System" in text for text in texts(values)), "notices are not stored"


async def test_the_next_message_starts_with_new_counts() -> None:
    model = scripted(*looks(3), says("ended"), calls("find", what="y"), says("found it"))
    graph = limited(model, tool_calls=3)
    assert texts(await say(graph, "go"))[-1].startswith("ended\n\nI stopped here")
    values = await say(graph, "go on")
    assert texts(values)[-1] == "found it"
    assert values["run_spent"]["calls"] == {"find": 1}


@pytest.mark.guard(
    "a call beyond the limit is refused",
    "agent/middleware/run_limits.py",
    "        if exceeded is not None:\n            _log_limit",
    "        if False:\n            _log_limit",
    against="endless runs",
)
async def test_calls_beyond_the_limit_in_one_answer_are_refused() -> None:
    many = Script(tools=tuple(ToolUse("look", {"at": str(number)}, f"c{number}") for number in range(5)))
    values = await say(limited(scripted(many, says("ok")), tool_calls=3), "go")
    results = [message for message in values["messages"] if message.type == "tool"]
    assert [message.status for message in results] == ["success"] * 3 + ["error"] * 2
    assert results[-1].text == (
        "This call was not made: the run has reached its limit of 3 tool calls. "
        "Answer now with what you have."
    )


async def test_a_model_that_says_nothing_more_is_spoken_for() -> None:
    list_of_two = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]
    steps = (calls("write_todos", todos=list_of_two), *looks(20))
    values = await say(limited(scripted(*steps), TodoListMiddleware(), tool_calls=4), "go")
    assert texts(values)[-1] == (
        "I stopped here because this run reached its limit of 4 tool calls. "
        "Done so far: 1 of 2 to-do items completed, look (3), write_todos (1). "
        "Send another message to continue."
    )


async def test_the_note_is_in_the_persons_language() -> None:
    context: Any = {"configurable": {"thread_id": "t-1", "locale": "zh"}}
    values = await say(limited(scripted(*looks(9)), tool_calls=2), "go", context)
    end, work, follow = (
        "本次运行已达到上限（2 次工具调用），我先停在这里。",
        "look 2 次",
        "如需继续，请再发一条消息。",
    )
    assert texts(values)[-1] == f"{end}目前已完成：{work}。{follow}"


async def test_one_tool_has_its_own_limit_and_the_others_go_on() -> None:
    model = scripted(*looks(6), calls("find", what="y"), says("done"))
    values = await say(limited(model, calls_of_one_tool=5, single_tools={"find": 1}), "go")
    results = [message for message in values["messages"] if message.type == "tool"]
    assert [message.status for message in results] == ["success"] * 5 + ["error"] + ["success"]
    assert "limit of 5 calls of look. Do not call this tool again" in results[5].text
    assert "called look 4 of 5 times" in model.calls[4].texts[-1]
    assert texts(values)[-1] == "done"


async def test_a_model_that_ignores_the_refusals_of_one_tool_ends_too() -> None:
    values = await say(limited(scripted(*looks(30)), tool_calls=8, calls_of_one_tool=2), "go")
    assert kinds(values).count("tool") == 8
    assert "limit of 8 tool calls" in texts(values)[-1]


async def test_tokens_end_a_run_before_they_are_exceeded() -> None:
    model = scripted(*looks(40, usage=(1_000, 200)))
    values = await say(limited(model, tokens=20_000), "go")
    assert values["run_spent"]["tokens"] <= 20_000
    assert 10 < len(model.calls) < 17
    assert notices(model)[-1] == "last"
    assert "limit of 20,000 tokens. Done so far: look (" in texts(values)[-1]


@pytest.mark.guard(
    "an answer that does not fit is not requested",
    "agent/core/run_meter.py",
    "            if used + step > limit:",
    "            if False:",
    against="endless runs",
)
async def test_an_answer_that_does_not_fit_is_not_requested() -> None:
    model = scripted(Script(tools=(ToolUse("look", {"at": "x"}),), usage=(19_500, 10)), says("never"))
    values = await say(limited(model, tokens=20_000), "go")
    assert len(model.calls) == 1
    assert texts(values)[-1].startswith("I stopped here because this run reached its limit of 20,000 tokens.")
    again = await say(limited(scripted(says("never")), tokens=1_000), "a long message " * 100)
    assert "This conversation is too long for the limit of 1,000 tokens per run" in texts(again)[-1]


async def test_money_is_counted_at_the_price_of_the_model() -> None:
    model = scripted(*looks(40, usage=(1_000_000, 0)), metadata={"roebot_model": "m"})
    limits = {"cost": 10.0, "currency": "EUR", "prices": {"m": Price(1.0, 5.0)}}
    values = await say(limited(model, **limits), "go")
    assert 7.0 <= values["run_spent"]["cost"] <= 10.0
    assert (values["usage"]["cost"], values["usage"]["currency"]) == (values["run_spent"]["cost"], "EUR")
    assert "reached its limit of 10 EUR." in texts(values)[-1]


async def test_titles_count_too() -> None:
    naming = scripted(says("A title", usage=(50, 2)))
    model = unhurried(says("a", usage=(10, 1)))
    values = await say(limited(model, TitleMiddleware(model=naming), tokens=100_000), "go")
    assert values["title"] == "A title"
    assert values["run_spent"]["tokens"] == 63


async def test_nobody_is_asked_about_a_refused_call() -> None:
    guardrail = GuardrailMiddleware(provider=AllowlistProvider(ask=["find"]))
    steps = (calls("look", "c1", at="x"), calls("find", "c2", what="y"), says("ok"))
    values = await say(limited(scripted(*steps), guardrail, tool_calls=1), "go")
    assert "__interrupt__" not in values
    assert "limit of 1 tool call." in texts(values)[-1]


@pytest.mark.parametrize("restart", [False, True])
async def test_a_run_goes_on_with_its_counts_after_an_approval(restart: bool) -> None:
    """In the same process, and in another one, which has only what is stored."""
    guardrail, saver = GuardrailMiddleware(provider=AllowlistProvider(ask=["find"])), InMemorySaver()
    model = scripted(*looks(2), calls("find", "c2", what="y"), *looks(9))

    def build() -> Any:
        outer = RunLimitsMiddleware(limits=RunLimits(tool_calls=4))
        parts = outer, guardrail, RunEndMiddleware()
        return chain(model, *parts, tools=[look, find], checkpointer=saver)

    graph = build()
    [asked] = (await say(graph, "go", TURN))["__interrupt__"]
    answer = Command(resume={"decision": "approve", "covers": asked.value["covers"]})
    values = await (build() if restart else graph).ainvoke(answer, TURN)
    assert values["run_spent"]["calls"] == {"look": 3, "find": 1}
    assert "limit of 4 tool calls" in texts(values)[-1]


async def test_a_turn_that_failed_goes_on_with_its_counts() -> None:
    model = scripted(*looks(1), says("", fail="auth"), says("done"))
    graph = limited(model, ModelCalls(model_name="m"), tool_calls=10)
    with pytest.raises(ModelCallFailed):
        await say(graph, "go", TURN)
    values = await graph.ainvoke(None, TURN)
    assert values["run_spent"]["calls"] == {"look": 1}


@pytest.mark.guard(
    "subagents count for their run",
    "agent/core/run_meter.py",
    "        context.run(_current.set, meter)",
    "        pass",
    against="endless runs",
)
async def test_subagents_count_for_the_run_and_end_with_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    work = {"description": "look", "prompt": "look around"}
    model = scripted(
        calls("task", "c1", **work),
        *looks(3),
        says("the subagent saw something"),
        says("all done"),
    )
    limits = RunLimitsMiddleware(limits=RunLimits(tool_calls=4))
    features = RuntimeFeatures(sandbox=False, subagent=True, run_limits=limits)
    graph = create_agent_graph(model, [look], features=features, checkpointer=InMemorySaver())
    values = await say(graph, "go", THREAD)
    assert values["run_spent"]["calls"] == {"task": 1, "look": 3}
    result = next(message for message in values["messages"] if message.type == "tool")
    assert result.text.startswith("the subagent saw something\n\nI stopped here")
    assert texts(values)[-1].startswith("all done\n\nI stopped here because")
    assert notices(model)[-2:] == ["last", "last"]


async def test_without_the_outer_one_nothing_is_limited() -> None:
    values = await say(chain(scripted(says("ok")), RunEndMiddleware()), "go")
    assert texts(values)[-1] == "ok"
