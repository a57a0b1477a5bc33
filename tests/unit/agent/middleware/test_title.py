"""A thread's title: after the first full exchange, never in a stream, never a reason to fail."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.title import TitleMiddleware
from tests.harness.agents import THREAD, calls, chain, say, says, scripted, texts


@tool
async def look() -> str:
    """Look."""
    return "saw"


async def titled(
    reply: str, text: str = "How do I boil an egg, please tell me?", **limits: Any
) -> str | None:
    namer = scripted(says(reply))
    graph = chain(scripted(says("Boil water first.")), TitleMiddleware(model=namer, **limits))
    title: str | None = (await say(graph, text)).get("title")
    return title


async def test_the_first_full_exchange_is_titled_once() -> None:
    namer = scripted(says("Boiling an egg"))
    model = scripted(calls("look"), says("Boil water first."), says("Ten minutes."))
    graph = chain(model, TitleMiddleware(model=namer), tools=[look])
    values = await say(graph, "How?")
    assert values["title"] == "Boiling an egg"
    prompt = namer.calls[0].texts[0]
    assert "How?" in prompt
    assert "Boil water first." in prompt
    assert (await say(graph, "How long?"))["title"] == "Boiling an egg"
    assert len(namer.calls) == 1


async def test_without_a_model_of_its_own_it_asks_the_agents() -> None:
    model = scripted(says("Boil water first."), says("Eggs"))
    values = await say(chain(model, TitleMiddleware()), "How?")
    assert values["title"] == "Eggs"
    assert texts(values) == ["How?", "Boil water first."]


async def test_its_tokens_reach_no_stream() -> None:
    graph = chain(scripted(says("Boil water first.")), TitleMiddleware(model=scripted(says("Secret title"))))
    source = {"messages": [HumanMessage("How?")]}
    streamed = ""
    async for chunk, _ in graph.astream(source, THREAD, stream_mode="messages"):
        streamed += chunk.text
    assert streamed == "Boil water first."


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ('"Boiling an egg."', "Boiling an egg"),
        ("# Boiling an egg\n\nI hope this helps!", "Boiling an egg"),
        ("<think>They ask about eggs</think>\nEggs", "Eggs"),
        ("one two three four five six seven eight", "one two three four five six"),
        ("   ", "How do I boil an egg,"),
        ("<think>never ends", "How do I boil an egg,"),
        ("x" * 80, "x" * 60),
    ],
)
async def test_what_a_model_says_is_made_a_title(reply: str, title: str) -> None:
    assert await titled(reply) == title


async def test_the_limits_are_the_callers() -> None:
    assert await titled("one two three", max_words=2) == "one two"
    assert await titled("one two three", max_chars=9) == "one two"


@pytest.mark.parametrize("kind", ["auth", "crash", "timeout"])
async def test_a_model_that_fails_leaves_the_first_words(kind: str) -> None:
    assert await titled("never", text="How do I boil an egg, please?") is not None
    namer = scripted(says("never", fail=kind))
    values = await say(
        chain(scripted(says("Boil water.")), TitleMiddleware(model=namer)), "How do I boil an egg, please?"
    )
    assert values["title"] == "How do I boil an egg,"
    assert texts(values)[-1] == "Boil water."


async def test_a_model_that_never_answers_is_given_up() -> None:
    async def for_ever(_: float) -> None:
        await asyncio.Event().wait()

    namer = scripted(says("never", delay=1.0), sleep=for_ever)
    graph = chain(scripted(says("Boil water.")), TitleMiddleware(model=namer, seconds=0.01))
    assert (await say(graph, "How?"))["title"] == "How?"


async def test_structured_content_is_read_as_text() -> None:
    namer = scripted(says("Eggs", thinking="they want eggs"))
    graph = chain(scripted(says("Boil water.", thinking="a secret thought")), TitleMiddleware(model=namer))
    blocks = [{"type": "text", "text": "How?"}, {"type": "image", "base64": "xx", "mime_type": "image/png"}]
    values = await graph.ainvoke({"messages": [HumanMessage(content=blocks)]}, THREAD)
    assert values["title"] == "Eggs"
    prompt = namer.calls[0].texts[0]
    assert "How?" in prompt
    assert "Boil water." in prompt
    assert "secret" not in prompt
    assert "base64" not in prompt


async def test_where_the_person_wrote_nothing_the_answer_names_it() -> None:
    namer = scripted(says("", fail="crash"))
    graph = chain(scripted(says("A picture of an egg.")), TitleMiddleware(model=namer))
    blocks = [{"type": "image", "base64": "xx", "mime_type": "image/png"}]
    values = await graph.ainvoke({"messages": [HumanMessage(content=blocks)]}, THREAD)
    assert values["title"] == "A picture of an egg"


async def test_a_template_is_filled_and_may_hold_braces_in_what_it_quotes() -> None:
    namer = scripted(says("ok"))
    middleware = TitleMiddleware(model=namer, prompt_template="Name {user} / {assistant} in {max_words}")
    await say(chain(scripted(says("use {x}")), middleware), "what is {y}?")
    assert namer.calls[0].texts == ["Name what is {y}? / use {x} in 6"]


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


class Waits:
    """A sleep that never ends; whoever has to wait is late."""

    async def __call__(self, _: float) -> None:
        await asyncio.Event().wait()


LATE = says("never", delay=1.0)


async def test_a_late_title_is_made_up_for_beside_the_second_exchange() -> None:
    namer = scripted(LATE, says("Boiling an egg", usage=(7, 3)), sleep=Waits())
    model = scripted(says("Boil water first.", usage=(1, 1)), says("Ten minutes.", usage=(1, 1)))
    graph = chain(model, TitleMiddleware(model=namer, hold=0.01), TokenUsageMiddleware())
    assert (await say(graph, "How do I boil an egg, please?"))["title"] == "How do I boil an egg,"
    values = await say(graph, "How long?")
    assert values["title"] == "Boiling an egg"
    assert values["usage"]["total_tokens"] == 14
    assert namer.calls[0].texts == namer.calls[1].texts, "it is the first exchange that gives the name"
    assert texts(values)[-1] == "Ten minutes."
    await say(graph, "Thanks!")
    assert len(namer.calls) == 2


async def test_one_that_is_late_again_is_left_at_that() -> None:
    namer = scripted(LATE, sleep=Waits())
    model = scripted(says("Boil water first."), says("Ten minutes."))
    graph = chain(model, TitleMiddleware(model=namer, hold=0.01))
    for text in ("How?", "How long?", "Thanks!"):
        values = await say(graph, text)
    assert values["title"] == "How?"
    assert texts(values)[-1] == "Ten minutes."
    assert len(namer.calls) == 2


async def test_it_is_asked_for_once_in_an_exchange_with_tools() -> None:
    namer = scripted(LATE, LATE, says("Eggs"), sleep=Waits())
    model = scripted(says("Boil water first."), calls("look"), says("Ten minutes."))
    graph = chain(model, TitleMiddleware(model=namer, hold=0.01), tools=[look])
    await say(graph, "How?")
    assert (await say(graph, "How long?"))["title"] == "How?"
    assert len(namer.calls) == 2


async def test_beside_the_second_exchange_its_tokens_reach_no_stream() -> None:
    namer = scripted(LATE, says("Secret title"), sleep=Waits())
    graph = chain(
        scripted(says("Boil water."), says("Ten minutes.")), TitleMiddleware(model=namer, hold=0.01)
    )
    await say(graph, "How?")
    streamed = ""
    source = {"messages": [HumanMessage("How long?")]}
    async for chunk, _ in graph.astream(source, THREAD, stream_mode="messages"):
        streamed += chunk.text
    assert streamed == "Ten minutes."
    assert (await graph.aget_state(THREAD)).values["title"] == "Secret title"


async def test_a_title_that_a_person_gave_stays() -> None:
    namer = scripted(says("Eggs"))
    graph = chain(scripted(says("Boil water.")), TitleMiddleware(model=namer))
    await say(graph, "How?", title="Mine")
    assert (await say(graph, "How long?"))["title"] == "Mine"
    assert namer.calls == []


async def test_a_second_exchange_that_fails_fails_as_it_is() -> None:
    namer = scripted(LATE, LATE, sleep=Waits())
    model = scripted(says("Boil water first."), says("never", fail="crash"))
    graph = chain(model, TitleMiddleware(model=namer, hold=0.01))
    await say(graph, "How?")
    with pytest.raises(RuntimeError, match="unexpected failure"):
        await say(graph, "How long?")
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "title"] == []
