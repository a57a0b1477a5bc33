"""Tokens: counted for every answer, added up over the thread."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from agent.core.state import merge_usage, sum_usage, usage_between
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.title import TitleMiddleware
from roebot_testing.agent import Script
from tests.harness.agents import calls, chain, say, says, scripted, unhurried


@tool
async def look() -> str:
    """Look."""
    return "saw"


def usage(given: int, taken: int) -> dict[str, int]:
    return {"input_tokens": given, "output_tokens": taken, "total_tokens": given + taken, "cached_tokens": 0}


async def test_every_answer_of_a_run_and_every_run_of_a_thread_counts() -> None:
    first = Script(tools=calls("look").tools, usage=(100, 7))
    graph = chain(scripted(first, says("a", usage=(120, 5))), TokenUsageMiddleware(), tools=[look])
    before = await say(graph, "go")
    assert before["usage"] == usage(220, 12)
    after = await say(graph, "again")
    assert after["usage"] == usage(340, 17)
    assert usage_between(before["usage"], after["usage"]) == usage(120, 5)
    assert usage_between(None, before["usage"]) == usage(220, 12)


async def test_what_middleware_asks_for_itself_counts_too() -> None:
    asked = scripted(says("Short title", usage=(50, 2)))
    graph = chain(unhurried(says("a", usage=(10, 1))), TitleMiddleware(model=asked), TokenUsageMiddleware())
    assert (await say(graph, "go"))["usage"] == usage(60, 3)


@pytest.mark.parametrize("messages", [[], [HumanMessage("hi")], [AIMessage("no usage said")]])
def test_where_no_provider_said_there_is_nothing(messages: list[HumanMessage | AIMessage]) -> None:
    assert sum_usage(messages) is None


def test_a_total_is_the_providers_or_the_sum() -> None:
    assert merge_usage(None, {"input_tokens": 1, "output_tokens": 2}) == usage(1, 2)
    assert (
        merge_usage(usage(1, 2), {"input_tokens": 1, "output_tokens": 1, "total_tokens": 9})["total_tokens"]
        == 12
    )
