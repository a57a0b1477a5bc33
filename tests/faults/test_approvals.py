"""Approvals over kill -9, on every platform: whoever presses, whenever, the tool runs at most once and
only after the right word; the question and the answer stand once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from tests.faults.chats import SCALE, connection
from tests.harness.machine import Deadline
from tests.harness.pressing import Press, Told, button, buttons, says_who, shown
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.wires import WIRES, Standing, Wire

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

ANN, BEN, EVE = 1, 2, 3
"""Ann asks, Ben is a member, Eve an admin."""
APPROVE, REJECT = 0, -1
TOOL = """
def pay(amount: int) -> str:
    '''Pay an amount.'''
    with open("{ledger}", "a") as ledger:
        ledger.write(f"{{amount}}\\n")
    return f"paid {{amount}}"
"""
ASK = '[tool=pay {"amount": 5}] pay the bill'
PATIENCE = 30.0
FOREIGN = "Only the person who asked for this, or an admin, can decide it"
CLOSED = "This question is no longer open"
GONE = "This question is too old"
"""What an adapter says where the message has no such button any more."""
DECIDING = (
    Step.STORED,
    Step.RUN_CREATED,
    Step.POST_INTENDED,
    Step.PART_SENT,
    Step.FINAL_COMPOSED,
    Step.RECORDED,
)


@dataclass
class Room:
    """A group (or "": Ann's private chat) with a service that is killed and started again."""

    wire: Wire
    service: ServiceProcess
    group: str
    ledger: Path
    place: str = ""

    @property
    def paid(self) -> int:
        """How often the tool ran."""
        return len(self.ledger.read_text().splitlines()) if self.ledger.exists() else 0

    @property
    def standing(self) -> list[Standing]:
        """What everybody sees of the bot."""
        found = self.wire.standing(self.place) if self.place else []
        return [one for one in found if not one.private]

    async def starts(self, step: Step | None = None) -> None:
        self.service.start(**({VARIABLE: step.value} if step else {}))
        await self.service.ready()
        await connection(self.wire)

    async def again(self, step: Step | None = None) -> None:
        """Killed, and started again."""
        self.service.kill()
        await self.starts(step)

    async def asked(self) -> Standing:
        """Ann asks for work; the question that comes of it."""
        before = len(self.standing)
        self.place = self.wire.asks(ASK, person=ANN, group=self.group)
        await self.until(lambda: len(self.standing) == before + 1 and self.closed())
        return self.standing[-1]

    def press(self, question: Standing, number: int) -> Press:
        return button(self.wire, self.place, question.id, number)

    async def told(self, told: Told, *reasons: str) -> None:
        """Who pressed is told why it counts for nothing: one of these."""
        await self.until(lambda: told().startswith(reasons))

    async def shows(self, question: Standing, word: str, person: int) -> None:
        """The question says what was decided and by whom, and nothing else; its buttons are gone."""
        await self.until(lambda: says_who(self.wire, self.place, question.id, word, person))
        await self.until(lambda: buttons(self.wire, self.place, question.id) == 0)
        signs = [line for line in shown(self.wire, self.place, question.id).splitlines() if "✓" in line]
        assert all(f"✓ {word}" in line for line in signs), signs

    def undecided(self, question: Standing) -> bool:
        """Whether nobody is said to have decided."""
        return "✓" not in shown(self.wire, self.place, question.id)

    def closed(self) -> bool:
        return turns(self.service.home) > 0 and open_turns(self.service.home) == 0

    async def until(self, done: Callable[[], bool]) -> None:
        deadline = Deadline(PATIENCE)
        while not done():
            assert not deadline.passed, f"{self.standing}\n{self.service.log()}"
            await asyncio.sleep(0.05)

    async def answered(self, *, paid: int, repeated: int = 0) -> None:
        """One answer stands below the question, and the tool ran so often."""
        await self.until(lambda: len(self.standing) >= 2 and self.closed())
        assert self.service.stop() == 0
        below = self.standing[1:]
        assert 1 <= len(below) <= 1 + repeated, below
        assert "pay the bill" in below[-1].text
        assert self.paid == paid
        assert self.wire.limited() == 0


@pytest.fixture(params=list(WIRES))
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    home, ledger = tmp_path / "home", tmp_path / "ledger"
    home.mkdir()
    (home / "paying.py").write_text(TOOL.format(ledger=ledger))
    async with WIRES[request.param].serve(SCALE) as wire:
        config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
tools: [{{name: pay, group: money, use: "paying:pay"}}]
guardrails: {{enabled: true, provider: {{ask: [pay]}}}}
channels: {{{wire.platform}: {{{wire.entry}}}}}
access: {{default: allow, admins: ["{wire.platform}:{wire.person(EVE)}"]}}
"""
        group = wire.group()
        made = Room(wire, ServiceProcess(home, config), group, ledger, group)
        yield made
        process = made.service.process
        if process is not None and process.poll() is None:
            made.service.kill()


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
    await room.until(lambda: "✗ left without an answer" in shown(room.wire, room.place, question.id))
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
    assert "No such approval" in room.standing[-1].text
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
