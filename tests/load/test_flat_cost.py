"""What a turn costs does not depend on how many conversations the bot knows; its time is a benchmark's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.bus.message_bus import MessageBus, TurnLanes
from bot.store.database import SqliteDatabase
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRuntime, answer_with
from tests.component.dispatch.bench import Bench
from tests.load.filled import filled
from tests.load.metered import MeteredDatabase

FEW, OLD = 10, 5_000
TURNS = 30
MANY = [2_000, pytest.param(100_000, marks=[pytest.mark.soak, pytest.mark.timeout(300)])]


@dataclass(frozen=True)
class Cost:
    """Of one turn in a conversation that is known, and of one in a new conversation."""

    statements: float
    steps: float
    written: float


async def cost(folder: Path, known: int, chats: list[str]) -> Cost:
    """What turns in these chats cost on average."""
    folder.mkdir()
    await filled(folder / "bot.db", known)
    inner = SqliteDatabase(folder / "bot.db")
    await inner.open()
    database = MeteredDatabase(inner)
    try:
        at = Bench(
            database, ManualClock(), RecordingAdapter(), ScriptedRuntime(answer_with("Hello.")), Path()
        )
        async with at.running():
            before = await database.keep_log()
            for chat in chats:
                await turn(at, chat)
            written = database.log_size() - before
            await database.count_steps(True)
            for chat in chats:
                await turn(at, f"{chat}-more" if chat.endswith("new") else chat)
            await database.count_steps(False)
        count = len(chats)
        return Cost(database.statements / count, database.steps / count, written / count)
    finally:
        await database.close()


async def turn(at: Bench, chat: str) -> None:
    """One message and its answer."""
    answers = len(at.adapter.texts(chat))
    await at.adapter.hears("What is new?", chat=chat)
    await at.until(lambda: len(at.adapter.texts(chat)) > answers)
    await at.rest(0.2)


KNOWN = [f"old{number % FEW + 1}" for number in range(TURNS)]
NEW = [f"old{number * 3331}-new" for number in range(TURNS)]


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("chats", [KNOWN, NEW], ids=["known", "new"])
async def test_a_turn_reads_and_writes_the_same_however_many_conversations_are_known(
    many: int, chats: list[str], tmp_path: Path
) -> None:
    few, lots = await cost(tmp_path / "few", FEW, chats), await cost(tmp_path / "lots", many, chats)
    print(few, lots)
    assert lots.statements == few.statements
    assert lots.steps <= 1.01 * few.steps
    assert lots.written <= 1.1 * few.written


@dataclass(frozen=True)
class Start:
    """Of opening a home and finding what was open."""

    statements: int
    steps: int


async def start(folder: Path, known: int) -> Start:
    """Open a home of so many old conversations, and recover."""
    folder.mkdir()
    await filled(folder / "bot.db", known)
    inner = SqliteDatabase(folder / "bot.db")
    await inner.open()
    database = MeteredDatabase(inner)
    await database.count_steps(True)
    bus = MessageBus(database, ManualClock(), 20, 4000)
    lanes = TurnLanes("test", _nothing, _nothing, ManualClock())
    bus.connect_lanes(lanes, lanes)
    assert await bus.recover() == (0, 0)
    await database.close()
    return Start(database.statements, database.steps)


async def _nothing(_key: int) -> None:
    await asyncio.sleep(0)


async def test_a_start_on_a_home_of_old_conversations_reads_as_little_as_on_an_empty_one(
    tmp_path: Path,
) -> None:
    await start(tmp_path / "warm", 0)
    empty, old = await start(tmp_path / "empty", 0), await start(tmp_path / "old", OLD)
    print(empty, old)
    assert old.statements == empty.statements
    assert old.steps <= empty.steps + 10
