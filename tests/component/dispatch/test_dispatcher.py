"""What a turn does from message to answer, with every way to be cut off."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest

from agent.shared.envelope import without_envelopes
from bot.access import Role
from bot.content import unsupported
from bot.domain import Attachment, AttachmentKind, ChatKind
from bot.errors import DeliveryCategory, DeliveryError, RateLimited, RuntimeRefused
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    MessageText,
    RunEnded,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
)
from bot.store.read_models import list_turns
from bot.store.turns import stop_turn
from bot.store.usage import list_counters
from bot.turn import Busy, TurnState
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.adapters import Slow, Whispering
from tests.component.dispatch.bench import Bench


async def closed(at: Bench, count: int = 1) -> list[TurnState]:
    """Wait until so many turns of the first conversation are closed; their states, oldest first."""
    states: list[TurnState] = []
    for _ in range(600):
        views = await at.db.transact(list_turns, 1)
        states = [view.state for view in reversed(views) if view.finished_at]
        if len(states) >= count:
            return states
        await at.rest(0.1)
    raise AssertionError(f"only {states}")


async def test_a_message_gets_exactly_one_answer(at: Bench) -> None:
    at.runtime.script = answer_with("Hello **you**")
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
        await at.rest()
    assert at.adapter.texts() == ["Hello **you**"]
    [run] = at.runtime.runs.values()
    assert [without_envelopes(message["content"]) for message in run.request.messages] == ["hi"]
    assert run.request.key.endswith(":1")
    told = run.request.configurable
    assert (told["user_id"], told["roles"], told["locale"]) == (
        "recording:7",
        ["owner", "admin", "member"],
        "en",
    )


async def test_text_streams_as_edits_of_one_message(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("tell")
        await at.until(lambda: at.runtime.runs)
        [run] = at.runtime.runs.values()
        said = ""
        for number in range(60):
            said += f"word{number} "
            run.say(f"word{number} ")
            await at.rest(0.1)
        run.end()
        await closed(at)
    assert at.adapter.texts() == [said]
    posts = [call for call in at.adapter.calls if call[0] == "post"]
    edits = [call for call in at.adapter.calls if call[0] == "edit"]
    assert len(posts) == 1
    assert 4 <= len(edits) <= 8
    frames = [text for _, _, text in [*posts, *edits]]
    assert all(later.startswith(earlier.rstrip()) for earlier, later in itertools.pairwise(frames))


async def test_typing_shows_while_nothing_else_does(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("slow")
        await at.until(lambda: ("typing", "c1", "") in at.adapter.calls, most=0.4)
        await at.rest(5.0)
        [run] = at.runtime.runs.values()
        run.say("done")
        run.end()
        await closed(at)
    assert [call[0] for call in at.adapter.calls].count("typing") == 2
    assert at.adapter.texts() == ["done"]


async def test_five_quick_messages_merge_and_lose_nothing(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("one")
        await at.until(lambda: at.runtime.runs)
        for word in ("two", "three", "four", "five"):
            await at.adapter.hears(word)
        first = at.runtime.runs["run-1"]
        first.say("first")
        first.end()
        await at.until(lambda: "run-2" in at.runtime.runs)
        second = at.runtime.runs["run-2"]
        second.say("rest")
        second.end()
        await closed(at, 2)
    assert at.adapter.texts() == ["first", "rest"]
    assert [without_envelopes(m["content"]) for m in second.request.messages] == [
        "two",
        "three",
        "four",
        "five",
    ]


async def test_a_group_message_carries_its_senders_name(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi", kind=ChatKind.GROUP)
        await closed(at)
    [run] = at.runtime.runs.values()
    assert run.request.messages[0]["content"] == (
        '<message from="recording:7" name="P7" role="member" time="Mon 12 Jan 1970 13:46">\nhi\n</message>'
    )
    [shown] = at.adapter.shown.values()
    assert shown.address.reply_to == "u1"


async def test_a_failing_run_says_what_failed(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        run.say("I began")
        run.emit(RunFailed("ProviderOverloaded", "The provider is overloaded."), RunEnded("error"))

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.FAILED]
    [text] = at.adapter.texts()
    assert text.startswith("I began")
    assert "The provider is overloaded." in text
    assert "/retry" in text


async def test_an_agent_that_is_gone_comes_with_the_chats_own_advice(at: Bench) -> None:
    gone = RunFailed("ProfileUnknown", 'There is no agent named "coder".')
    at.runtime.script = lambda run: run.emit(gone, RunEnded("error"))
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.FAILED]
    [text] = at.adapter.texts()
    assert 'There is no agent named "coder". Use `/agent` to choose another agent.' in text


async def test_a_run_without_words_is_read_from_the_state(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("from the state",))
        run.end()

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["from the state"]


async def test_a_run_that_says_nothing_at_all_is_a_failure(at: Bench) -> None:
    at.runtime.script = lambda run: run.end()
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.FAILED]
    assert "without answering" in at.adapter.texts()[0]


async def test_a_gap_is_filled_from_the_state(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("the whole answer",))
        run.emit(TextDelta("m1", "the wh"), EventsMissing(), TextDelta("m1", "answer"), RunEnded("success"))

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    assert at.adapter.texts() == ["the whole answer"]


async def test_a_new_attempt_replaces_what_was_shown(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        run = at.runtime.runs["run-1"]
        run.say("a first try that is long enough to be shown")
        await at.until(lambda: at.adapter.texts())
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("second try",))
        run.emit(AttemptStarted(2), TextDelta("m2", "second try"), MessageText("m2", "second try"))
        run.end()
        await closed(at)
    assert at.adapter.texts() == ["second try"]


async def test_an_interrupt_shows_its_question(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        run.emit(
            RunInterrupted("i1", {"question": "Which one?", "options": ["a", "b"]}), RunEnded("interrupted")
        )

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["Which one?\n- a\n- b"]


async def test_a_broken_stream_is_joined_again(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        for piece in ("one ", "two ", "three"):
            run.say(piece)
        run.end()

    at.runtime.script = script
    at.runtime.cut_after = 2
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    assert at.adapter.texts() == ["one two three"]
    assert len(at.runtime.runs) == 1


async def test_a_runtime_that_comes_back_in_time_loses_nothing(at: Bench) -> None:
    at.runtime.down = True
    at.runtime.script = answer_with("here again")
    async with at.running():
        await at.adapter.hears("hi")
        await at.rest(20.0)
        assert not at.adapter.texts()
        at.runtime.down = False
        await closed(at)
    assert at.adapter.texts() == ["here again"]


async def test_a_refused_token_is_the_admins_concern(at: Bench) -> None:
    def refuse(_run: ScriptedRun) -> None:
        raise RuntimeRefused(401, "The token is missing or wrong.")

    at.runtime.script = refuse
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.FAILED]
    assert "An admin must correct `runtime.api_key`" in at.adapter.texts()[0]


async def test_a_runtime_that_stays_away_is_told_to_the_chat(at: Bench) -> None:
    at.runtime.down = True
    async with at.running():
        await at.adapter.hears("hi")
        await at.rest(125.0, step=1.0)
        assert await closed(at) == [TurnState.FAILED]
    assert "is not responding" in at.adapter.texts()[0]


async def test_a_run_that_the_runtime_forgot_is_started_anew(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
    at.runtime.runs.clear()
    at.runtime.by_key.clear()
    at.runtime.script = answer_with("once more")
    async with at.running():
        await closed(at)
    assert at.adapter.texts() == ["once more"]
    [run] = at.runtime.runs.values()
    assert run.request.key.endswith(":2")


async def test_a_file_that_cannot_be_sent_leaves_a_line(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        run.emit(
            TextDelta("m1", "see file"),
            ArtifactsPresented(("/mnt/user-data/outputs/gone.png",)),
            RunEnded("success"),
        )

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("look")
        assert await closed(at) == [TurnState.DONE]
    assert "`gone.png` could not be sent" in at.adapter.texts()[1]


class TestUnknownOutcome:
    """A post whose fate is not known."""

    async def test_a_lost_response_is_repeated_once_and_marked(self, at: Bench) -> None:
        lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
        at.adapter.fail("post", lost, commit=True)
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["answer", "(possible duplicate)\n\nanswer"]
        [counter] = await at.db.transact(list_counters)
        assert (counter.name, counter.value) == ("possibly_repeated", 1)

    async def test_a_repeat_of_unknown_outcome_is_recorded_as_undelivered(self, at: Bench) -> None:
        for _ in range(2):
            lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
            at.adapter.fail("post", lost, commit=True)
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.FAILED]
        assert len(at.adapter.texts()) == 2
        assert {counter.name for counter in await at.db.transact(list_counters)} == {
            "possibly_repeated",
            "undelivered",
        }

    async def test_where_repeats_are_safe_nothing_is_marked(self, at: Bench) -> None:
        at.adapter.repeats_safely = True
        lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
        at.adapter.fail("post", lost, commit=True)
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["answer"]
        assert await at.db.transact(list_counters) == []

    @pytest.mark.parametrize(("command", "marked"), [("/usage", 1), ("/status", 0)])
    async def test_a_message_to_one_person_that_cannot_be_found_is_marked(
        self, at: Bench, command: str, marked: int
    ) -> None:
        adapter = at.adapter = Whispering()
        lost = DeliveryError(DeliveryCategory.TRANSIENT, "closed", unknown_outcome=True)
        adapter.fail("post", lost, commit=True)
        async with at.running():
            await adapter.hears(command, kind=ChatKind.GROUP)
            assert await closed(at) == [TurnState.DONE]
        [first, again] = [text for operation, _, text in adapter.calls if operation == "post"]
        assert again == ("(possible duplicate)\n\n" * marked) + first
        assert [counter.value for counter in await at.db.transact(list_counters)] == [1] * marked

    async def test_a_lost_first_frame_is_settled_by_the_final(self, at: Bench) -> None:
        lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
        at.adapter.fail("post", lost, commit=True)
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            run = at.runtime.runs["run-1"]
            run.say("a frame that is long enough to be shown at once")
            await at.rest(5.0)
            assert len(at.adapter.texts()) == 1
            run.say(" and the end")
            run.end()
            await closed(at)
        assert at.adapter.texts()[1].startswith("(possible duplicate)")
        assert at.adapter.texts()[1].endswith("and the end")

    async def test_an_edit_of_unknown_outcome_is_just_repeated(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            run = at.runtime.runs["run-1"]
            run.say("a frame that is long enough to be shown at once")
            await at.until(lambda: at.adapter.texts())
            lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
            at.adapter.fail("edit", lost, commit=True)
            run.say(", then the end")
            run.end()
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["a frame that is long enough to be shown at once, then the end"]


class TestFailuresOfDelivery:
    """What a platform refuses."""

    async def test_a_penalty_is_honoured_and_not_an_unknown_outcome(self, at: Bench) -> None:
        at.adapter.fail("post", RateLimited(30.0))
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.adapter.calls)
            await at.rest(25.0)
            assert len(at.adapter.calls) == 1
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["answer"]

    async def test_a_penalty_of_one_chat_delays_no_other(self, at: Bench) -> None:
        at.adapter.fail("post", RateLimited(5_000.0))
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi", chat="punished")
            await at.until(lambda: at.adapter.calls)
            await at.adapter.hears("hi", chat="other")
            await at.until(lambda: at.adapter.texts("other"), most=3.0)
        assert at.adapter.texts("punished") == []

    async def test_a_passing_failure_is_tried_again(self, at: Bench) -> None:
        for _ in range(3):
            at.adapter.fail("post", DeliveryError(DeliveryCategory.TRANSIENT, "502"))
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["answer"]

    async def test_a_refusal_for_good_is_recorded_and_counted(self, at: Bench) -> None:
        at.adapter.fail("post", DeliveryError(DeliveryCategory.PERMISSION, "blocked"))
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.FAILED]
        assert at.adapter.texts() == []
        [view] = await at.db.transact(list_turns, 1)
        assert view.error == "undelivered"
        assert [counter.name for counter in await at.db.transact(list_counters)] == ["undelivered"]

    async def test_a_message_that_was_deleted_is_posted_anew(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            run = at.runtime.runs["run-1"]
            run.say("a frame that is long enough to be shown at once")
            await at.until(lambda: at.adapter.texts())
            at.adapter.shown.clear()
            run.say(", then more")
            run.end()
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["a frame that is long enough to be shown at once, then more"]


class TestRestart:
    """The process ends at some point and another one goes on."""

    async def test_a_turn_in_mid_stream_is_edited_into_the_answer(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            run = at.runtime.runs["run-1"]
            run.say("a frame that is long enough to be shown at once")
            await at.until(lambda: at.adapter.texts())
        run.say(" and its end")
        run.end()
        async with at.running():
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["a frame that is long enough to be shown at once and its end"]
        assert len(at.runtime.runs) == 1

    async def test_nothing_partial_is_published_by_a_shutdown(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            at.runtime.runs["run-1"].say("short")
            await at.rest(0.3)
        assert at.adapter.texts() == []
        [view] = await at.db.transact(list_turns, 1)
        assert view.state is TurnState.RUNNING

    async def test_a_post_that_ends_under_a_shutdown_is_not_made_again(self, at: Bench) -> None:
        adapter = at.adapter = Slow()
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(adapter.posted.is_set)
            asyncio.get_running_loop().call_soon(adapter.free.set)
        async with at.running():
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["answer"]

    async def test_recovery_waits_until_the_account_is_connected(self, at: Bench) -> None:
        at.runtime.script = answer_with("answer")
        async with at.running(connected=False):
            await at.adapter.hears("hi")
            await at.rest(5.0)
            assert at.runtime.runs == {}
            assert at.channel is not None
            at.channel.ready.set()
            await closed(at)
        assert at.adapter.texts() == ["answer"]

    async def test_a_turn_that_waited_too_long_is_told_so(self, at: Bench) -> None:
        async with at.running(connected=False):
            await at.adapter.hears("hi")
        await at.clock.leap(13 * 3600)
        async with at.running():
            assert await closed(at) == [TurnState.EXPIRED]
        assert "has expired" in at.adapter.texts()[0]
        assert at.runtime.runs == {}

    async def test_a_stop_is_remembered(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            await at.db.transact(stop_turn, 1, None, at.clock.now())
        async with at.running():
            assert await closed(at) == [TurnState.CANCELLED]
        assert at.adapter.texts() == ["*(stopped)*"]
        assert at.runtime.runs["run-1"].cancelled

    async def test_a_shorter_second_attempt_takes_surplus_parts_back(self, at: Bench) -> None:
        at.adapter.renderer = _Halves()
        async with at.running():
            await at.adapter.hears("hi")
            await at.until(lambda: at.runtime.runs)
            run = at.runtime.runs["run-1"]
            run.say("a" * 40 + "b" * 40)
            await at.until(lambda: len(at.adapter.texts()) == 2)
            at.runtime.answers[run.request.thread_id] = ThreadAnswer(("short",))
            run.emit(AttemptStarted(2), TextDelta("m2", "short"))
            run.end()
            await closed(at)
        assert at.adapter.texts() == ["short"]


class _Halves:
    """Cuts at forty characters."""

    name = "halves"

    def split(self, markdown: str) -> list[str]:
        return [markdown[start : start + 40] for start in range(0, len(markdown), 40)]

    def frame(self, markdown: str) -> str:
        return markdown

    def framing(self) -> Callable[[str], str]:
        return self.frame

    def growing(self) -> _Halves:
        return self


class TestCommands:
    """Commands overtake work and need no model."""

    async def test_stop_ends_the_run_and_keeps_the_queue(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("long")
            await at.until(lambda: at.runtime.runs)
            at.runtime.runs["run-1"].say("a frame that is long enough to be shown at once")
            for n in range(5):
                await at.adapter.hears(f"later {n}")
            await at.adapter.hears("stop")
            await at.until(lambda: at.runtime.runs["run-1"].cancelled, most=1.0)
            await at.until(lambda: "run-2" in at.runtime.runs)
            at.runtime.runs["run-2"].say("the rest")
            at.runtime.runs["run-2"].end()
            states = await closed(at, 3)
        assert TurnState.CANCELLED in states
        assert any("the 5 waiting messages" in text for text in at.adapter.texts())
        assert any(text.endswith("*(stopped)*") for text in at.adapter.texts())
        assert "the rest" in at.adapter.texts()

    async def test_stop_with_a_runtime_that_does_not_answer_still_ends_the_turn(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("long")
            await at.until(lambda: at.runtime.runs)
            at.runtime.down = True
            await at.adapter.hears("/stop")
            await at.until(lambda: any("stopped" in text for text in at.adapter.texts()), most=5.0)

    async def test_stop_before_the_turn_has_begun_starts_no_run(self, at: Bench) -> None:
        """The turn is loaded, and waits for its account."""
        async with at.running(connected=False):
            await at.adapter.hears("long")
            await at.rest(0.5)
            assert at.dispatcher is not None
            assert at.channel is not None
            assert await at.dispatcher.stop(1)
            at.channel.ready.set()
            assert await closed(at) == [TurnState.CANCELLED]
        assert at.adapter.texts() == ["*(stopped)*"]
        assert at.runtime.runs == {}

    async def test_a_newer_message_before_the_turn_has_begun_interrupts_it(self, at: Bench) -> None:
        """The turn is loaded, and waits for its account."""
        at.busy = Busy.INTERRUPT
        at.runtime.script = answer_with("ok")
        async with at.running(connected=False):
            await at.adapter.hears("long")
            await at.rest(0.5)
            assert at.channel is not None
            await at.adapter.hears("rather this")
            at.channel.ready.set()
            assert sorted(await closed(at, 2)) == [TurnState.CANCELLED, TurnState.DONE]
        assert len(at.runtime.runs) == 1
        assert at.adapter.texts()[-1] == "ok"

    async def test_new_starts_a_fresh_thread_for_what_comes_after(self, at: Bench) -> None:
        at.runtime.script = answer_with("ok")
        async with at.running():
            await at.adapter.hears("one")
            await closed(at)
            await at.adapter.hears("/new")
            await at.adapter.hears("two")
            await closed(at, 3)
        threads = [run.request.thread_id for run in at.runtime.runs.values()]
        assert len(set(threads)) == 2
        assert (
            "The next message will start a new agent thread without the earlier messages."
            in at.adapter.texts()
        )

    async def test_retry_forks_before_the_turn_it_repeats(self, at: Bench) -> None:
        at.runtime.script = answer_with("answer")
        at.runtime.checkpoints["run-2"] = "cp-1"
        async with at.running():
            await at.adapter.hears("first")
            await closed(at)
            await at.adapter.hears("second")
            await closed(at, 2)
            await at.adapter.hears("/retry")
            await closed(at, 4)
        again = at.runtime.runs["run-3"].request
        assert again.checkpoint == "cp-1"
        assert [without_envelopes(m["content"]) for m in again.messages] == ["second"]
        assert again.thread_id == at.runtime.runs["run-2"].request.thread_id
        views = await at.db.transact(list_turns, 1)
        assert sum(view.replaced for view in views) == 1

    async def test_retry_of_the_first_turn_begins_a_thread(self, at: Bench) -> None:
        at.runtime.script = answer_with("answer")
        async with at.running():
            await at.adapter.hears("first")
            await closed(at)
            await at.adapter.hears("/retry")
            await closed(at, 3)
        one, two = (run.request for run in at.runtime.runs.values())
        assert one.thread_id != two.thread_id
        assert two.checkpoint == ""

    async def test_retry_after_new_leaves_the_old_thread_alone(self, at: Bench) -> None:
        at.runtime.script = answer_with("answer")
        async with at.running():
            for number, said in enumerate(("first", "/new", "/retry"), 1):
                await at.adapter.hears(said)
                await closed(at, number)
        assert len(at.runtime.runs) == 1
        assert "nothing to retry" in at.adapter.texts()[-1]

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("/retry", "nothing to retry"),
            ("/stop", "Nothing is running"),
            ("/hlep", "Did you mean `/help`"),
            ("/xyzzy", "There is no `/xyzzy` command. `/help`"),
            ("/help", "`/status`: Show the state of this conversation"),
            ("/help nonsense", "There is no `/nonsense` command"),
            ("/status", "Nothing is running."),
            ("/whoami", "recording:7"),
            ("/accounts", "**live** as @recorder"),
            ("stop", "Nothing is running"),
        ],
    )
    async def test_commands_answer_at_once(self, at: Bench, said: str, expected: str) -> None:
        async with at.running():
            await at.adapter.hears(said)
            await closed(at)
        [text] = at.adapter.texts()
        assert expected in text
        assert at.runtime.runs == {}

    async def test_the_agent_of_an_account_reaches_its_runs(self, at: Bench) -> None:
        at.runtime.script, at.agent = answer_with("ok"), "coder"
        async with at.running():
            await at.adapter.hears("hi")
            await closed(at)
        [run] = at.runtime.runs.values()
        assert run.request.configurable["agent_name"] == "coder"

    async def test_admin_commands_are_refused_for_others(self, at: Bench) -> None:
        at.role = Role.MEMBER
        async with at.running():
            await at.adapter.hears("/accounts")
            await closed(at)
        assert at.adapter.texts() == ["Only admins can use `/accounts`."]


class TestRefusals:
    """What is not taken is told in one line, and the conversation goes on."""

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"text": "", "quotations": (unsupported("paid_media"),)}, "(paid media)"),
            ({"text": "x" * 100_001}, "100,001 characters"),
            ({"text": "  "}, "message is empty"),
            (
                {"attachments": (Attachment(AttachmentKind.FILE, "big.bin", "r", 50_000_000),)},
                "`big.bin` is too large",
            ),
        ],
    )
    async def test_one_clear_line(self, at: Bench, more: dict[str, object], expected: str) -> None:
        at.runtime.script = answer_with("fine")
        text = str(more.pop("text", "hi"))
        async with at.running():
            await at.adapter.hears(text, **more)
            await closed(at)
            assert expected in at.adapter.texts()[0]
            await at.adapter.hears("go on")
            await closed(at, 2)
        assert at.adapter.texts()[1] == "fine"

    async def test_a_stranger_learns_which_line_to_add_once(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("hello", person="99", chat="p99")
            await at.until(lambda: at.adapter.texts("p99"))
            await at.adapter.hears("hello?", person="99", chat="p99")
            await at.rest(3.0)
            await at.adapter.hears("hello", person="99", kind=ChatKind.GROUP, chat="g")
            await at.rest(3.0)
        [text] = at.adapter.texts("p99")
        assert "access:\n  members:\n    - recording:99" in text
        assert at.adapter.texts("g") == []
        assert at.runtime.runs == {}

    async def test_a_full_queue_refuses_before_it_accepts(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("running")
            await at.until(lambda: at.runtime.runs)
            for n in range(21):
                await at.adapter.hears(f"m{n}")
            await at.until(
                lambda: any("This conversation's queue is full" in text for text in at.adapter.texts())
            )
            for run_id in ("run-1", "run-2"):
                await at.until(lambda run_id=run_id: run_id in at.runtime.runs)
                at.runtime.runs[run_id].say("x")
                at.runtime.runs[run_id].end()
            await closed(at, 3)
        assert len(at.runtime.runs["run-2"].request.messages) == 20
