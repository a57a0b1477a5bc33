"""Answers are repaired before anything reads them, and threads with broken calls before they are sent."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from agent.middleware.answer_calls import with_ids, with_unique_ids
from agent.middleware.repair import AnswerRepairMiddleware, CallRepairMiddleware, repair_messages
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import calls, chain, kinds, say, says, scripted, texts


@tool
async def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word}: half \ud83d"


def answer(*ids: str | None, **more: Any) -> AIMessage:
    made = [{"name": "lookup", "args": {"word": str(at)}, "id": one} for at, one in enumerate(ids)]
    return AIMessage(more.pop("content", ""), tool_calls=made, **more)


def ids_of(messages: list[AnyMessage]) -> list[Any]:
    found: list[Any] = []
    for message in messages:
        if isinstance(message, AIMessage):
            found.append([call["id"] for call in message.tool_calls])
        elif isinstance(message, ToolMessage):
            found.append(message.tool_call_id)
    return found


async def test_a_call_written_as_text_is_made() -> None:
    written = says('<tool_call>{"name": "lookup", "arguments": {"word": "tea"}}</tool_call>')
    values = await say(chain(scripted(written, says("done")), AnswerRepairMiddleware(), tools=[lookup]), "go")
    assert kinds(values) == ["human", "ai", "tool", "ai"]
    assert texts(values)[1] == ""


async def test_without_tools_a_text_stays_a_text() -> None:
    text = '{"name": "lookup"}'
    assert texts(await say(chain(scripted(says(text)), AnswerRepairMiddleware()), "go"))[-1] == text


async def test_each_call_of_an_answer_has_its_own_result() -> None:
    twice = Script(tools=(ToolUse("lookup", {"word": "a"}, "x"), ToolUse("lookup", {"word": "b"}, "x")))
    graph = chain(
        scripted(twice, says("done")), CallRepairMiddleware(), AnswerRepairMiddleware(), tools=[lookup]
    )
    values = await say(graph, "go")
    results = [one for one in values["messages"] if one.type == "tool"]
    assert [one.content[:2] for one in results] == ["a:", "b:"]
    assert len({one.tool_call_id for one in results}) == 2


async def test_the_model_gets_valid_texts() -> None:
    model = scripted(calls("lookup", word="tea"), says("done"))
    await say(chain(model, AnswerRepairMiddleware(), tools=[lookup]), "go")
    assert model.calls[-1].texts[-1] == "tea: half \N{REPLACEMENT CHARACTER}"


def test_calls_without_an_id_get_one_everywhere() -> None:
    raw = [{"id": None, "function": {}}, {"id": "a", "function": {}}, {"id": "a", "function": {}}]
    blocks = [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "a"}, {"type": "tool_use", "id": "a"}]
    found = with_ids(answer(None, "a", "a", content=blocks, additional_kwargs={"tool_calls": raw}))
    first, second, third = (call["id"] for call in found.tool_calls)
    assert second == "a"
    assert len({first, second, third}) == 3
    assert all(isinstance(one, str) and one for one in (first, third))
    assert [call["id"] for call in found.additional_kwargs["tool_calls"]] == [first, second, third]
    assert [block.get("id") for block in found.content if isinstance(block, dict)] == [None, second, third]


def test_good_ids_stay() -> None:
    good = answer("a", "b")
    assert with_ids(good) is good
    messages: list[AnyMessage] = [HumanMessage("x"), good, ToolMessage("1", tool_call_id="a")]
    assert all(new is old for new, old in zip(with_unique_ids(messages), messages, strict=True))


@pytest.mark.guard(
    "each id is there once in a conversation",
    "agent/middleware/answer_calls.py",
    "        while not new or new in taken:",
    "        while not new:",
    against="imprecise models",
)
def test_a_thread_has_each_id_once_and_results_follow_their_calls() -> None:
    """A server that restarts counting; and an answer of an older version with one id for two calls."""
    messages: list[AnyMessage] = [
        answer("call_0"),
        ToolMessage("1", tool_call_id="call_0"),
        answer("call_0", "call_0"),
        ToolMessage("2", tool_call_id="call_0"),
        ToolMessage("3", tool_call_id="call_0"),
        answer("call_0_2", ""),
        ToolMessage("4", tool_call_id="call_0_2"),
        ToolMessage("5", tool_call_id=""),
    ]
    expected = [
        ["call_0"],
        "call_0",
        ["call_0_2", "call_0_3"],
        "call_0_2",
        "call_0_3",
        ["call_0_2_2", "call_2"],
        "call_0_2_2",
        "call_2",
    ]
    assert ids_of(repair_messages(messages)) == expected
    assert ids_of(messages)[3] == "call_0", "stored messages stay as they are"
    assert ids_of(repair_messages(messages)) == expected, "the same each time, for the provider's cache"


def test_a_block_of_the_responses_api_keeps_its_item_id() -> None:
    block = {"type": "function_call", "id": "fc_1", "call_id": "a"}
    [_, found] = repair_messages([answer("a"), answer("a", content=[block])])
    assert found.content == [{**block, "call_id": "a_2"}]
