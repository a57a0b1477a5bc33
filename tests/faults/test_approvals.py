"""Approvals over kill -9, on every platform: whoever presses, whenever, the tool runs at most once and
only after the right word; the question and the answer stand once.
"""

from __future__ import annotations

import pytest

from bot.faults import Step
from tests.faults.approval_rooms import ANN, APPROVE, BEN, CLOSED, EVE, FOREIGN, GONE, REJECT, Room
from tests.harness.clicks import buttons, shown
from tests.harness.sqlite import turns

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

DECIDING = (
    Step.STORED,
    Step.RUN_CREATED,
    Step.POST_INTENDED,
    Step.PART_SENT,
    Step.FINAL_COMPOSED,
    Step.RECORDED,
)


async def test_the_question_outlives_a_kill_and_who_asked_decides(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    await room.again()
    assert room.standing == [question]
    room.press(question, APPROVE)(ANN)
    await room.shows(question, "approve", ANN)
    await room.answered(paid=1)


async def test_an_admin_rejects_after_a_kill(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    await room.again()
    room.press(question, REJECT)(EVE)
    await room.shows(question, "reject", EVE)
    await room.answered(paid=0)


async def test_the_wrong_person_changes_nothing_before_and_after_a_kill(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    approve = room.press(question, APPROVE)
    await room.told(approve(BEN), FOREIGN)
    await room.again()
    await room.told(approve(BEN), FOREIGN)
    assert (room.paid, room.standing) == (0, [question])
    assert room.undecided(question)
    room.press(question, APPROVE)(ANN)
    await room.shows(question, "approve", ANN)
    await room.answered(paid=1)


async def test_a_double_click_is_told_that_it_is_decided(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    approve, reject = room.press(question, APPROVE), room.press(question, REJECT)
    both = [approve(ANN), approve(ANN)]
    await room.until(lambda: any(told().startswith((CLOSED, GONE)) for told in both))
    await room.told(reject(EVE), CLOSED, GONE)
    await room.shows(question, "approve", ANN)
    await room.answered(paid=1)


async def test_a_question_that_is_left_says_so_and_its_buttons_tell_why(room: Room) -> None:
    room.group = room.place = ""
    await room.starts()
    question = await room.asked()
    approve = room.press(question, APPROVE)
    before = turns(room.service.home)
    room.wire.asks("/new", person=ANN)
    await room.until(lambda: turns(room.service.home) > before)
    late = approve(ANN)
    await room.told(late, CLOSED, GONE)
    await room.again()
    await room.until(lambda: "✗ Closed without an answer" in shown(room.wire, room.place, question.id))
    await room.until(lambda: buttons(room.wire, room.place, question.id) == 0)
    await room.told(approve(ANN), CLOSED, GONE)
    await room.until(room.closed)
    assert room.undecided(question)
    assert room.paid == 0
    below = room.standing[1:]
    assert 1 <= len(below) <= 1 + int(room.wire.repeats), below
    assert room.service.stop() == 0


async def test_pressed_twice_and_killed_it_counts_once(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    approve = room.press(question, APPROVE)
    approve(ANN)
    approve(ANN)
    await room.until(lambda: turns(room.service.home) >= 2)
    await room.again()
    await room.until(lambda: len(room.standing) >= 2 and room.closed())
    assert room.paid <= 1
    await room.shows(question, "approve", ANN)
    below = [one for one in room.standing[1:] if "pay the bill" in one.text]
    assert len(below) <= 1 + int(room.wire.repeats), room.standing


async def test_what_comes_late_is_told_so_after_a_kill(room: Room) -> None:
    await room.starts()
    question = await room.asked()
    approve = room.press(question, APPROVE)
    approve(ANN)
    await room.until(lambda: len(room.standing) == 2 and room.closed())
    await room.again()
    before = turns(room.service.home)
    room.wire.asks("/approve", person=ANN, group=room.group)
    await room.until(lambda: turns(room.service.home) > before and room.closed())
    assert "No matching approval request is open" in room.standing[-1].text
    await room.shows(question, "approve", ANN)
    for person in (ANN, EVE, BEN):
        await room.told(approve(person), CLOSED, GONE)
    await room.shows(question, "approve", ANN)
    assert room.paid == 1
    assert room.service.stop() == 0


@pytest.mark.parametrize("step", DECIDING)
async def test_a_kill_at_each_step_of_the_decision(room: Room, step: Step) -> None:
    await room.starts()
    question = await room.asked()
    await room.again(step)
    room.press(question, APPROVE)(ANN)
    assert await room.service.died() == -9
    await room.starts()
    await room.until(lambda: len(room.standing) >= 2 and room.closed())
    await room.shows(question, "approve", ANN)
    assert room.service.stop() == 0
    unknown = step in (Step.POST_INTENDED, Step.PART_SENT)
    below = room.standing[1:]
    assert 1 <= len(below) <= 1 + int(room.wire.repeats and unknown), below
    # What ran when it was killed is not run again.
    assert room.paid <= 1
