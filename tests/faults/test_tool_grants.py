"""An approval for once, for a conversation or always, pressed on every platform: whom it holds for, that the
question names who gave it, and that what was given outlives the service.
"""

from __future__ import annotations

import pytest

from tests.faults.approval_rooms import (
    ALWAYS_APPROVE,
    ANN,
    APPROVE,
    APPROVE_HERE,
    BEN,
    EVE,
    FOREIGN,
    REJECT,
    Room,
)
from tests.harness.wires import Standing

pytestmark = [pytest.mark.fault, pytest.mark.may_block]


async def decided(room: Room, question: Standing, number: int, word: str, person: int) -> None:
    """Somebody presses; the question says so, and the answer stands below it."""
    before = len(room.standing)
    room.press(question, number)(person)
    await room.until(lambda: len(room.standing) == before + 1 and room.closed())
    await room.shows(question, word, person)


async def test_here_holds_in_its_conversation_and_once_for_once(room: Room) -> None:
    private, group = "", room.group
    room.group = room.place = private
    await room.starts()
    await decided(room, await room.asked(), APPROVE, "approve", ANN)
    await decided(room, await room.asked(), APPROVE_HERE, "approve here", ANN)
    assert room.paid == 2
    await room.works(private)
    await room.again()
    await room.works(private)
    room.group = room.place = group
    elsewhere = await room.asked()
    assert room.paid == 4
    await decided(room, elsewhere, REJECT, "reject", ANN)
    assert room.paid == 4
    assert room.service.stop() == 0
    assert room.wire.limited() == 0


async def test_always_is_for_admins_and_holds_everywhere(room: Room) -> None:
    private, group = "", room.group
    await room.starts()
    question = await room.asked()
    always = room.press(question, ALWAYS_APPROVE)
    for person in (ANN, BEN):
        await room.told(always(person), FOREIGN)
    assert (room.paid, room.standing) == (0, [question])
    assert room.undecided(question)
    await decided(room, question, ALWAYS_APPROVE, "always approve", EVE)
    assert room.paid == 1
    await room.works(group)
    await room.works(private)
    await room.again()
    await room.works(private)
    await room.works(group)
    assert room.paid == 5
    assert room.service.stop() == 0
    assert room.wire.limited() == 0
