"""A chat on each platform where a tool waits for a word: who asks, who presses, what everybody sees then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.faults import VARIABLE, Step
from tests.faults.chats import SCALE, connection
from tests.harness.clicks import Press, Told, button, buttons, says_who, shown
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.wires import WIRES, Standing, Wire

ANN, BEN, EVE = 1, 2, 3
"""Ann asks, Ben is a member, Eve an admin."""
APPROVE, APPROVE_HERE, ALWAYS_APPROVE, REJECT = 0, 1, 2, -1
TOOL = """
def pay(amount: int) -> str:
    '''Pay an amount.'''
    with open("{ledger}", "a") as ledger:
        ledger.write(f"{{amount}}\\n")
    return f"paid {{amount}}"
"""
ASK = '[tool=pay {"amount": 5}] pay the bill'
PATIENCE = 30.0
FOREIGN = "Only the person who asked for this, or an admin, can decide"
CLOSED = "This question has already been answered"
GONE = "This question is too old"
"""What an adapter says where the message has no such button any more."""


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

    async def works(self, group: str) -> None:
        """Ann asks for work there, and it's done without a question."""
        paid = self.paid
        self.place = self.wire.asks(ASK, person=ANN, group=group)
        before = len(self.standing)
        await self.until(lambda: len(self.standing) > before and self.closed())
        assert self.paid == paid + 1
        [answer] = self.standing[before:]
        assert "pay the bill" in answer.text
        assert buttons(self.wire, self.place, answer.id) == 0

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
        deadline = self.service.deadline(PATIENCE)
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


@asynccontextmanager
async def room_on(platform: str, folder: Path) -> AsyncIterator[Room]:
    """A room on one platform, with a tool that needs approval; its service is not started yet."""
    home, ledger = folder / "home", folder / "ledger"
    home.mkdir()
    (home / "paying.py").write_text(TOOL.format(ledger=ledger))
    async with WIRES[platform].serve(SCALE) as wire:
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
