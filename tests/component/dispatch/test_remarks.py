"""Text beside tool calls is shown with the progress, and is not part of the answer."""

from __future__ import annotations

import pytest

from bot.dispatch.reply.streaming import AFTER_CALL, PROGRESS_AFTER, REMARK_SECONDS, REMARK_SIZE
from bot.dispatch.run.transcript import MAX_REMARK
from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import (
    EventsMissing,
    MessageText,
    RemarkRecognized,
    RunEnded,
    RunEvent,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
    ToolProgress,
)
from bot.turn import TurnState
from tests.component.dispatch.adapters import SlowEdits
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_progress_shown import Listing
from tests.component.dispatch.test_turn_edge_cases import first_run

REMARK = "Let me check the clock of this machine."
FINAL = "It is five."
APPROVAL = {"type": "approval", "tool": "bash", "args": {"command": "ls"}, "options": ["Approve", "Reject"]}
ASKED = ("Which one?", "🔐 **Approval needed")


def recognized(text: str = REMARK, message: str = "m1") -> tuple[RunEvent, ...]:
    """What follows a streamed text that turned out to be a remark."""
    call = ToolProgress(ProgressItem(f"call-{message}", "bash", ProgressState.ACTIVE))
    return (RemarkRecognized(message), MessageText(message, text, remark=True), call)


def remark(text: str = REMARK, message: str = "m1") -> tuple[RunEvent, ...]:
    return (TextDelta(message, text), *recognized(text, message))


def final(text: str = FINAL) -> tuple[RunEvent, ...]:
    return (TextDelta("end", text), MessageText("end", text), RunEnded("success"))


async def test_a_quick_remark_is_never_shown_as_text(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(TextDelta("m1", REMARK))
        await at.rest(REMARK_SECONDS - 0.1)
        run.emit(*recognized())
        await at.rest(2.0)
        run.emit(*final())
        assert await closed(at) == [TurnState.DONE]
    assert [call for call in at.adapter.calls if call[0] != "typing"] == [("post", "c1", FINAL)]


async def test_a_shown_remark_moves_into_the_progress_at_once(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(TextDelta("m1", REMARK))
        await at.until(lambda: at.adapter.texts() == [REMARK], most=1.5)
        run.emit(*recognized())
        await at.until(lambda: at.adapter.texts() == [f"> ▸ {REMARK}  \n> ▸ bash"], most=3.0)
        run.emit(*final())
        await closed(at)
    assert at.adapter.texts() == [FINAL]


async def test_only_the_newest_is_shown_on_one_line(at: Bench) -> None:
    long = "Now the *other* one.\n\n" + "x" * MAX_REMARK
    async with at.running():
        run = await first_run(at)
        run.emit(*remark(), *remark(long, "m2"))
        await at.rest(PROGRESS_AFTER + 1)
        [text] = at.adapter.texts()
        first, *rest = text.split("  \n")
        assert first.startswith("> ▸ Now the \\*other\\* one. xxx") and first.endswith("x…")
        assert rest == ["> ▸ bash", "> ▸ bash"]
        assert REMARK not in text
        run.emit(*final())
        await closed(at)
    assert at.adapter.texts() == [FINAL]


async def test_an_answer_that_grows_has_the_steps_below_it_without_the_remark(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(*remark())
        await at.rest(PROGRESS_AFTER + 1)
        run.emit(TextDelta("end", FINAL))
        await at.rest(AFTER_CALL + 2)
        assert at.adapter.texts() == [f"{FINAL}\n\n> ▸ bash"]
        run.emit(MessageText("end", FINAL), RunEnded("success"))
        await closed(at)
    assert at.adapter.texts() == [FINAL]


@pytest.mark.parametrize("text", ["x" * (REMARK_SIZE + 1), f"{FINAL}\n\nIt has"])
async def test_a_text_that_is_no_remark_by_its_size_is_shown_soon(at: Bench, text: str) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(*remark())
        await at.rest(1.0)
        run.emit(TextDelta("m2", text))
        await at.until(at.adapter.texts, most=0.5)
        assert at.adapter.texts() == [text]


async def test_a_text_whose_time_is_over_during_a_slow_frame_is_shown(at: Bench) -> None:
    """No more text comes, so nothing else would show it before the run ends."""
    at.adapter = adapter = SlowEdits()
    async with at.running():
        run = await first_run(at)
        run.emit(*remark())
        await at.rest(PROGRESS_AFTER + 1)
        adapter.seconds = AFTER_CALL + 1
        run.emit(TextDelta("end", FINAL), ToolProgress(ProgressItem("call-m1", "bash", ProgressState.DONE)))
        await at.rest(AFTER_CALL)
        assert not any(FINAL in text for text in adapter.texts())
        await at.until(lambda: adapter.texts()[0].startswith(FINAL), most=2 * adapter.seconds + 2)
        run.emit(MessageText("end", FINAL), RunEnded("success"))
        await closed(at)
    assert adapter.texts() == [FINAL]


async def test_a_platform_with_a_list_gets_it_there(at: Bench) -> None:
    at.adapter = adapter = Listing()
    async with at.running():
        run = await first_run(at)
        run.emit(*remark())
        await at.rest(PROGRESS_AFTER + 1)
        assert adapter.lists == [("", (f"{REMARK} active", "bash active"))]
        run.emit(*final())
        await closed(at)
    assert adapter.lists[-1] == (FINAL, (f"{REMARK} done", "bash done"))


class TestWithoutAnAnswer:
    """The remark is better than nothing."""

    async def test_it_is_the_answer_of_a_run_that_says_nothing_else(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark("First.", "m0"), *remark(), RunEnded("success"))
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == [REMARK]

    async def test_a_failure_stands_below_it(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark(), RunFailed("Broken", "The disk is full."), RunEnded("error"))
            assert await closed(at) == [TurnState.FAILED]
        [text] = at.adapter.texts()
        assert text.startswith(REMARK) and "The disk is full." in text

    async def test_a_stop_keeps_it(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark())
            await at.rest(1.0)
            await at.adapter.hears("/stop")
            await closed(at, 2)
        assert f"{REMARK}\n\n*(stopped)*" in at.adapter.texts()

    async def test_a_failure_below_an_answer_has_none(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark(), MessageText("m2", FINAL), RunFailed("Broken", "No."), RunEnded("error"))
            await closed(at)
        [text] = at.adapter.texts()
        assert text.startswith(FINAL) and REMARK not in text


LONG = "Ann sold most: 42 of 97 orders, 12 more than in October. Ben sold 30, and Chloé 25, as before."


def presented(text: str = LONG, message: str = "p1") -> tuple[RunEvent, ...]:
    """A text beside a call of present_files."""
    told = MessageText(message, text, remark=True, presents=True)
    return (TextDelta(message, text), RemarkRecognized(message), told)


class TestBesideSomethingPresented:
    """An answer that stands beside present_files or write_todos is not lost."""

    @pytest.mark.parametrize(
        ("events", "answer"),
        [
            ((*presented(), *final("Done.")), f"{LONG}\n\nDone."),
            ((*remark(), *presented(), *final("Done.")), f"{LONG}\n\nDone."),
            ((*presented(FINAL), *presented("", "p2"), *final("Done.")), f"{FINAL}\n\nDone."),
            (
                (
                    *presented("Old " + LONG, "p0"),
                    *presented(),
                    *presented("Here.", "p2"),
                    *final("Done."),
                ),
                f"{LONG}\n\nHere.\n\nDone.",
            ),
            ((*presented(), RunEnded("success")), LONG),
        ],
    )
    async def test_it_stays_above_a_closing_phrase(
        self, at: Bench, events: tuple[RunEvent, ...], answer: str
    ) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*events)
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == [answer]

    @pytest.mark.parametrize(
        "events",
        [
            (*presented("I plan this first."), *remark(), *final(FINAL)),
            (*presented("I plan this first."), MessageText("m1", "", remark=True), *final(FINAL)),
            (*presented("I attach the file."), *final(LONG)),
        ],
    )
    async def test_it_goes_before_other_work_and_a_whole_answer(
        self, at: Bench, events: tuple[RunEvent, ...]
    ) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*events)
            await closed(at)
        assert at.adapter.texts() in ([FINAL], [LONG])


class TestAboveAQuestion:
    """What people need in order to decide stays."""

    async def test_beside_the_call_that_waits_for_approval(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark("First.", "m0"), *remark())
            run.emit(RunInterrupted("i1", APPROVAL), RunEnded("interrupted"))
            await at.until(lambda: "Approval needed" in "".join(at.adapter.texts()))
        [text] = at.adapter.texts()
        assert text.startswith(f"{REMARK}\n\n")
        assert "First." not in text

    @pytest.mark.parametrize("value", [APPROVAL, {"question": "Which one?"}], ids=["approval", "question"])
    async def test_an_older_remark_does_not(self, at: Bench, value: dict[str, object]) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(*remark(), MessageText("m2", "", remark="question" not in value))
            run.emit(RunInterrupted("i1", value), RunEnded("interrupted"))
            await at.until(lambda: any(word in "".join(at.adapter.texts()) for word in ASKED))
        [text] = at.adapter.texts()
        assert text.startswith(ASKED)

    async def test_an_older_remark_does_not_return_when_the_thread_is_read(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            interrupt = RunInterrupted("i1", {"question": "Which one?"})
            at.runtime.answers[run.request.thread_id] = ThreadAnswer((), interrupt=interrupt)
            run.emit(*remark(), EventsMissing(), RunEnded("interrupted"))
            await at.until(lambda: "Which one?" in "".join(at.adapter.texts()))
        assert at.adapter.texts()[0].startswith("Which one?")

    async def test_after_a_restart_it_is_read_from_the_thread(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            interrupt = RunInterrupted("i1", APPROVAL)
            at.runtime.answers[run.request.thread_id] = ThreadAnswer((), interrupt=interrupt, remark=REMARK)
            run.emit(EventsMissing(), RunEnded("interrupted"))
            await at.until(lambda: "Approval needed" in "".join(at.adapter.texts()))
        assert at.adapter.texts()[0].startswith(f"{REMARK}\n\n")


async def test_a_text_whose_calls_were_dropped_is_the_answer(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(TextDelta("m1", FINAL), RemarkRecognized("m1"), MessageText("m1", FINAL, remark=True))
        run.emit(MessageText("m1", FINAL), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == [FINAL]


async def test_where_events_are_missing_the_state_says_what_is_the_answer(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(TextDelta("m1", REMARK))
        await at.until(lambda: at.adapter.texts() == [REMARK])
        at.runtime.answers[run.request.thread_id] = ThreadAnswer((FINAL,))
        run.emit(EventsMissing(), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == [FINAL]
