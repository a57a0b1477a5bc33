"""A long list of tools: hidden, searched, found, for one thread alone."""

from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from roebot_testing.agent import ScriptedChatModel
from tests.harness.agents import calls, chain, say, says, scripted, texts

OTHER = {"configurable": {"thread_id": "t-2"}}


def made(name: str, description: str) -> StructuredTool:
    async def run(what: str = "") -> str:
        return f"{name} did {what}"

    return StructuredTool.from_function(coroutine=run, name=name, description=description)


TOOLS = [
    made("read_file", "Read a file."),
    made("write_file", "Write a file."),
    made("weather", "Tell the weather of a place."),
    made("mail_send", "Send a mail to somebody."),
    made("mail_list", "List the mails."),
]


def deferring(model: ScriptedChatModel, **options: Any) -> Any:
    options.setdefault("threshold", 2)
    return chain(model, DeferredToolFilterMiddleware(**options), tools=TOOLS, system_prompt="You help.")


async def test_the_first_ones_are_shown_and_the_others_named() -> None:
    model = scripted(says("ok"))
    await say(deferring(model), "go")
    assert set(model.calls[0].tools) == {"tool_search", "read_file", "write_file"}
    assert "They are: mail_list, mail_send, weather." in model.calls[0].texts[0]


async def test_what_is_found_can_be_called_and_stays_for_the_thread_alone() -> None:
    model = scripted(
        calls("tool_search", query="send mail"), calls("mail_send", what="it"), says("sent"), says("ok")
    )
    graph = deferring(model)
    values = await say(graph, "mail Bob")
    assert "- mail_send: Send a mail to somebody." in texts(values)[2]
    assert texts(values)[4] == "mail_send did it"
    assert values["promoted_tools"] == ["mail_send", "mail_list"]
    assert {"mail_send", "mail_list"} <= set(model.calls[1].tools)
    assert "weather" not in model.calls[1].tools
    await say(graph, "again")
    assert "mail_send" in model.calls[3].tools, "in the next turn too"
    await say(graph, "hello", OTHER)
    assert "mail_send" not in model.calls[4].tools, "but in no other thread"


async def test_a_hidden_tool_can_not_be_guessed() -> None:
    values = await say(deferring(scripted(calls("mail_send", what="x"), says("ok"))), "go")
    assert values["messages"][2].status == "error"
    assert "tool_search" in texts(values)[2]


async def test_names_find_exactly_these_and_nothing_finds_nothing() -> None:
    model = scripted(calls("tool_search", query="weather"), calls("tool_search", query="zzz"), says("ok"))
    values = await say(deferring(model), "go")
    assert values["promoted_tools"] == ["weather"]
    assert "No matching tool" in texts(values)[4]


async def test_some_are_always_shown() -> None:
    model = scripted(says("ok"))
    await say(deferring(model, always=["weather"]), "go")
    assert "weather" in model.calls[0].tools


@pytest.mark.parametrize("threshold", [5, 20])
async def test_a_short_list_is_shown_whole_and_needs_no_search(threshold: int) -> None:
    model = scripted(says("ok"))
    await say(deferring(model, threshold=threshold), "go")
    assert set(model.calls[0].tools) == {tool.name for tool in TOOLS}
    assert model.calls[0].texts[0] == "You help."


async def test_when_all_are_found_the_search_stays_for_the_next() -> None:
    model = scripted(calls("tool_search", query="weather, mail_send, mail_list"), says("ok"))
    await say(deferring(model), "go")
    assert set(model.calls[1].tools) == {"tool_search", *(tool.name for tool in TOOLS)}


def test_at_least_one_is_shown() -> None:
    with pytest.raises(ValueError, match="threshold must be at least 1"):
        DeferredToolFilterMiddleware(threshold=0)
