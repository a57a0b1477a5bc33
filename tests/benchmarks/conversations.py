"""What a turn takes among many known conversations: `python -m tests.benchmarks.conversations`.

The time of a turn's transactions, in a database that knows 100,000 conversations and in one that knows ten.
Both are open side by side and take turns, so that noise hits both alike.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from bot.store.database import SqliteDatabase
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRuntime, answer_with
from tests.benchmarks.figures import Figure, table
from tests.component.dispatch.bench import Bench
from tests.load.filled import filled
from tests.load.metered import MeteredDatabase
from tests.load.test_flat_cost import FEW, KNOWN, turn

LOTS = 100_000
WARM, ROUNDS = 1, 20
AT_MOST = 1.3
"""Times the floor: a lookup in an index of 100,000 rows is some pages deeper, and no more."""


@dataclass(frozen=True)
class Known:
    """A dispatcher on a database of so many conversations."""

    bench: Bench
    database: MeteredDatabase

    async def turn(self, chat: str) -> float:
        """One message and its answer; the seconds in transactions."""
        before = self.database.seconds
        await turn(self.bench, chat)
        return self.database.seconds - before


@asynccontextmanager
async def knowing(count: int, folder: Path) -> AsyncIterator[Known]:
    """Old conversations, so many."""
    path = folder / f"{count}.db"
    await filled(path, count)
    inner = SqliteDatabase(path)
    await inner.open()
    database = MeteredDatabase(inner)
    try:
        runtime = ScriptedRuntime(answer_with("Hello."))
        bench = Bench(database, ManualClock(), RecordingAdapter(), runtime, folder)
        async with bench.running():
            yield Known(bench, database)
    finally:
        await database.close()


async def measured(folder: Path) -> tuple[list[float], list[float]]:
    """Seconds of each turn among few, and among lots."""
    taken: tuple[list[float], list[float]] = ([], [])
    async with knowing(FEW, folder) as few, knowing(LOTS, folder) as lots:
        for number in range(WARM + ROUNDS):
            for chat in KNOWN:
                seconds = await few.turn(chat), await lots.turn(chat)
                if number >= WARM:
                    taken[0].append(seconds[0])
                    taken[1].append(seconds[1])
    return taken


def main() -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory() as folder:
        few, lots = map(statistics.median, asyncio.run(measured(Path(folder))))
    print(f"a turn's transactions among {FEW} conversations: {few * 1000:.2f} ms")
    print(table([Figure(f"among {LOTS:,}", lots / few, AT_MOST, detail=f"{lots * 1000:.2f} ms")]))


if __name__ == "__main__":
    main()
