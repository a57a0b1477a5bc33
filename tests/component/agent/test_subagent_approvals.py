"""A subagent that needs an approval waits for it and goes on exactly there, also in another process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails.providers import AllowlistProvider
from agent.middleware.guardrail import GuardrailMiddleware
from agent.runtime.saver import RuntimeSaver
from roebot_testing.agent import Script, ToolUse
from tests.component.agent.test_subagents import Both, both, tasks
from tests.harness.agents import THREAD, calls, says

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@tool
async def delete(path: str) -> str:
    """Delete."""
    done.append(path)
    return f"deleted {path}"


@tool
async def look(word: str) -> str:
    """Look a word up."""
    done.append(f"look {word}")
    return f"{word} means 42"


def agent(model: Both, saver: BaseCheckpointSaver[Any]) -> Any:
    guardrail = GuardrailMiddleware(provider=AllowlistProvider(ask=["delete"]))
    features = RuntimeFeatures(sandbox=False, subagent=True, guardrail=guardrail)
    return create_agent_graph(model, [look, delete], features=features, checkpointer=saver)


def remade(model: Both) -> Both:
    """The model of another process, which knows nothing but goes on where this one was."""
    again = both(model.lead, model.sub)
    again.taken.update(model.taken)
    return again


def deletes(*paths: str) -> Script:
    """One answer with several calls."""
    return Script(tools=tuple(ToolUse("delete", {"path": path}, f"d-{path}") for path in paths))


async def asked(graph: Any, given: Any) -> list[Any]:
    """What the run asks in the end, by the path that a call would delete."""
    await graph.ainvoke(given, THREAD)
    state = await graph.aget_state(THREAD)
    return sorted(state.interrupts, key=lambda one: str(one.value["args"]["path"]))


def results(values: dict[str, Any]) -> list[str]:
    return [one.text for one in values["messages"] if isinstance(one, ToolMessage)]


async def answered(graph: Any, words: str) -> dict[str, Any]:
    values: dict[str, Any] = await graph.ainvoke(Command(resume=words), THREAD)
    return values


GO = {"messages": [HumanMessage("go")]}


@asynccontextmanager
async def on_disk(folder: Path) -> AsyncIterator[RuntimeSaver]:
    async with RuntimeSaver.open(folder / "checkpoints.db") as saver:
        yield saver


async def test_it_waits_and_goes_on_there() -> None:
    model = both([tasks("a"), says("ok")], [calls("look", word="x"), deletes("a"), says("the result")])
    graph = agent(model, InMemorySaver())
    [question] = await asked(graph, GO)
    assert (question.value["type"], question.value["tool"]) == ("approval", "delete")
    assert question.value["args"] == {"path": "a"}
    assert question.value["subagent"] == "do a"
    assert done == ["look x"]
    values = await answered(graph, "approve")
    assert results(values) == ["the result"]
    assert values["messages"][-1].text == "ok"
    assert done == ["look x", "a"], "nothing of the subagent is done twice"
    assert len([heard for heard in model.calls if "task" not in heard.tools]) == 3


async def test_a_rejection_goes_to_the_subagent() -> None:
    model = both([tasks("a"), says("ok")], [deletes("a"), says("left it")])
    graph = agent(model, InMemorySaver())
    await asked(graph, GO)
    assert results(await answered(graph, "reject")) == ["left it"]
    assert done == []
    inner = [heard for heard in model.calls if "task" not in heard.tools]
    assert inner[-1].texts[-1].startswith("A person rejected this call.")


@pytest.mark.guard(
    "a subagent's question gets its own answer",
    "agent/subagents/pause.py",
    "if known == identity:",
    "if True:",
    against="mixed up answers",
)
async def test_it_waits_over_a_restart(tmp_path: Path) -> None:
    model = both([tasks("a"), says("ok")], [calls("look", word="x"), deletes("a"), deletes("b"), says("end")])
    async with on_disk(tmp_path) as saver:
        [question] = await asked(agent(model, saver), GO)
        assert question.value["args"] == {"path": "a"}
    model = remade(model)
    async with on_disk(tmp_path) as saver:
        [question] = await asked(agent(model, saver), Command(resume="approve"))
        assert question.value["args"] == {"path": "b"}
        assert done == ["look x", "a"]
    model = remade(model)
    async with on_disk(tmp_path) as saver:
        graph = agent(model, saver)
        assert results(await answered(graph, "reject")) == ["end"]
    assert done == ["look x", "a"], "the answer to the first question is none to the second"


@pytest.mark.parametrize(("first", "second", "made"), [("approve", "reject", ["a"]), ("no", "yes", ["b"])])
async def test_each_of_several_calls_has_its_own_answer(
    tmp_path: Path, first: str, second: str, made: Iterable[str]
) -> None:
    model = both([tasks("a"), says("ok")], [deletes("a", "b"), says("end")])
    said: dict[str, str] = {"a": first, "b": second}
    async with on_disk(tmp_path) as saver:
        graph = agent(model, saver)
        questions = await asked(graph, GO)
        seen = []
        while questions:
            [question] = questions
            path = question.value["args"]["path"]
            seen.append(path)
            questions = await asked(graph, Command(resume=said[path]))
    assert sorted(seen) == ["a", "b"]
    assert done == made


async def test_several_subagents_wait_at_once(tmp_path: Path) -> None:
    model = both([tasks("a", "b"), says("ok")], [])
    model.sub = (deletes("a"), says("end"))
    async with on_disk(tmp_path) as saver:
        graph = agent(model, saver)
        questions = await asked(graph, GO)
        assert [one.value["subagent"] for one in questions] == ["do a", "do b"]
        resume = {one.id: "approve" if one.value["subagent"] == "do b" else "reject" for one in questions}
        values = await graph.ainvoke(Command(resume={questions[0].id: resume[questions[0].id]}), THREAD)
        assert "__interrupt__" in values
        values = await graph.ainvoke(Command(resume={questions[1].id: resume[questions[1].id]}), THREAD)
    assert results(values) == ["end", "end"]
    assert done == ["a"]


async def test_without_a_question_nothing_is_stored(tmp_path: Path) -> None:
    model = both([tasks("a"), says("ok")], [calls("look", word="x"), says("end")])
    async with on_disk(tmp_path) as saver:
        await agent(model, saver).ainvoke(GO, THREAD)
        namespaces = {
            one.config["configurable"]["checkpoint_ns"]
            async for one in saver.alist({"configurable": {"thread_id": "t-1"}})
        }
    assert namespaces == {""}
