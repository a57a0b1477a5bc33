"""A message that comes while a run is on joins it or waits for the next turn, one of the two in any case."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agent.shared.envelope import without_envelopes
from bot.dispatch.reply.streaming import AFTER_FAILURE
from bot.dispatch.run.request import RETRY_SECONDS
from bot.dispatch.run.session import STOP_GRACE
from bot.dispatch.stop_notices import NOTICE_SECONDS
from bot.domain import Attachment, AttachmentKind, ChatKind, InboundChange, Origin, OutboundMessage, Sender
from bot.errors import DeliveryCategory, DeliveryError
from bot.runtime.interface import AttemptStarted, EventsMissing, TextDelta, ThreadAnswer
from bot.store.read_models import list_turns
from bot.turn import Busy, TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_busy import FRAME, asked, later, works
from tests.component.dispatch.test_dispatcher import closed

MARK = "➕ *added while working:* `also this`"
FILE = Attachment(AttachmentKind.FILE, "in.txt", "ref", 4)
DONE = TurnState.DONE


@pytest.fixture
async def steering(at: Bench) -> AsyncIterator[Bench]:
    """A bench on which everybody's messages join."""
    at.busy = Busy.STEER
    yield at


def first(at: Bench) -> ScriptedRun:
    return at.runtime.runs["run-1"]


def offered(at: Bench) -> list[str]:
    """What the first run finds in its inbox."""
    return [
        without_envelopes(one.message["content"])
        for one in at.runtime.waiting_offers(first(at).request.thread_id)
    ]


async def writes(at: Bench, text: str, **more: object) -> str:
    """Somebody writes; the id of the message."""
    await at.adapter.hears(text, **more)
    return f"u{at.adapter._number}"


async def joins(at: Bench, text: str = "also this") -> str:
    """Somebody writes, and the run takes it in; the id of the message."""
    written = await writes(at, text)
    await at.until(lambda: text in offered(at))
    assert at.runtime.take(first(at)) == [text]
    return written


async def ends(at: Bench, text: str = "with this") -> None:
    first(at).emit(TextDelta("m2", text))
    first(at).end()


async def change(at: Bench, message: str, text: str | None) -> None:
    assert at.adapter.context is not None
    origin = Origin("rec", "recording", "c1", ChatKind.PRIVATE, message, Sender("7", "P7"))
    await at.adapter.context.inbox.accept([InboundChange(f"change-{message}-{text}", origin, text, 1e9)])


async def read(at: Bench) -> list[list[str]]:
    """The messages of each turn, oldest first."""
    views = await at.db.transact(list_turns, 1)
    return [[message.text for message in view.messages] for view in reversed(views)]


class TestJoining:
    async def test_one_answer_covers_both(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            assert first(at).request.configurable["steerable"] is True
            await joins(at)
            await at.until(lambda: MARK in at.adapter.texts()[0])
            await ends(at)
            assert await closed(at, 2) == [DONE, DONE]
            await at.rest()
        assert at.adapter.texts() == [f"{FRAME}\n\n{MARK}\n\nwith this"]
        assert len(at.runtime.runs) == 1
        assert await read(at) == [["long", "also this"], []]
        assert offered(at) == [], "the inbox is emptied"

    async def test_what_is_not_taken_in_is_answered_next(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.until(lambda: offered(at))
            at.runtime.script = answer_with("that")
            first(at).end()
            assert await closed(at, 2) == [DONE, DONE]
        assert at.adapter.texts() == [FRAME, "that"]
        assert asked(at, 2) == ["also this"]
        assert offered(at) == []

    async def test_some_of_several(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at, "one")
            await joins(at, "two")
            await writes(at, "three")
            await at.until(lambda: "three" in offered(at))
            at.runtime.script = answer_with("that")
            await ends(at)
            assert await closed(at, 2) == [DONE, DONE]
        assert await read(at) == [["long", "one", "two"], ["three"]]
        assert asked(at, 2) == ["three"]

    async def test_what_was_said_before_it_began(self, steering: Bench) -> None:
        """It came between the turn's beginning and that of its run."""
        at = steering
        at.runtime.down = True
        async with at.running():
            await writes(at, "long")
            await at.rest(1.0)
            await writes(at, "also this")
            at.runtime.down = False
            await at.until(lambda: "run-1" in at.runtime.runs and offered(at) == ["also this"])
            assert at.runtime.take(first(at)) == ["also this"]
            await ends(at)
            assert await closed(at, 2) == [DONE, DONE]
        assert at.adapter.texts() == [f"{MARK}\n\nwith this"]

    async def test_a_retry_asks_all_of_it_again(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            await ends(at)
            await closed(at, 2)
            at.runtime.script = answer_with("again")
            await writes(at, "/retry")
            await at.until(lambda: "run-2" in at.runtime.runs)
        assert asked(at, 2) == ["long", "also this"]
        assert "steerable" not in at.runtime.runs["run-2"].request.configurable

    async def test_an_album_joins_when_it_is_whole(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "also this", group_key="g1")
            await at.rest(0.3)
            assert offered(at) == []
            await at.until(lambda: offered(at) == ["also this"])
            first(at).end()


class TestWaiting:
    async def test_what_somebody_else_writes_and_all_after_it(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "theirs", person="8")
            await writes(at, "mine")
            await at.rest(1.0)
            assert offered(at) == []
            at.runtime.script = answer_with("that")
            first(at).end()
            await closed(at, 2)
        assert asked(at, 2) == ["theirs", "mine"]

    async def test_what_brings_files(self, steering: Bench) -> None:
        at = steering
        at.adapter.files["ref"] = b"data"
        async with at.running():
            await works(at)
            await writes(at, "look", attachments=(FILE,))
            await at.rest(1.0)
            assert offered(at) == []
            at.runtime.script = answer_with("that")
            first(at).end()
            await closed(at, 2)
        assert asked(at, 2) == ["look"]
        assert len(at.runtime.uploads) == 1

    async def test_what_is_for_a_fresh_thread(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "/new")
            await writes(at, "afresh")
            await at.rest(1.0)
            assert offered(at) == []
            at.runtime.script = answer_with("that")
            first(at).end()
            await at.until(lambda: "run-2" in at.runtime.runs)
        assert asked(at, 2) == ["afresh"]

    async def test_where_the_server_has_no_store(self, steering: Bench) -> None:
        at = steering
        at.runtime.inbox = None
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.rest(1.0)
            at.runtime.script = answer_with("that")
            first(at).end()
            assert await closed(at, 2) == [DONE, DONE]
        assert asked(at, 2) == ["also this"]

    async def test_with_another_policy_nothing_is_offered(self, at: Bench) -> None:
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.rest(1.0)
            assert offered(at) == []
            assert "steerable" not in first(at).request.configurable
            at.runtime.script = answer_with("that")
            first(at).end()
            await closed(at, 2)
        assert asked(at, 2) == ["also this"]


class TestBreaks:
    async def test_a_restart_before_it_is_offered(self, steering: Bench) -> None:
        at = steering
        at.runtime.inbox = None
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.rest(1.0)
        at.runtime.inbox = {}
        async with at.running():
            await at.until(lambda: offered(at) == ["also this"])
            at.runtime.take(first(at))
            await ends(at)
            assert await closed(at, 2) == [DONE, DONE]
        assert at.adapter.texts() == [f"{FRAME}\n\n{MARK}\n\nwith this"]
        assert len(at.runtime.runs) == 1

    async def test_a_restart_after_it_was_taken_in(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            await at.until(lambda: MARK in at.adapter.texts()[0])
        await ends(at)
        async with at.running():
            assert await closed(at, 2) == [DONE, DONE]
            await at.rest()
        assert at.adapter.texts() == [f"{FRAME}\n\n{MARK}\n\nwith this"]
        assert len(at.runtime.runs) == 1

    async def test_the_policy_changes_meanwhile(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
        at.busy = Busy.QUEUE
        await ends(at)
        async with at.running():
            assert await closed(at, 2) == [DONE, DONE]
        assert len(at.runtime.runs) == 1

    async def test_the_thread_alone_knows(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.until(lambda: offered(at))
            at.runtime.take(first(at), told=False)
            at.runtime.answers[first(at).request.thread_id] = ThreadAnswer(("with this",))
            first(at).emit(EventsMissing())
            first(at).end()
            assert await closed(at, 2) == [DONE, DONE]
        assert at.adapter.texts() == [f"{MARK}\n\nwith this"]
        assert len(at.runtime.runs) == 1

    async def test_what_was_told_and_lost_with_a_crash_is_answered_next(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            at.runtime.joins.clear()
            at.runtime.answers[first(at).request.thread_id] = ThreadAnswer(("without",))
            first(at).emit(AttemptStarted(2), TextDelta("m3", "without"))
            at.runtime.script = answer_with("that")
            first(at).end()
            assert await closed(at, 2) == [DONE, DONE]
        assert at.adapter.texts() == ["without", "that"]
        assert asked(at, 2) == ["also this"]

    async def test_a_thread_that_cannot_be_read_leaves_it_to_the_events(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            at.runtime.down_for_answers = 10**6
            await ends(at)
            assert await closed(at, 2) == [DONE, DONE]
        assert len(at.runtime.runs) == 1
        assert await read(at) == [["long", "also this"], []]

    async def test_the_runtime_is_away_for_a_while(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            at.runtime.down = True
            await writes(at, "also this")
            await at.rest(2.0)
            at.runtime.down = False
            await at.until(lambda: offered(at) == ["also this"])
            first(at).end()


class LateAnnouncements(RecordingAdapter):
    """Does not take the announcement of a stop while it is `late`."""

    late: bool = True

    async def send(self, message: OutboundMessage) -> str:
        if self.late and message.text.startswith("Stopped."):
            raise DeliveryError(DeliveryCategory.TRANSIENT, "try again")
        return await super().send(message)


class TestStopping:
    async def test_what_joined_is_stopped_with_it(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            await at.until(lambda: MARK in at.adapter.texts()[0])
            await writes(at, "/stop")
            await at.until(lambda: "Stopped." in at.adapter.texts())
            await closed(at, 3)
            await at.rest()
            assert at.adapter.texts()[0] == f"{FRAME}\n\n{MARK}\n\n*(stopped)*"
            assert len(at.runtime.runs) == 1
            await writes(at, "and now?")
            await at.until(lambda: len(at.runtime.runs) == 2)
        note = str(at.runtime.runs["run-2"].request.messages[0]["content"])
        assert f"> {FRAME}\n[stopped by" in note, "the bot did not say what joined"

    async def test_what_waits_is_answered_then(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.until(lambda: offered(at))
            at.runtime.script = answer_with("that")
            await writes(at, "/stop")
            await at.until(lambda: "that" in at.adapter.texts())
        assert asked(at, 2) == ["also this"]

    @pytest.mark.parametrize("recovers", [True, False])
    async def test_what_waits_is_announced_first(self, at: Bench, recovers: bool) -> None:
        """An announcement that can't be posted holds up the answer for a moment only."""
        at.busy = Busy.STEER
        at.adapter = adapter = LateAnnouncements()
        async with at.running():
            await works(at)
            await writes(at, "also this")
            await at.until(lambda: offered(at))
            at.runtime.script = answer_with("that")
            await writes(at, "/stop")
            await at.rest(1.0 if recovers else NOTICE_SECONDS - 1)
            assert len(at.runtime.runs) == 1
            adapter.late = not recovers
            await at.until(lambda: "that" in at.adapter.texts(), most=NOTICE_SECONDS)
            announced = "Stopped. I'll answer the waiting message next."
            assert at.adapter.texts()[1:] == [*([announced] if recovers else []), "that"]
            assert asked(at, 2) == ["also this"]

    async def test_a_runtime_that_says_nothing_holds_it_up_for_a_moment_only(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            at.runtime.down = True
            at.runtime.down_for_answers = 10**6
            await writes(at, "/stop")
            # The run's end, one retry of the inbox and the pace of an edit, not RUNTIME_PATIENCE.
            bound = STOP_GRACE + RETRY_SECONDS + AFTER_FAILURE
            await at.until(lambda: at.adapter.texts()[0].endswith("*(stopped)*"), most=bound)
            at.runtime.down = False


class TestChanges:
    async def test_an_edit_changes_what_is_offered(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            message = await writes(at, "allso this")
            await at.until(lambda: offered(at))
            await change(at, message, "also this")
            await at.until(lambda: offered(at) == ["also this"])
            first(at).end()

    async def test_what_is_deleted_is_offered_no_more(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            message = await writes(at, "oops")
            await at.until(lambda: offered(at))
            await change(at, message, None)
            await at.until(lambda: offered(at) == [])
            first(at).end()
            await closed(at, 2)
            await at.rest()
        assert at.adapter.texts() == [FRAME]
        assert len(at.runtime.runs) == 1

    @pytest.mark.parametrize("text", ["rather that", None])
    async def test_what_was_read_is_told_with_the_next_turn(self, steering: Bench, text: str | None) -> None:
        at = steering
        async with at.running():
            await works(at)
            message = await joins(at)
            await change(at, message, text)
            await ends(at)
            await closed(at, 2)
            at.runtime.script = answer_with("ok")
            await writes(at, "well?")
            await at.until(lambda: "run-2" in at.runtime.runs)
        assert len(at.runtime.runs) == 2
        assert ("rather that" if text else "deleted an earlier message") in later(at)
        assert later(at).endswith("well?")


class TestTelling:
    async def test_status_and_busy_say_it(self, steering: Bench) -> None:
        at = steering
        async with at.running():
            await works(at)
            await joins(at)
            await writes(at, "and that")
            await at.until(lambda: MARK in at.adapter.texts()[0])
            await writes(at, "/status")
            await at.until(lambda: len(at.adapter.texts()) > 1)
            said = at.adapter.texts()[-1]
            assert "Messages added to the current answer: 1" in said
            assert "Messages waiting: 1" in said
            assert (
                "While I'm working, a new message is added to the current work (default for this chat)."
                in said
            )
            first(at).end()

    async def test_a_conversation_chooses_for_itself(self, at: Bench) -> None:
        async with at.running():
            await writes(at, "/busy steer")
            chosen = (
                "While I'm working, a new message is added to the current work (set for this conversation)."
            )
            await at.until(lambda: at.adapter.texts() == [chosen])
            await writes(at, "long")
            await at.until(lambda: "run-1" in at.runtime.runs)
            assert first(at).request.configurable["steerable"] is True
            await writes(at, "also this")
            await at.until(lambda: offered(at) == ["also this"])
            first(at).end()
