"""Too many subagents, and questions beside other calls: what is cut was never called."""

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from langgraph.types import Command

from agent.middleware.answer_calls import without_calls
from agent.middleware.clarification import NO_ANSWER, NOT_RUN, ClarificationMiddleware
from agent.middleware.model_response import get_answer, with_answer
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from roebot_testing.agent import Script, ToolUse
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


@pytest.mark.guard(
    "a task beyond the limit of an answer gets a result",
    "agent/middleware/subagent_limit.py",
    "        return refuse_calls(response, tasks[self._most :], NOT_RUN.format(most=self._most))",
    "        return response",
    against="nothing is dropped",
)
async def test_only_so_many_subagents_are_started_by_an_answer() -> None:
    """None of the others is lost: its result tells the model to call it again."""
    answer = Script(reply="all at once", tools=(*tasks("a", "b", "c", "d"), ToolUse("look", {"at": "x"})))
    limit = SubagentLimitMiddleware(most=2)
    values = await say(chain(scripted(answer, says("ok")), limit, tools=[task, look]), "go")
    assert sorted(done) == ["a", "b", "x"], "another tool's call runs"
    made = values["messages"][1]
    assert [call["id"] for call in made.tool_calls[:4]] == ["id-a", "id-b", "id-c", "id-d"]
    assert made.text == "all at once"
    told = {message.tool_call_id: message for message in values["messages"] if message.type == "tool"}
    assert len(told) == 5
    for late in ("id-c", "id-d"):
        assert told[late].text == (
            "Not run: one response starts at most 2 subagents. Call it again when these have finished."
        )
        assert told[late].status == "error"


@pytest.mark.parametrize(("number", "ran"), [(3, 3), (12, 12), (13, 12)])
async def test_an_answer_starts_twelve_subagents_unless_it_is_told_otherwise(number: int, ran: int) -> None:
    model = scripted(Script(tools=tasks(*map(str, range(number)))), says("ok"))
    values = await say(chain(model, SubagentLimitMiddleware(), tools=[task]), "go")
    assert len(values["messages"][1].tool_calls) == number
    assert len(done) == ran


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


@pytest.mark.guard(
    "a call beside a question is not run and says so",
    "agent/middleware/clarification.py",
    "        return refuse_calls(response, [call for call in calls if call is not question], NOT_RUN)",
    "        return response",
    against="nothing is dropped",
)
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
    assert len(values["messages"][1].tool_calls) == 3, "but nothing is lost"
    values = await graph.ainvoke(Command(resume="blue"), THREAD)
    assert done == ["blue"]
    assert kinds(values) == ["human", "ai", "tool", "tool", "tool", "ai", "tool", "ai"]
    assert texts(values)[2:5] == [NOT_RUN, NOT_RUN, "blue"]
    assert values["messages"][2].status == "error"


async def test_two_questions_are_asked_one_after_the_other() -> None:
    both = tuple(ToolUse("ask_clarification", {"question": q}, q) for q in ("first?", "second?"))
    model = scripted(Script(tools=both), Script(tools=both[1:]), says("ok"))
    graph = chain(model, ClarificationMiddleware())
    values = await say(graph, "go")
    assert [asked.value["question"] for asked in values["__interrupt__"]] == ["first?"]
    values = await graph.ainvoke(Command(resume="one"), THREAD)
    assert texts(values)[2:4] == [NOT_RUN, "one"]
    assert [asked.value["question"] for asked in values["__interrupt__"]] == ["second?"]


async def test_calls_without_an_id_of_their_own_beside_a_question_are_not_run() -> None:
    both = (ToolUse("ask_clarification", {"question": "Which?"}, "0"), ToolUse("look", {"at": "x"}, "0"))
    graph = chain(scripted(Script(tools=both), says("ok")), ClarificationMiddleware(), tools=[look])
    assert (await say(graph, "go"))["__interrupt__"][0].value["question"] == "Which?"
    values = await graph.ainvoke(Command(resume="blue"), THREAD)
    assert done == []
    assert texts(values)[1:] == ["", NOT_RUN, "blue", "ok"]


async def test_results_of_calls_that_are_cut_afterwards_go_too() -> None:
    """Providers reject a result without its call."""

    class Cuts(AgentMiddleware[Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            response = await handler(request)
            answer = get_answer(response)
            assert answer is not None
            return with_answer(response, without_calls(answer, [call["id"] for call in answer.tool_calls]))

    both = (ToolUse("ask_clarification", {"question": "Which?"}, "q"), ToolUse("look", {"at": "x"}, "x"))
    model = scripted(Script(reply="enough", tools=both))
    values = await say(chain(model, Cuts(), ClarificationMiddleware(), tools=[look]), "go")
    assert texts(values) == ["go", "enough"]


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
