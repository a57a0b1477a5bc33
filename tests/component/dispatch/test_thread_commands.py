"""`/threads`, `/resume` and `/title`: the threads of a conversation, found again by number."""

from __future__ import annotations

from typing import Any

import pytest

from bot.store.conversations import load_conversation
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed


async def says(at: Bench, text: str) -> str:
    """What is answered to that."""
    before = len(at.adapter.texts())
    await at.adapter.hears(text)
    await at.until(lambda: len(at.adapter.texts()) > before)
    await at.rest(0.2)
    return at.adapter.texts()[-1]


async def thread_now(at: Bench) -> str:
    view = await at.db.transact(load_conversation, 1)
    assert view is not None
    return view.thread_id


def asked(at: Bench) -> list[str]:
    """The threads of the runs, in their order."""
    return [run.request.thread_id for run in at.runtime.runs.values()]


async def test_a_thread_is_found_again_by_its_number(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        assert (await says(at, "/threads")).startswith("There are no agent threads here yet")
        await says(at, "first `question`")
        first = await thread_now(at)
        await says(at, "/new")
        await says(at, "second question")
        second = await thread_now(at)
        assert first != second
        listed = (await says(at, "/threads")).splitlines()
        assert listed[2].startswith("- 2. `second question`, 1970-01-")
        assert listed[2].endswith("UTC (current)")
        assert listed[3].startswith("- 1. `first 'question'`, 1970-01-")
        assert listed[3].endswith("UTC")
        told = await says(at, "/resume 1")
        assert told == "Back in agent thread 1: `first 'question'`. The next message will continue it."
        assert await thread_now(at) == first
        await says(at, "more")
        assert asked(at)[-1] == first
        assert (
            await says(at, "/resume 2")
            == "Back in agent thread 2: `second question`. The next message will continue it."
        )
        assert await thread_now(at) == second


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("/resume 7", "There is no agent thread 7 here. `/threads` lists them."),
        ("/resume 0", "**Agent threads in this conversation**"),
        ("/resume first", "**Agent threads in this conversation**"),
        ("/resume", "**Agent threads in this conversation**"),
        ("/resume ٣", "**Agent threads in this conversation**"),
        ("/resume 99999999999999999999", "**Agent threads in this conversation**"),
    ],
)
async def test_a_number_that_is_none_changes_nothing(at: Bench, words: str, told: str) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await says(at, "first")
        before = await thread_now(at)
        assert (await says(at, words)).startswith(told)
        assert await thread_now(at) == before


async def test_what_was_sent_before_is_answered_where_it_belongs(at: Bench) -> None:
    runs: list[ScriptedRun] = []
    at.runtime.script = answer_with("ok")
    async with at.running():
        await says(at, "first")
        first = await thread_now(at)
        await says(at, "/new")
        at.runtime.script = runs.append
        await at.adapter.hears("slow")
        await at.until(lambda: runs)
        second = await thread_now(at)
        told = await says(at, "/resume 1")
        assert told.endswith("Messages sent earlier will still be answered in the other thread.")
        at.runtime.script = answer_with("there")
        await at.adapter.hears("next")
        runs[0].say("here")
        runs[0].end()
        await at.until(lambda: at.adapter.texts()[-1] == "there")
        assert asked(at)[-2:] == [second, first]
        await closed(at)


async def test_a_conversation_is_named(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        assert (await says(at, "/title")).startswith("This conversation has no title")
        await says(at, "What is it?")
        assert await says(at, "/title") == "This conversation's title is `What is it?`."
        assert (
            await says(at, "/title Plans  for `June`") == "This conversation's title is `Plans for 'June'`."
        )
        await says(at, "more")
        view: Any = await at.db.transact(load_conversation, 1)
        assert view.title == "Plans for `June`"
        assert (
            await says(at, f"/title {'x' * 121}")
            == "Titles can be up to 120 characters long. Please choose a shorter one."
        )
