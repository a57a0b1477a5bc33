"""A conversation takes the title of its thread, unless a person gave it one."""

from __future__ import annotations

import pytest

from bot.runtime.interface import MessageText, RunEnded, ThreadTitled
from bot.store.conversations import load_conversation, set_title
from bot.turn import TurnState
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run


async def titled(at: Bench, given: str, *, by_person: str = "") -> tuple[str, str]:
    """The title before and after a run that titles its thread."""
    async with at.running():
        run = await first_run(at)
        if by_person:
            await at.db.transact(set_title, 1, by_person)
        before = await at.db.transact(load_conversation, 1)
        run.emit(ThreadTitled(given), MessageText("m1", "Fine."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
        after = await at.db.transact(load_conversation, 1)
    assert before is not None
    assert after is not None
    return before.title, after.title


async def test_the_first_words_give_way(at: Bench) -> None:
    before, after = await titled(at, "Monthly revenue")
    assert before
    assert after == "Monthly revenue"


async def test_a_persons_title_stays(at: Bench) -> None:
    assert await titled(at, "Monthly revenue", by_person="Mine") == ("Mine", "Mine")


@pytest.mark.parametrize("words", [1, 2])
async def test_first_words_of_the_thread_change_nothing(at: Bench, words: int) -> None:
    async with at.running():
        run = await first_run(at)
        view = await at.db.transact(load_conversation, 1)
        assert view is not None
        first = view.title
        short = first[: max(1, len(first) // words)]
        run.emit(ThreadTitled(short), MessageText("m1", "Fine."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
        view = await at.db.transact(load_conversation, 1)
    assert view is not None
    assert view.title == first
