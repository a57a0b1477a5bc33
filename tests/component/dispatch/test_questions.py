"""A question of the agent stays open until somebody answers it, by a click or in words."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.read_models import list_turns
from bot.turn import TurnState
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench, authored


def script(run: ScriptedRun) -> None:
    """Ask on the first run; say what was answered on the next."""
    if run.request.answers:
        run.say(f"You chose {authored(run.request.messages[-1]['content'])}.")
        run.end()
    else:
        question = {"question": "Which one?", "options": ["red", "blue"]}
        run.emit(RunInterrupted("i1", question), RunEnded("interrupted"))


@pytest.fixture
def asking(at: Bench) -> Bench:
    at.adapter = Asking()
    at.runtime.script = script
    return at


LEFT = "Which one?\n\n✗ Closed without an answer"
CLOSED = (
    "This question has already been answered or canceled, so the button had no effect. "
    "If you still need something, just ask."
)


async def asked(at: Bench) -> str:
    """Ask something, and wait for the question; its message."""
    await at.adapter.hears("go")
    await at.until(lambda: at.adapter.texts() == ["Which one?"])
    await at.rest(0.5)
    return next(iter(at.adapter.shown))


async def test_a_click_resumes_the_run_with_the_choice(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("blue", message)
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
        await asking.rest(2.0)
    assert asking.adapter.texts() == ["Which one?\n\n✓ `blue` (answered by `P7`)", "You chose blue."]
    first, second = (run.request for run in asking.runtime.runs.values())
    assert (first.answers, second.answers) == ("", "i1")
    assert second.thread_id == first.thread_id


async def test_so_does_what_is_written(asking: Bench) -> None:
    async with asking.running():
        await asked(asking)
        await asking.adapter.hears("neither")
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
    assert asking.adapter.texts()[1] == "You chose neither."


async def test_a_second_click_does_nothing_and_says_so(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("blue", message)
        await asking.adapter.presses("red", message, person="8")
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
        await asking.rest(2.0)
        await asking.adapter.presses("blue", message)
    assert asking.adapter.texts() == ["Which one?\n\n✓ `blue` (answered by `P7`)", "You chose blue."]
    assert asking.adapter.told == [("8", CLOSED), ("7", CLOSED)]
    assert len(asking.runtime.runs) == 2


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("leave", ["/new", "/retry"])
async def test_a_question_that_is_left_says_so(asking: Bench, leave: str, *, kill: bool) -> None:
    async with asking.running():
        message = await asked(asking)
    async with asking.running(connected=not kill):
        await asking.adapter.hears(leave)
        await asking.rest(0.5)
    async with asking.running():
        await asking.until(lambda: asking.adapter.texts()[0] == LEFT)
        await asking.rest(2.0)
        await asking.adapter.presses("blue", message)
        await asking.rest(2.0)
    assert asking.adapter.told == [("7", CLOSED)]
    assert asking.adapter.shown[message].text == LEFT
    assert all(not run.request.answers for run in asking.runtime.runs.values())
    views = [
        view for view in await asking.db.transact(list_turns, 1) if not view.messages and not view.repeats
    ]
    assert [(view.state, view.parts) for view in views] == [(TurnState.CANCELLED, ())]


async def test_a_question_of_a_thread_that_was_left_before_says_so_at_once(asking: Bench) -> None:
    asking.runtime.script = None
    async with asking.running():
        await asking.adapter.hears("go")
        await asking.until(lambda: asking.runtime.runs)
        await asking.adapter.hears("/new")
        await asking.until(lambda: len(asking.adapter.texts()) == 1)
        asking.runtime.script = script
        script(asking.runtime.runs["run-1"])
        await asking.until(lambda: LEFT in asking.adapter.texts())
        await asking.rest(2.0)
        [message] = [one.id for one in asking.adapter.shown.values() if one.text == LEFT]
        await asking.adapter.presses("blue", message)
    assert asking.adapter.told == [("7", CLOSED)]
    assert len(asking.runtime.runs) == 1


async def test_who_may_not_talk_to_the_bot_has_chosen_nothing(asking: Bench) -> None:
    async with asking.running():
        for _ in range(2):
            await asking.adapter.presses("blue", "b9", chat="c77", person="77")
        await asking.rest(2.0)
    assert asking.adapter.told == [("77", ""), ("77", "")]
    assert len(asking.adapter.texts("c77")) == 1, "how to be let in, once a day"


async def test_a_click_survives_a_restart(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
    async with asking.running():
        await asking.adapter.presses("blue", message)
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
    assert asking.adapter.texts()[1] == "You chose blue."


async def test_a_kill_after_the_click_answers_it_once(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        asking.runtime.down = True
        await asking.adapter.presses("blue", message)
        await asking.rest(1.0)
    asking.runtime.down = False
    async with asking.running():
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
        await asking.rest(2.0)
    assert asking.adapter.texts() == ["Which one?\n\n✓ `blue` (answered by `P7`)", "You chose blue."]


async def test_a_choice_that_is_called_like_a_command_is_a_choice(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("stop", message)
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
    assert asking.adapter.texts()[1] == "You chose stop."


async def test_in_a_group_the_answer_carries_its_senders_name(asking: Bench) -> None:
    async with asking.running():
        await asking.adapter.hears("go", kind=ChatKind.GROUP)
        await asking.until(lambda: asking.adapter.texts() == ["Which one?"])
        await asking.rest(0.5)
        message = next(iter(asking.adapter.shown))
        await asking.adapter.presses("red", message, person="8", kind=ChatKind.GROUP)
        await asking.until(lambda: len(asking.adapter.texts()) == 2)
        states = [view.state for view in await asking.db.transact(list_turns, 1)]
    assert asking.adapter.texts()[1] == "You chose P8: red."
    assert TurnState.FAILED not in states
