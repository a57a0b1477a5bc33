"""The agent's work in the reply while it grows, and gone from its final."""

from __future__ import annotations

from collections.abc import Callable

from bot.dispatch.reply.streaming import PROGRESS_AFTER
from bot.domain import OutboundMessage, ProgressItem, ProgressState, ReplyAddress
from bot.runtime.interface import TodosUpdated, ToolProgress
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench

SAID = "This takes a moment, I look into it."
PENDING, ACTIVE, DONE, _ = ProgressState


def plan(*states: ProgressState) -> TodosUpdated:
    return TodosUpdated(
        tuple(ProgressItem(f"todo:{i}", f"Step {i}", state) for i, state in enumerate(states))
    )


async def first_run(at: Bench) -> ScriptedRun:
    await at.adapter.hears("hi")
    await at.until(lambda: at.runtime.runs)
    return at.runtime.runs["run-1"]


async def test_a_quick_run_shows_no_work(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(plan(ACTIVE, PENDING))
        await at.rest(PROGRESS_AFTER - 2)
        run.say(SAID)
        run.end()
        await at.rest(2)
    assert [text for operation, _, text in at.adapter.calls if operation != "typing"] == [SAID]


async def test_work_that_lasts_is_shown_before_any_word(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(plan(ACTIVE, PENDING))
        await at.rest(PROGRESS_AFTER + 1)
        assert at.adapter.texts() == ["> ▸ Step 0  \n> ○ Step 1"]
        run.emit(plan(DONE, ACTIVE))
        run.emit(ToolProgress(ProgressItem("call", "read_file", ACTIVE)))
        await at.rest(2)
        assert at.adapter.texts() == ["> ✓ Step 0  \n> ▸ Step 1  \n> ▸ read\\_file"]
        run.say(SAID)
        await at.rest(2)
        assert at.adapter.texts() == [f"{SAID}\n\n> ✓ Step 0  \n> ▸ Step 1  \n> ▸ read\\_file"]
        run.end()
        await at.rest(3)
    assert at.adapter.texts() == [SAID]


async def test_a_draft_shows_the_work_and_the_final_does_not(at: Bench) -> None:
    at.adapter.drafts = True
    async with at.running():
        run = await first_run(at)
        run.emit(plan(ACTIVE, PENDING))
        await at.rest(PROGRESS_AFTER + 1)
        assert at.adapter.calls[-1] == ("draft", "c1", "> ▸ Step 0  \n> ○ Step 1")
        run.say(SAID)
        await at.rest(2)
        assert at.adapter.calls[-1] == ("draft", "c1", f"{SAID}\n\n> ▸ Step 0  \n> ○ Step 1")
        run.end()
        await at.rest(3)
    assert at.adapter.texts() == [SAID]


async def test_work_that_begins_late_is_shown_at_once(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.say(SAID)
        await at.rest(PROGRESS_AFTER + 1)
        assert at.adapter.texts() == [SAID]
        run.emit(ToolProgress(ProgressItem("call", "ls", ACTIVE)))
        await at.rest(2)
        assert at.adapter.texts() == [f"{SAID}\n\n> ▸ ls"]
        run.end()
        await at.rest(3)
    assert at.adapter.texts() == [SAID]


async def test_a_stop_leaves_no_list_behind(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.say(SAID)
        run.emit(plan(ACTIVE, PENDING))
        await at.rest(PROGRESS_AFTER + 1)
        assert "Step 0" in at.adapter.texts()[0]
        await at.adapter.hears("/stop")
        await at.rest(3)
    assert "Step" not in "".join(at.adapter.texts())
    assert SAID in at.adapter.texts()[0]


async def test_an_answer_that_fills_its_message_has_no_room_for_it(at: Bench) -> None:
    at.adapter.renderer = _Narrow()
    async with at.running():
        run = await first_run(at)
        run.say(SAID)
        run.emit(plan(ACTIVE))
        await at.rest(PROGRESS_AFTER + 1)
        assert at.adapter.texts() == [SAID]
        run.end()
        await at.rest(2)
    assert at.adapter.texts() == [SAID]


class Listing(RecordingAdapter):
    """A platform with a list of its own; `lists` is what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.lists: list[tuple[str, tuple[str, ...]]] = []
        self.possible = True

    def lists_in(self, address: ReplyAddress) -> bool:
        return self.possible

    async def send(self, message: OutboundMessage) -> str:
        self.lists.append((message.text, titles(message)))
        return await RecordingAdapter.send(self, message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        self.lists.append((message.text, titles(message)))
        await RecordingAdapter.edit(self, message, message_id)


def titles(message: OutboundMessage) -> tuple[str, ...]:
    return tuple(f"{item.title} {item.state.value}" for item in message.progress)


async def test_a_platform_with_a_list_gets_it_beside_the_text(at: Bench) -> None:
    at.adapter = adapter = Listing()
    async with at.running():
        run = await first_run(at)
        run.emit(plan(ACTIVE))
        await at.rest(PROGRESS_AFTER + 1)
        assert adapter.lists == [("", ("Step 0 active",))]
        run.emit(plan(DONE))
        await at.rest(2)
        assert adapter.lists[1:] == [("", ("Step 0 done",))]
        run.say(SAID)
        await at.rest(2)
        assert adapter.lists[2:] == [(SAID, ("Step 0 done",))]
        run.say(" Done.")
        run.end()
        await at.rest(3)
    assert adapter.lists[-1] == (f"{SAID} Done.", ("Step 0 done",))
    assert adapter.texts() == [f"{SAID} Done."]


async def test_a_list_that_is_not_to_be_had_any_more_is_text(at: Bench) -> None:
    at.adapter = adapter = Listing()
    async with at.running():
        run = await first_run(at)
        run.say(SAID)
        run.emit(plan(ACTIVE))
        await at.rest(PROGRESS_AFTER + 1)
        assert adapter.lists[-1] == (SAID, ("Step 0 active",))
        adapter.possible = False
        run.emit(plan(DONE))
        await at.rest(2)
        assert adapter.lists[-1] == (f"{SAID}\n\n> ✓ Step 0", ())
        run.end()
        await at.rest(3)
    assert adapter.lists[-1] == (SAID, ())


async def test_what_a_stop_cuts_off_has_failed(at: Bench) -> None:
    at.adapter = adapter = Listing()
    async with at.running():
        run = await first_run(at)
        run.emit(plan(DONE, ACTIVE, PENDING))
        await at.rest(PROGRESS_AFTER + 1)
        await at.adapter.hears("/stop")
        await at.rest(3)
    finals = [listed for text, listed in adapter.lists if text == "*(stopped)*"]
    assert finals == [("Step 0 done", "Step 1 failed", "Step 2 pending")]


class _Narrow:
    """A renderer with room for forty characters."""

    name = "narrow"

    def split(self, markdown: str) -> list[str]:
        return [markdown[at : at + 40] for at in range(0, len(markdown), 40)]

    def growing(self) -> _Narrow:
        return self

    def frame(self, markdown: str) -> str:
        return markdown

    def framing(self) -> Callable[[str], str]:
        return self.frame
