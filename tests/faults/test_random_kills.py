"""Kills at seeded random instants under mixed load, judged from the emulator's transcript.

Some messages are replies that quote, and what they quote was read once by each call that answered them.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.dispatch.reply.diff import REPEATED_MARK
from bot.dispatch.reply.sender import REPEATED_COUNTER
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.reading_model import MODEL, list_reads
from tests.harness.service import ServiceProcess, config_text
from tests.harness.sqlite import closed_texts, counted
from tests.harness.waiters import Seen, answers, count_429, until

pytestmark = [pytest.mark.fault, pytest.mark.may_block, pytest.mark.timeout(1800)]

SEEDS, KILLS, CHATS = (20261122, 20261123), 100, 6
FIRST_CHAT = 4001
# Seconds of life between a start and the kill: part of them fall into the start itself.
LIFE = (0.1, 2.5)
QUOTING = 0.4
"""The share of messages that quote an earlier one."""
# A runtime that is killed so early has not taken a run up again yet.
STARTING = 0.6
# The runtime gives a run up that was cut off three times, so a message that met two kills is waited for.
MOST_CUTS = 2
PATIENCE = 60.0
# Periods of the limits are shortened alike for the bot and the emulator, so that answers don't wait for them.
SCALE = 0.2


@dataclass
class Message:
    """What a person asked, the whole text of its answer, and what it quotes ("": nothing)."""

    key: str
    text: str
    answer: str
    quoted: str
    cuts: int = 0


@dataclass
class Person:
    """Asks one thing after the other in a private chat."""

    chat: int
    chance: random.Random
    asked: list[Message] = field(default_factory=list)
    last: int = 0
    """The id of the last message, which the next one may quote."""

    def ask(self, emulator: TelegramEmulator) -> None:
        """Write the next message."""
        key = f"c{self.chat}m{len(self.asked)}"
        words = " ".join(f"{key}w{number}" for number in range(self.chance.choice((1, 12, 30))))
        answer = f"{key} {words}"
        delay = self.chance.uniform(0, 1.5) if self.chance.random() < 0.7 else 0.0
        every = self.chance.choice((0.0, 0.02, 0.05))
        text = f"[delay={delay:.2f}] [every={every}] [reply={answer}]"
        quoted = f"quoted-by-{key}." if self.last and self.chance.random() < QUOTING else ""
        self.asked.append(Message(key, text, answer, quoted))
        people = emulator.people
        if quoted:
            self.last = people.quotes(text, quoted, reply_to=self.last, user=self.chat).id
        else:
            self.last = people.says(text, user=self.chat).id

    def waits(self, emulator: TelegramEmulator) -> Message | None:
        """The message that has no complete answer yet."""
        if not self.asked:
            return None
        last = self.asked[-1]
        return None if any(whole(seen, last) for seen in seen_in(emulator, self.chat)) else last


def seen_in(emulator: TelegramEmulator, chat: int) -> list[Seen]:
    """The bot's messages in a chat; none before the chat exists."""
    return answers(emulator, chat) if chat in emulator.world.chats else []


def plain(seen: Seen) -> str:
    """A text without the mark of a possible repeat."""
    return seen.text.removeprefix(REPEATED_MARK).strip()


def whole(seen: Seen, message: Message) -> bool:
    """Whether this is the complete answer."""
    return plain(seen) == message.answer


def judge(emulator: TelegramEmulator, person: Person) -> int:
    """Each message has exactly one complete answer, or one that is marked beside what the kill left unknown.

    Returns how many were marked. Nothing else stands in the chat.
    """
    standing = seen_in(emulator, person.chat)
    marked_count = 0
    for message in person.asked:
        mine = [seen for seen in standing if message.key in plain(seen).split()]
        complete = [seen for seen in mine if whole(seen, message)]
        marked = [seen for seen in mine if seen.text.startswith(REPEATED_MARK)]
        assert complete, (message, mine)
        assert len(marked) <= 1, (message, mine)
        assert len(mine) == 1 or (len(mine) == 2 and mine[-1] in marked and mine[-1] in complete), mine
        marked_count += len(marked)
        standing = [seen for seen in standing if seen not in mine]
    assert standing == []
    return marked_count


def check_quotations(service: ServiceProcess, people: list[Person]) -> None:
    """Each quotation was read, and once by each call of the model that answers its message."""
    calls = list_reads(service.home)
    quoted = [message.quoted for person in people for message in person.asked if message.quoted]
    assert quoted
    read = {one: ["\n".join(call).count(one) for call in calls if one in call[-1]] for one in quoted}
    assert {one: counts for one, counts in read.items() if {*counts} != {1}} == {}


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(scale=SCALE) as served:
        yield served


@pytest.fixture
def service(tmp_path: Path, emulator: TelegramEmulator) -> Any:
    process = ServiceProcess(tmp_path / "home", config_text(emulator, model=MODEL, scale=SCALE))
    process.start()
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


async def keep_asking(emulator: TelegramEmulator, people: list[Person]) -> None:
    """Everybody asks again soon after the last answer, until cancelled."""
    while True:
        for person in people:
            if person.waits(emulator) is None and person.chance.random() < 0.5:
                person.ask(emulator)
        await asyncio.sleep(0.1)


def open_messages(service: ServiceProcess, people: list[Person]) -> list[Message]:
    """Whose turns are not closed: a run may be cut off when its last words are shown already."""
    closed = closed_texts(service.home)
    return [message for person in people for message in person.asked if message.text not in closed]


async def answered(service: ServiceProcess, people: list[Person], expected: list[Message]) -> None:
    """Wait until these are answered, and their turns closed."""

    def late() -> list[Message]:
        still = {message.key for message in open_messages(service, people)}
        return [message for message in expected if message.key in still]

    await until(lambda: not late(), PATIENCE, lambda: f"no answer: {late()}\n{service.log()}")


def kill(service: ServiceProcess, chance: random.Random) -> None:
    """End the agent alone in a third of the cases (where it runs), the whole service otherwise."""
    agent = service.agent() if chance.random() < 1 / 3 else None
    if agent is not None:
        agent.kill()
    else:
        service.kill()
        service.start()


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_hundred_kills_lose_nothing(
    emulator: TelegramEmulator, service: ServiceProcess, seed: int
) -> None:
    chance = random.Random(seed)
    people = [Person(FIRST_CHAT + number, random.Random(seed + number)) for number in range(CHATS)]
    in_flight = 0
    asking = asyncio.create_task(keep_asking(emulator, people))
    try:
        born = time.monotonic()
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(*LIFE))
            waiting = open_messages(service, people)
            if tired := [message for message in waiting if message.cuts >= MOST_CUTS]:
                await answered(service, people, tired)
                waiting = open_messages(service, people)
            life = time.monotonic() - born
            for message in waiting:
                message.cuts += life > STARTING
            in_flight += len(waiting)
            kill(service, chance)
            born = time.monotonic()
    finally:
        asking.cancel()
    await answered(service, people, open_messages(service, people))
    await asyncio.sleep(3)
    marked = sum(judge(emulator, person) for person in people)
    asked = sum(len(person.asked) for person in people)
    print(f"{KILLS} kills, {asked} messages, {in_flight} in flight at a kill, {marked} marked repeats")
    assert count_429(emulator) == 0
    assert service.stop() == 0
    assert marked <= counted(service.home, REPEATED_COUNTER)
    check_quotations(service, people)
