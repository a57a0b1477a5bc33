"""Too many subagents, and questions beside other calls: what is cut was never called."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from langgraph.types import Command

from agent.middleware.clarification import NO_ANSWER, ClarificationMiddleware
from agent.middleware.model_response import without_calls
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.testing import Script, ToolUse
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, texts

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@tool
async def task(prompt: str) -> str:
    """Run a subagent."""
    done.append(prompt)
    return f"{prompt} done"


@tool
async def look(at: str) -> str:
    """Look."""
    done.append(at)
    return f"saw {at}"


def tasks(*prompts: str) -> tuple[ToolUse, ...]:
    return tuple(ToolUse("task", {"prompt": prompt}, f"id-{prompt}") for prompt in prompts)


@pytest.mark.parametrize(("most", "ran"), [(None, ["a", "b", "c"]), (1, ["a"])])
async def test_only_so_many_subagents_start_at_once(most: int | None, ran: list[str]) -> None:
    limit = SubagentLimitMiddleware() if most is None else SubagentLimitMiddleware(most=most)
    answer = Script(reply="all at once", tools=(*tasks("a", "b", "c", "d"), ToolUse("look", {"at": "x"})))
    values = await say(chain(scripted(answer, says("ok")), limit, tools=[task, look]), "go")
    assert sorted(done) == [*ran, "x"], "another tool's call stays"
    made = values["messages"][1]
    assert [call["args"] for call in made.tool_calls] == [*({"prompt": p} for p in ran), {"at": "x"}]
    assert made.text == "all at once"
    assert kinds(values) == ["human", "ai", *["tool"] * (len(ran) + 1), "ai"]


async def test_few_enough_stay_as_they_are() -> None:
    model = scripted(Script(tools=tasks("a", "b", "c")), says("ok"))
    values = await say(chain(model, SubagentLimitMiddleware(), tools=[task]), "go")
    assert len(values["messages"][1].tool_calls) == 3


def test_no_subagent_at_all_is_no_limit() -> None:
    with pytest.raises(ValueError, match="at least one subagent"):
        SubagentLimitMiddleware(most=0)


QUESTION = {"question": "Which one?", "kind": "ambiguous", "options": ["red", "blue"], "context": "two fit"}


async def test_a_question_stops_the_run_and_its_answer_is_the_result() -> None:
    model = scripted(calls("ask_clarification", "q", **QUESTION), says("red it is"))
    graph = chain(model, ClarificationMiddleware())
    values = await say(graph, "paint it")
    assert values["__interrupt__"][0].value == {"type": "clarification", **QUESTION}
    values = await graph.ainvoke(Command(resume="red"), THREAD)
    assert texts(values) == ["paint it", "", "red", "red it is"]
    assert values["messages"][2].tool_call_id == "q"


@pytest.mark.parametrize(
    ("given", "heard"), [({"answer": "blue"}, "blue"), ({"answer": ""}, NO_ANSWER), (7, "7")]
)
async def test_answers_of_other_forms(given: Any, heard: str) -> None:
    graph = chain(
        scripted(calls("ask_clarification", question="Which?"), says("ok")), ClarificationMiddleware()
    )
    asked = (await say(graph, "go"))["__interrupt__"][0].value
    assert asked == {
        "type": "clarification",
        "question": "Which?",
        "kind": "missing_info",
        "options": [],
        "context": None,
    }
    assert texts(await graph.ainvoke(Command(resume=given), THREAD))[2] == heard


async def test_a_question_stands_alone() -> None:
    question = ToolUse("ask_clarification", {"question": "Which?"}, "q")
    model = scripted(
        Script(tools=(ToolUse("look", {"at": "x"}), question, ToolUse("look", {"at": "y"}))),
        calls("look", at="blue"),
        says("ok"),
    )
    graph = chain(model, ClarificationMiddleware(), tools=[look])
    values = await say(graph, "go")
    assert done == [], "nothing ran that the answer may make wrong"
    assert [call["id"] for call in values["messages"][1].tool_calls] == ["q"]
    values = await graph.ainvoke(Command(resume="blue"), THREAD)
    assert done == ["blue"]
    assert kinds(values) == ["human", "ai", "tool", "ai", "tool", "ai"]


async def test_two_questions_are_asked_one_after_the_other() -> None:
    both = tuple(ToolUse("ask_clarification", {"question": q}, q) for q in ("first?", "second?"))
    graph = chain(scripted(Script(tools=both), says("ok")), ClarificationMiddleware())
    values = await say(graph, "go")
    assert [asked.value["question"] for asked in values["__interrupt__"]] == ["first?"]


def test_a_call_is_cut_in_every_form_that_providers_use() -> None:
    message = AIMessage(
        content=[
            {"type": "text", "text": "hm"},
            {"type": "tool_use", "id": "a", "name": "x", "input": {}},
            {"type": "function_call", "call_id": "b", "id": "fc_1", "name": "x", "arguments": "{}"},
            {"type": "tool_use", "id": "c", "name": "x", "input": {}},
            "plain",
        ],
        tool_calls=[tool_call(name="x", args={}, id=call_id) for call_id in "abc"],
        additional_kwargs={"tool_calls": [{"id": "a"}, {"id": "c"}], "other": 1},
    )
    cut = without_calls(message, ["a", "b"])
    assert [call["id"] for call in cut.tool_calls] == ["c"]
    assert [block["type"] for block in cut.content[:-1]] == ["text", "tool_use"]  # type: ignore[index]
    assert cut.additional_kwargs == {"tool_calls": [{"id": "c"}], "other": 1}
    bare = without_calls(cut, ["c"])
    assert bare.additional_kwargs == {"other": 1}
    assert len(message.tool_calls) == 3, "the original stays"
