"""A text that the agent takes back leaves the chat, whatever follows it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bot.dispatch.reply.streaming import PROGRESS_AFTER
from bot.domain import ProgressItem, ProgressState
from bot.errors import DeliveryCategory, DeliveryError
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    MessageText,
    RunEnded,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
    ToolProgress,
)
from bot.store.read_models import list_turns
from bot.store.turns import load_turn
from bot.turn import TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Lines
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run

HALF = "I look into it right now, and what I see is that"
WORKS = ToolProgress(ProgressItem("call", "ls", ProgressState.ACTIVE))
GONE = (MessageText("m1", ""), WORKS)


async def broken_off(at: Bench, text: str = HALF, count: int = 1) -> ScriptedRun:
    """A run whose text stands in the chat, in so many messages."""
    run = await first_run(at)
    run.say(text)
    await at.until(lambda: len(at.adapter.texts()) == count)
    return run


async def test_the_message_is_emptied_and_takes_the_next_text(at: Bench) -> None:
    async with at.running():
        run = await broken_off(at)
        [message] = at.adapter.shown
        run.emit(*GONE)
        await at.until(lambda: at.adapter.texts() == ["…"])
        run.emit(TextDelta("m2", "Here "), TextDelta("m2", "it is."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["Here it is."]
    assert list(at.adapter.shown) == [message]


async def test_the_work_is_listed_below_the_empty_place(at: Bench) -> None:
    async with at.running():
        run = await broken_off(at)
        run.emit(*GONE)
        await at.rest(PROGRESS_AFTER + 2)
        assert at.adapter.texts() == ["…\n\n> ▸ ls"]
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done."]


async def test_a_text_that_nobody_saw_leaves_no_message(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(TextDelta("m1", "I"), *GONE)
        await at.rest(3.0)
        assert at.adapter.texts() == []
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        await closed(at)
    assert [call for call in at.adapter.calls if call[0] == "post"] == [("post", "c1", "Done.")]


async def test_an_empty_text_of_a_message_that_said_nothing_changes_nothing(at: Bench) -> None:
    async with at.running():
        run = await broken_off(at)
        run.emit(MessageText("m2", ""), WORKS)
        await at.rest(3.0)
        assert at.adapter.texts() == [HALF]
        run.end()
        await closed(at)
    assert at.adapter.texts() == [HALF]


async def test_only_that_text_goes(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(MessageText("m0", "First I read it."), TextDelta("m1", HALF))
        await at.until(lambda: HALF in "".join(at.adapter.texts()))
        run.emit(*GONE)
        await at.until(lambda: at.adapter.texts() == ["First I read it."])
        run.end()
        await closed(at)
    assert at.adapter.texts() == ["First I read it."]


async def test_of_several_messages_none_keeps_a_word(at: Bench) -> None:
    at.adapter = RecordingAdapter(renderer=Lines())
    async with at.running():
        run = await broken_off(at, f"{HALF}\nit goes on", count=2)
        run.emit(*GONE)
        await at.until(lambda: at.adapter.texts() == ["…", "…"])
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done."]


@dataclass(slots=True)
class KeepsAll(RecordingAdapter):
    """A platform where nothing can be deleted."""

    delete = None  # type: ignore[assignment]


async def test_where_nothing_can_be_deleted_what_is_left_is_emptied(at: Bench) -> None:
    at.adapter = KeepsAll(renderer=Lines())
    async with at.running():
        run = await broken_off(at, f"{HALF}\nit goes on", count=2)
        run.emit(MessageText("m1", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done.", "…"]


async def test_a_preview_is_emptied_too(at: Bench) -> None:
    at.adapter.drafts = True
    async with at.running():
        run = await first_run(at)
        run.say(HALF)
        await at.until(lambda: ("draft", "c1", HALF) in at.adapter.calls)
        run.emit(*GONE)
        await at.until(lambda: ("draft", "c1", "…") in at.adapter.calls)
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done."]


class TestWhatStaysInTheEnd:
    """Where no other text follows."""

    async def test_a_file_is_a_message_of_its_own(self, at: Bench) -> None:
        at.runtime.artifacts["/mnt/user-data/outputs/a.png"] = b"png"
        async with at.running():
            run = await broken_off(at)
            run.emit(*GONE, ArtifactsPresented(("/mnt/user-data/outputs/a.png",)), RunEnded("success"))
            assert await closed(at) == [TurnState.DONE]
            [turn] = await at.db.transact(list_turns, 1)
            parts = (await at.db.transact(load_turn, turn.id)).parts
        [shown] = at.adapter.shown.values()
        assert shown.filename == "a.png"
        assert at.adapter.files["a.png"] == b"png"
        assert [part.filename for part in parts] == ["a.png"]

    async def test_a_file_that_cannot_be_sent_leaves_its_line(self, at: Bench) -> None:
        async with at.running():
            run = await broken_off(at)
            run.emit(*GONE, ArtifactsPresented(("/mnt/user-data/outputs/gone.png",)), RunEnded("success"))
            assert await closed(at) == [TurnState.DONE]
        [text] = at.adapter.texts()
        assert "`gone.png` could not be sent" in text

    async def test_a_question_takes_its_place(self, at: Bench) -> None:
        async with at.running():
            run = await broken_off(at)
            run.emit(*GONE, RunInterrupted("i1", {"question": "Which one?"}), RunEnded("interrupted"))
            await closed(at)
        assert at.adapter.texts() == ["Which one?"]

    async def test_nothing_at_all_is_told(self, at: Bench) -> None:
        async with at.running():
            run = await broken_off(at)
            run.emit(*GONE, RunEnded("success"))
            assert await closed(at) == [TurnState.FAILED]
        [text] = at.adapter.texts()
        assert "without answering" in text
        assert HALF not in text

    async def test_the_state_is_asked_for_the_answer_first(self, at: Bench) -> None:
        async with at.running():
            run = await broken_off(at)
            at.runtime.answers[run.request.thread_id] = ThreadAnswer(("It is in the state.",))
            run.emit(*GONE, RunEnded("success"))
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["It is in the state."]

    async def test_a_stop_says_so_alone(self, at: Bench) -> None:
        async with at.running():
            run = await broken_off(at)
            run.emit(*GONE)
            await at.until(lambda: at.adapter.texts() == ["…"])
            await at.adapter.hears("/stop")
            await closed(at, 2)
        assert at.adapter.texts()[0] == "*(stopped)*"


@pytest.mark.parametrize("shown", [True, False])
async def test_after_a_kill_the_next_life_ends_it(at: Bench, shown: bool) -> None:
    async with at.running():
        run = await broken_off(at)
        run.emit(*GONE)
        if shown:
            await at.until(lambda: at.adapter.texts() == ["…"])
    async with at.running():
        await at.until(lambda: at.adapter.texts() == ["…"])
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["Done."]


async def test_a_failed_frame_costs_nothing(at: Bench) -> None:
    async with at.running():
        run = await broken_off(at)
        at.adapter.fail("edit", DeliveryError(DeliveryCategory.TRANSIENT, "x"))
        run.emit(*GONE)
        await at.until(lambda: at.adapter.texts() == ["…"])
        run.emit(MessageText("m2", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done."]


async def test_a_new_attempt_leaves_the_text_until_it_has_one(at: Bench) -> None:
    async with at.running():
        run = await broken_off(at)
        run.emit(*GONE, TextDelta("m2", HALF))
        await at.rest(3.0)
        run.emit(AttemptStarted(2))
        await at.rest(3.0)
        assert at.adapter.texts() == [HALF]
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("Done.",))
        run.emit(MessageText("m3", "Done."), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == ["Done."]
