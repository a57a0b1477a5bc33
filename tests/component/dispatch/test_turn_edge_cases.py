"""The edges of a turn: previews, quiet accounts, calls that fail while it grows, work that cannot go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent.shared.aio import shielded, wait_first
from agent.shared.envelope import without_envelopes
from bot.clock import Clock
from bot.domain import OutboundMessage
from bot.errors import DeliveryCategory, DeliveryError, RateLimited, StoreError
from bot.runtime.interface import AttemptStarted, RunEnded, RunInterrupted, ThreadAnswer, TokenUsage
from bot.store.admission_types import Accepted
from bot.store.conversations import list_conversations, load_conversation
from bot.store.usage import list_counters
from bot.turn import TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed

LONG = "a frame that is long enough to be shown at once"


class Quiet(RecordingAdapter):
    """Shows nothing before the final."""

    def frames_in(self, _address: object) -> bool:
        return False


async def first_run(at: Bench) -> ScriptedRun:
    await at.adapter.hears("hi")
    await at.until(lambda: at.runtime.runs)
    return at.runtime.runs["run-1"]


async def test_a_runtime_that_dies_before_the_state_is_read_costs_nothing(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("the whole answer",))
        run.emit(AttemptStarted(2))
        run.end()
        at.runtime.down_for_answers = 3

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["the whole answer"]


async def test_an_account_can_be_told_to_show_no_frames(at: Bench) -> None:
    at.adapter = Quiet()
    async with at.running():
        run = await first_run(at)
        run.say(LONG)
        await at.rest(4.0)
        assert at.adapter.texts() == []
        run.end()
        await closed(at)
    assert at.adapter.texts() == [LONG]


async def test_previews_pass_and_the_final_is_a_fresh_post(at: Bench) -> None:
    at.adapter.drafts = True
    async with at.running():
        run = await first_run(at)
        for _ in range(3):
            run.say(LONG + " ")
            await at.rest(1.5)
        run.end()
        await closed(at)
    drafts = [text for operation, _, text in at.adapter.calls if operation == "draft"]
    assert len(drafts) >= 2
    assert [call[0] for call in at.adapter.calls if call[0] != "typing"][-1] == "post"
    assert at.adapter.texts() == [(LONG + " ") * 3]


@pytest.mark.parametrize("error", [RateLimited(2.0), DeliveryError(DeliveryCategory.TRANSIENT, "x")])
@pytest.mark.parametrize("operation", ["draft", "post", "edit", "typing"])
async def test_what_fails_while_a_reply_grows_never_costs_the_answer(
    at: Bench, operation: str, error: DeliveryError
) -> None:
    at.adapter.drafts = operation == "draft"
    at.adapter.fail(operation, error)
    async with at.running():
        run = await first_run(at)
        await at.rest(0.5)
        run.say(LONG)
        await at.rest(2.5)
        run.say(" and more")
        await at.rest(4.0)
        run.say(" to the end")
        run.end()
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == [f"{LONG} and more to the end"]
    assert not at.adapter.faults
    assert await at.db.transact(list_counters) == []


async def test_a_frame_of_unknown_fate_is_repeated_where_that_is_safe(at: Bench) -> None:
    at.adapter.repeats_safely = True
    lost = DeliveryError(DeliveryCategory.UNKNOWN, "closed", unknown_outcome=True)
    at.adapter.fail("post", lost, commit=True)
    async with at.running():
        run = await first_run(at)
        run.say(LONG)
        await at.rest(6.0)
        assert at.adapter.texts() == [LONG]
        run.say(", the end")
        run.end()
        await closed(at)
    assert at.adapter.texts() == [f"{LONG}, the end"]


async def test_a_turn_of_an_account_that_is_gone_waits_for_it(at: Bench) -> None:
    at.runtime.script = answer_with("back")
    async with at.running():
        channel, at.channel = at.channel, None
        await at.adapter.hears("hi")
        await at.adapter.hears("/status")
        await at.rest(1.0)
        assert at.runtime.runs == {}
        at.channel = channel
    async with at.running():
        await closed(at, 2)
    assert "back" in at.adapter.texts()


async def test_a_bug_in_the_service_is_told_instead_of_blocking_the_chat(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_arguments: object, **_named: object) -> None:
        raise StoreError("a bug")

    async with at.running():
        monkeypatch.setattr("bot.dispatch.dispatcher.Dispatcher._run_turn", broken)
        await at.adapter.hears("hi")
        await at.rest(80.0, step=0.5)
        assert await closed(at) == [TurnState.FAILED]
        monkeypatch.undo()
        at.runtime.script = answer_with("well again")
        await at.adapter.hears("hi")
        await closed(at, 2)
    assert "went wrong in the service" in at.adapter.texts()[0]
    assert at.adapter.texts()[1] == "well again"


async def test_a_bug_in_a_command_is_told_too(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_arguments: object) -> None:
        raise KeyError("a bug")

    async with at.running():
        monkeypatch.setattr("bot.dispatch.dispatcher.Dispatcher._run_command", broken)
        await at.adapter.hears("/status")
        await at.rest(80.0, step=0.5)
        assert await closed(at) == [TurnState.FAILED]
    assert "went wrong in the service" in at.adapter.texts()[0]


async def test_a_command_that_the_store_refuses_says_so(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run = type(at.db).transact

    async def refuses(db: Any, work: Any, *arguments: Any, **named: Any) -> Any:
        if work is load_conversation:
            raise StoreError("disk full")
        return await run(db, work, *arguments, **named)

    async with at.running():
        monkeypatch.setattr(type(at.db), "transact", refuses)
        await at.adapter.hears("/status")
        await closed(at)
    assert at.adapter.texts() == [
        "`/status` failed: disk full\n\nTry again later. If it keeps failing, contact an admin."
    ]


async def test_an_album_waits_for_its_parts(at: Bench) -> None:
    at.runtime.script = answer_with("nice album")
    async with at.running():
        await at.adapter.hears("one", group_key="album")
        await at.rest(0.4)
        await at.adapter.hears("two", group_key="album")
        await closed(at)
    [run] = at.runtime.runs.values()
    assert [without_envelopes(message["content"]) for message in run.request.messages] == ["one", "two"]


async def test_retry_while_busy_waits_behind_it_and_outlives_a_restart(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        for _ in range(2):
            await at.adapter.hears("/retry")
        await at.until(lambda: len(at.adapter.texts()) == 2)
        await at.adapter.hears("and later?")
    async with at.running():
        run.say("one")
        run.end()
        await at.until(lambda: len(at.runtime.runs) == 2)
        again = [*at.runtime.runs.values()][-1]
        again.say("two")
        again.end()
        await at.until(lambda: len(at.runtime.runs) == 3)
        last = [*at.runtime.runs.values()][-1]
        last.say("three")
        last.end()
        await closed(at, 5)
    assert at.adapter.texts()[:2] == ["I'm still working. I'll retry this as soon as I've finished."] * 2
    assert at.adapter.texts()[2:] == ["one", "two", "three"]
    first = run.request.messages
    assert [one["content"] for one in again.request.messages] == [one["content"] for one in first]
    assert [without_envelopes(one["content"]) for one in last.request.messages] == ["and later?"]


async def test_a_retry_that_waits_ends_where_the_thread_is_left(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        await at.adapter.hears("/retry")
        await at.until(lambda: len(at.adapter.texts()) == 1)
        await at.adapter.hears("/new")
        await at.until(lambda: len(at.adapter.texts()) == 2)
        run.say("one")
        run.end()
        await closed(at, 4)
    assert at.adapter.texts()[2:] == ["one", "There is nothing to retry here yet."]
    assert len(at.runtime.runs) == 1


async def test_retry_of_a_thread_that_is_gone(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.say("done")
        run.end()
        await closed(at, 1)
        at.runtime.runs.clear()
        await at.adapter.hears("/retry")
        await closed(at, 2)
    assert "its agent thread no longer exists" in at.adapter.texts()[1]


async def test_plan_mode_goes_with_the_next_run(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        assert "is_plan_mode" not in run.request.configurable
        await at.adapter.hears("/plan ON")
        await at.until(lambda: len(at.adapter.texts()) == 1)
        run.end("error")
        await closed(at, 2)
        at.runtime.script = answer_with("done")
        await at.adapter.hears("and now?")
        await closed(at, 3)
        last = list(at.runtime.runs.values())[-1]
        assert last.request.configurable["is_plan_mode"] is True
        for count, command in enumerate(("/plan", "/plan sideways", "/status", "/plan off", "/plan"), 4):
            await at.adapter.hears(command)
            await closed(at, count)
        await at.adapter.hears("bye")
        await closed(at, 9)
        last = list(at.runtime.runs.values())[-1]
        assert "is_plan_mode" not in last.request.configurable
    texts = at.adapter.texts()
    assert texts[0] == "Plan mode will be on once the current answer is finished."
    assert sum(text.startswith("Plan mode: on.") for text in texts) == 2
    assert any("Plan mode: on." in text and "Nothing is running" in text for text in texts)
    assert any(text.startswith("Plan mode") for text in texts)
    assert any(text.startswith("Plan mode: off.") for text in texts)


async def test_status_tells_the_tokens_of_the_thread(at: Bench) -> None:
    at.runtime.script = answer_with("done")
    async with at.running():
        await at.adapter.hears("hello")
        await closed(at, 1)
        [run] = at.runtime.runs.values()
        at.runtime.used[run.request.thread_id] = TokenUsage(12_000, 345, 12_345)
        await at.adapter.hears("/status")
        await closed(at, 2)
        at.runtime.down = True
        await at.adapter.hears("/status")
        await closed(at, 3)
    assert "Tokens in this agent thread: 12,345 (12,000 in, 345 out)" in at.adapter.texts()[1]
    assert "Tokens" not in at.adapter.texts()[2]


async def test_the_page_hears_of_every_accepted_turn(at: Bench) -> None:
    heard: list[Accepted] = []
    at.runtime.script = answer_with("ok")
    async with at.running():
        assert at.adapter.context is not None
        inbox = at.adapter.context.inbox
        inbox._bus.watch_accepted(heard.append)  # type: ignore[attr-defined]
        await at.adapter.hears("hi")
        await at.adapter.hears("/help")
        await closed(at, 2)
        await inbox.accept([], cursor="77")
        assert await inbox.cursor() == "77"
        await inbox.accept([])
        await inbox.migrate_chat("c1", "c2")
    assert [turn.kind for turn in heard] == ["chat", "command"]
    [view] = await at.db.transact(list_conversations, "rec")
    assert view.key.chat == "c2"


class TestWaiting:
    """The two small helpers of waiting."""

    async def test_an_event_or_the_time(self, clock: ManualClock) -> None:
        event = asyncio.Event()
        task = asyncio.create_task(wait_first(event, clock.sleep, 5.0))
        await clock.advance(6.0)
        assert await task is False
        task = asyncio.create_task(wait_first(event, clock.sleep, 5.0))
        await clock.run_ready()
        event.set()
        assert await task is True
        assert await wait_first(event, clock.sleep, 5.0) is True
        assert await wait_first(asyncio.Event(), clock.sleep, 0.0) is False

    async def test_a_call_on_its_way_ends_before_the_cancellation(self, clock: Clock) -> None:
        gate, done = asyncio.Event(), []

        async def call() -> None:
            await gate.wait()
            done.append(True)

        task = asyncio.create_task(shielded(call()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [True]

    async def test_a_call_that_never_ends_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("agent.shared.aio.LAST_CALL_SECONDS", 0.01)
        task = asyncio.create_task(shielded(asyncio.sleep(60)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


class Asking(RecordingAdapter):
    """Has buttons."""

    most_choices = 3

    async def send(self, message: OutboundMessage) -> str:
        self.asked = message.choices
        return await RecordingAdapter.send(self, message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        self.asked = message.choices
        await RecordingAdapter.edit(self, message, message_id)


def asks(*options: str) -> dict[str, object]:
    return {"question": "Which one?", "options": list(options)}


async def ask(at: Bench, value: object, *said: str) -> str:
    def script(run: ScriptedRun) -> None:
        for text in said:
            run.say(text)
        run.emit(RunInterrupted("i1", value), RunEnded("interrupted"))

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    [text] = at.adapter.texts()
    return text


async def test_choices_are_buttons_where_the_platform_has_them(at: Bench) -> None:
    adapter = at.adapter = Asking()
    assert await ask(at, asks("a", "b", "a", " ")) == "Which one?"
    assert adapter.asked == ("a", "b")


async def test_choices_follow_what_was_said(at: Bench) -> None:
    adapter = at.adapter = Asking()
    assert await ask(at, asks("a", "b"), "I found two.") == "I found two.\n\nWhich one?"
    assert adapter.asked == ("a", "b")


@pytest.mark.parametrize("options", [("a", "b", "c", "d"), ("x" * 61, "b")])
async def test_too_many_or_too_long_choices_are_a_list(at: Bench, options: tuple[str, ...]) -> None:
    adapter = at.adapter = Asking()
    assert await ask(at, asks(*options)) == "\n".join(["Which one?", *(f"- {option}" for option in options)])
    assert adapter.asked == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [("Really?", "Really?"), ({"message": "Go?"}, "Go?"), ({"question": "Q", "options": "ab"}, "Q")],
)
async def test_questions_of_other_shapes(at: Bench, value: object, text: str) -> None:
    assert await ask(at, value) == text
