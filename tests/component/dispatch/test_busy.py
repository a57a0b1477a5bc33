"""What becomes of a message while a run is on: it waits, it ends the run, or it is refused."""

from __future__ import annotations

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import ChatKind
from bot.turn import Busy, TurnState
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed

FRAME = "a frame that is long enough to be shown at once"
INTERRUPTED = f"{FRAME}\n\n*(interrupted by a newer message)*"


async def works(at: Bench, text: str = "long") -> None:
    """Somebody asks for something that goes on until it is ended, and sees the first of it."""
    number = len(at.runtime.runs) + 1
    await at.adapter.hears(text)
    await at.until(lambda: f"run-{number}" in at.runtime.runs)
    at.runtime.runs[f"run-{number}"].say(FRAME)
    await at.until(lambda: FRAME in at.adapter.texts())


def asked(at: Bench, run: int) -> list[str]:
    """The texts that a run was asked with, without what the service adds."""
    return [
        without_envelopes(message["content"])
        for message in at.runtime.runs[f"run-{run}"].request.messages
        if "lc_source" not in message["additional_kwargs"]
    ]


def later(at: Bench) -> str:
    """What all runs but the first were asked with."""
    return " ".join(text for run in range(2, len(at.runtime.runs) + 1) for text in asked(at, run))


class TestInterrupt:
    async def test_a_new_message_ends_the_run_and_is_answered(self, at: Bench) -> None:
        at.busy = Busy.INTERRUPT
        async with at.running():
            await works(at)
            await at.adapter.hears("rather this")
            await at.until(lambda: at.runtime.runs["run-1"].cancelled, most=1.0)
            await at.until(lambda: "run-2" in at.runtime.runs)
            at.runtime.runs["run-2"].say("this")
            at.runtime.runs["run-2"].end()
            assert sorted(await closed(at, 2)) == [TurnState.CANCELLED, TurnState.DONE]
        assert at.adapter.texts() == [INTERRUPTED, "this"]

    async def test_several_in_a_row_lose_nothing(self, at: Bench) -> None:
        at.busy = Busy.INTERRUPT
        async with at.running():
            await works(at)
            for text in ("one", "two", "three"):
                await at.adapter.hears(text)
            await at.until(lambda: "three" in later(at))
            assert later(at).split() == ["one", "two", "three"]

    async def test_a_restart_between_the_message_and_the_end_ends_it_all_the_same(self, at: Bench) -> None:
        at.busy = Busy.INTERRUPT
        async with at.running():
            await works(at)
        # It is stored while nobody works the turns.
        at.runtime.script = answer_with("this")
        async with at.running(recover=False):
            await at.adapter.hears("rather this")
        async with at.running():
            await closed(at, 2)
        assert at.runtime.runs["run-1"].cancelled
        assert at.adapter.texts() == [INTERRUPTED, "this"]

    async def test_where_nothing_runs_nothing_is_ended(self, at: Bench) -> None:
        at.busy = Busy.INTERRUPT
        at.runtime.script = answer_with("ok")
        async with at.running():
            for _ in range(2):
                await at.adapter.hears("hi")
                await at.until(lambda: at.adapter.texts() and at.adapter.texts()[-1] == "ok")
                await at.rest(0.2)
            assert await closed(at, 2) == [TurnState.DONE] * 2

    async def test_a_command_ends_nothing(self, at: Bench) -> None:
        at.busy = Busy.INTERRUPT
        async with at.running():
            await works(at)
            await at.adapter.hears("/status")
            await at.until(lambda: len(at.adapter.texts()) > 1)
            assert not at.runtime.runs["run-1"].cancelled


class TestReject:
    async def test_a_message_is_refused_and_said_so(self, at: Bench) -> None:
        at.busy = Busy.REJECT
        async with at.running():
            await works(at)
            await at.adapter.hears("more")
            await at.until(lambda: len(at.adapter.texts()) > 1)
            assert at.adapter.texts()[-1].startswith("I'm still working on the previous message")
            at.runtime.runs["run-1"].end()
            await closed(at, 2)
            at.runtime.script = answer_with("ok")
            await at.adapter.hears("more")
            await at.until(lambda: at.adapter.texts()[-1] == "ok")
        assert len(at.runtime.runs) == 2

    async def test_another_conversation_is_not_meant(self, at: Bench) -> None:
        at.busy = Busy.REJECT
        async with at.running():
            await works(at)
            at.runtime.script = answer_with("ok")
            await at.adapter.hears("hi", chat="c2")
            await at.until(lambda: at.adapter.texts("c2") == ["ok"])


class TestChoosing:
    async def test_a_conversation_chooses_for_itself(self, at: Bench) -> None:
        async with at.running():
            said = await self._says(at, "/busy")
            assert said == "While I'm working, new messages wait in the queue (default for this chat)."
            said = await self._says(at, "/busy interrupt")
            assert said.endswith("interrupts the current answer (set for this conversation).")
            assert said.startswith("While I'm working, a new message ")
            assert said in await self._says(at, "/status")
            await works(at)
            await at.adapter.hears("rather this")
            await at.until(lambda: at.runtime.runs["run-1"].cancelled, most=1.0)
            at.runtime.script = answer_with("ok")
            await at.until(lambda: "run-2" in at.runtime.runs)
            await at.until(lambda: at.adapter.texts()[-1] == "ok")
            said = await self._says(at, "/busy default")
            assert said == "While I'm working, new messages wait in the queue (default for this chat)."

    @pytest.mark.parametrize("word", ["xyz", "intrupt", "REJECT"])
    async def test_words(self, at: Bench, word: str) -> None:
        async with at.running():
            said = await self._says(at, f"/busy {word}")
            if word == "REJECT":
                assert said.startswith("While I'm working, new messages are declined")
            else:
                assert said.startswith(f"`{word}` is not a busy mode. Choose one of `queue`,")
            assert ("Did you mean `interrupt`?" in said) is (word == "intrupt")

    async def _says(self, at: Bench, text: str) -> str:
        before = len(at.adapter.texts())
        await at.adapter.hears(text, kind=ChatKind.PRIVATE)
        await at.until(lambda: len(at.adapter.texts()) > before)
        await at.rest(0.2)
        return at.adapter.texts()[-1]


async def test_new_conversations_are_declined_while_too_many_wait(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running(connected=False):
        bus = at.bus
        assert bus is not None
        bus._waiting_limit = 3
        for chat in range(3):
            await at.adapter.hears("first", chat=f"c{chat}")
        await at.until(lambda: bus._chat is not None and bus._chat.waiting_count == 3)
        await at.adapter.hears("late", chat="c9")
        await at.adapter.hears("second", chat="c1")
        await at.adapter.hears("/whoami", chat="c8")
        at.connect()
        await at.until(lambda: all(at.adapter.texts(f"c{chat}") for chat in (0, 1, 2, 8, 9)))
        assert at.adapter.texts("c9")[0].startswith("Too many messages are waiting")
        assert [at.adapter.texts(f"c{chat}") for chat in range(3)] == [["ok"]] * 3
        await at.adapter.hears("again", chat="c9")
        await at.until(lambda: at.adapter.texts("c9")[1:] == ["ok"])
