"""A thread's title: the first words or those of a model, never in a stream, never waited for."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.title import TitleMiddleware
from roebot_testing.agent import ScriptedChatModel
from tests.harness.agents import THREAD, LoopTurns, calls, chain, say, says, scripted, texts, unhurried

QUESTION = "How do I boil an egg, please tell me?"
FIRST_WORDS = "How do I boil an egg,"


@tool
async def look() -> str:
    """Look."""
    return "saw"


def slowly(*replies: str) -> ScriptedChatModel:
    """An agent's model that answers long after the model that titles."""
    return unhurried(*(says(reply, usage=(1, 1)) for reply in replies))


async def titled(reply: str, text: str = QUESTION, **limits: Any) -> str | None:
    graph = chain(slowly("Boil water first."), TitleMiddleware(model=scripted(says(reply)), **limits))
    title: str | None = (await say(graph, text)).get("title")
    return title


async def test_without_a_model_the_first_words_are_the_title() -> None:
    model = scripted(calls("look"), says("Boil water first."), says("Ten minutes."))
    graph = chain(model, TitleMiddleware(), tools=[look])
    assert (await say(graph, QUESTION))["title"] == FIRST_WORDS
    assert (await say(graph, "How long?"))["title"] == FIRST_WORDS
    assert len(model.calls) == 3, "no call is for a title"


async def test_a_model_titles_by_the_first_message_while_the_other_answers() -> None:
    namer = scripted(says("Boiling an egg", usage=(7, 3)))
    graph = chain(slowly("Boil water.", "Ten minutes."), TitleMiddleware(model=namer), TokenUsageMiddleware())
    values = await say(graph, QUESTION)
    assert values["title"] == "Boiling an egg"
    assert values["usage"]["total_tokens"] == 12
    [call] = namer.calls
    assert f"Person: {QUESTION}" in call.texts[0]
    assert (await say(graph, "How long?"))["title"] == "Boiling an egg"
    assert len(namer.calls) == 1


@pytest.mark.parametrize("replies", [("Boil water first.",), ("Boil water first.", "Ten minutes.")])
async def test_no_answer_waits_for_a_title_and_it_is_not_asked_for_again(replies: tuple[str, ...]) -> None:
    namer = scripted(says("never", delay=1.0), sleep=LoopTurns(0))
    graph = chain(slowly(*replies), TitleMiddleware(model=namer))
    for reply in replies:
        values = await say(graph, QUESTION)
        assert texts(values)[-1] == reply
        assert values["title"] == FIRST_WORDS
    assert len(namer.calls) == 1
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "title"] == []


async def test_its_tokens_reach_no_stream() -> None:
    graph = chain(slowly("Boil water first."), TitleMiddleware(model=scripted(says("Secret title"))))
    streamed = ""
    source = {"messages": [HumanMessage("How?")]}
    async for chunk, _ in graph.astream(source, THREAD, stream_mode="messages"):
        streamed += chunk.text
    assert streamed == "Boil water first."
    assert (await graph.aget_state(THREAD)).values["title"] == "Secret title"


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ('"Boiling an egg."', "Boiling an egg"),
        ("# Boiling an egg\n\nI hope this helps!", "Boiling an egg"),
        ("<think>They ask about eggs</think>\nEggs", "Eggs"),
        ("one two three four five six seven eight", "one two three four five six"),
        ("   ", FIRST_WORDS),
        ("<think>never ends", FIRST_WORDS),
        ("x" * 80, "x" * 60),
    ],
)
async def test_what_a_model_says_is_made_a_title(reply: str, title: str) -> None:
    assert await titled(reply) == title


async def test_the_limits_are_the_callers() -> None:
    assert await titled("one two three", max_words=2) == "one two"
    assert await titled("one two three", max_chars=9) == "one two"
    assert (await say(chain(scripted(says("ok")), TitleMiddleware(max_words=2)), QUESTION))[
        "title"
    ] == "How do"


@pytest.mark.parametrize("kind", ["auth", "crash", "timeout"])
async def test_a_model_that_fails_leaves_the_first_words(kind: str) -> None:
    namer = scripted(says("never", fail=kind))
    values = await say(chain(slowly("Boil water."), TitleMiddleware(model=namer)), QUESTION)
    assert values["title"] == FIRST_WORDS
    assert texts(values)[-1] == "Boil water."


async def test_structured_content_is_read_as_text() -> None:
    namer = scripted(says("Eggs", thinking="they want eggs"))
    graph = chain(slowly("Boil water."), TitleMiddleware(model=namer))
    blocks = [{"type": "text", "text": "How?"}, {"type": "image", "base64": "xx", "mime_type": "image/png"}]
    values = await graph.ainvoke({"messages": [HumanMessage(content=blocks)]}, THREAD)
    assert values["title"] == "Eggs"
    prompt = namer.calls[0].texts[0]
    assert "How?" in prompt
    assert "base64" not in prompt


async def test_where_the_person_wrote_nothing_the_answer_names_it() -> None:
    namer = scripted(says("never asked"))
    model = scripted(calls("look"), says("A picture of an egg."))
    graph = chain(model, TitleMiddleware(model=namer), tools=[look])
    blocks = [{"type": "image", "base64": "xx", "mime_type": "image/png"}]
    values = await graph.ainvoke({"messages": [HumanMessage(content=blocks)]}, THREAD)
    assert values["title"] == "A picture of an egg"
    assert namer.calls == []


@pytest.mark.parametrize("template", ["Name {user} in {max_words}", "Name {user}{assistant} in {max_words}"])
async def test_a_template_is_filled_and_may_hold_braces_in_what_it_quotes(template: str) -> None:
    namer = scripted(says("ok"))
    middleware = TitleMiddleware(model=namer, prompt_template=template)
    await say(chain(slowly("use {x}"), middleware), "what is {y}?")
    assert namer.calls[0].texts == ["Name what is {y}? in 6"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"max_words": 0}, "must allow"),
        ({"max_chars": 0}, "must allow"),
        ({"prompt_template": "{name}"}, "template"),
    ],
)
def test_settings_that_make_no_title(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        TitleMiddleware(**wrong)


async def test_a_title_that_a_person_gave_stays() -> None:
    namer = scripted(says("Eggs"))
    graph = chain(slowly("Boil water.", "Ten minutes."), TitleMiddleware(model=namer))
    await say(graph, "How?", title="Mine")
    assert (await say(graph, "How long?"))["title"] == "Mine"
    assert namer.calls == []


async def test_an_answer_that_fails_fails_as_it_is() -> None:
    namer = scripted(says("never", delay=1.0), sleep=LoopTurns(0))
    graph = chain(scripted(says("never", fail="crash")), TitleMiddleware(model=namer))
    with pytest.raises(RuntimeError, match="unexpected failure"):
        await say(graph, "How long?")
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "title"] == []
