"""What memory costs: `python -m tests.benchmarks.memory`.

The files are real, with a hundred facts; the model is scripted and asks nothing of anybody. Each figure is a
ratio to its peer of the same round: a run of the agent with its memory in view to one without, a queued turn
to the bare transaction with the same bytes, a file that has not changed to one that has to be read.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.factory import create_agent_graph
from agent.memory.exchange import QueuedMessage
from agent.memory.files import MemoryFiles, MemoryFolder
from agent.memory.store import FileMemoryStore
from agent.middleware.memory import MemoryMiddleware
from agent.shared.memory_document import Fact, MemoryDocument, Summary, UserMemory
from roebot_testing.agent import Script, ScriptedChatModel
from tests.benchmarks.figures import Figure, table

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
RUNS = 10
ADA = MemoryScope("person", "", "telegram:1")
DOCUMENT = MemoryDocument(
    user=UserMemory(work_context=Summary(summary="Keeps the books of a small firm. Likes it short.")),
    facts=tuple(
        Fact(
            id=f"fact_{number}",
            content=f"Fact number {number} says something of the usual length about one thing.",
            confidence=0.9,
            created_at=f"2026-11-{1 + number % 28:02}",
            source="t",
        )
        for number in range(100)
    ),
)
SAID = (
    "What a person says in a turn, of the usual length: two lines, perhaps three, and a question at the end?"
)


async def seconds(work: Callable[[], Awaitable[Any]]) -> float:
    """The seconds of one of `RUNS` in a row."""
    began = time.perf_counter()
    for _ in range(RUNS):
        await work()
    return (time.perf_counter() - began) / RUNS


def agent(*chain: Any) -> Callable[[], Awaitable[Any]]:
    """A run of an agent with this chain, on a thread of its own."""
    model = ScriptedChatModel(script=Script(reply="ok", usage=(10, 5)), environ={})
    graph = create_agent_graph(model, [], middleware=list(chain))
    given = {"messages": [HumanMessage(SAID)]}

    async def run() -> Any:
        config: Any = {"configurable": {"user_id": ADA.key, "thread_id": str(uuid4())}}
        return await graph.ainvoke(given, config)

    return run


def transaction(path: Path) -> Callable[[], Awaitable[Any]]:
    """The same bytes in one transaction of a database like the queue's."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE said (thread TEXT PRIMARY KEY, text TEXT)")

    def write() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO said VALUES (?, ?)", (str(uuid4()), SAID * 2))
        connection.execute("COMMIT")

    return lambda: asyncio.to_thread(write)


async def measured(folder: Path) -> list[Figure]:
    """The figures."""

    async def settings() -> MemoryConfig:
        return MemoryConfig(debounce_seconds=3600)

    async def nobody(_: Any) -> Any:
        return AIMessage("{}")

    memory = FileMemoryStore(folder, settings, nobody)
    kept = MemoryFolder(folder / "memory")
    await asyncio.to_thread(kept.files.write, ADA, DOCUMENT)
    fresh = MemoryFiles(folder / "memory")
    said = [QueuedMessage("1", "person", SAID), QueuedMessage("2", "assistant", SAID)]
    pairs: dict[str, tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[Any]], float]] = {
        "a run with its memory": (agent(MemoryMiddleware(store=memory)), agent(), 3.0),
        "a queued turn": (
            lambda: asyncio.to_thread(kept.queue.add_messages, ADA, str(uuid4()), said, quiet=3600),
            transaction(folder / "peer.db"),
            4.0,
        ),
        "a file that did not change": (
            lambda: asyncio.to_thread(kept.files.read, ADA),
            lambda: asyncio.to_thread(lambda: fresh.read(ADA, fresh=True)),
            0.8,
        ),
    }
    ratios: dict[str, list[float]] = {name: [] for name in pairs}
    bases: dict[str, list[float]] = {name: [] for name in pairs}
    for _ in range(ROUNDS):
        for name, (ours, peer, _) in pairs.items():
            base = await seconds(peer)
            bases[name].append(base)
            ratios[name].append(await seconds(ours) / base)
    await memory.close()
    kept.queue.close()
    return [
        Figure(
            name,
            statistics.median(ratios[name]),
            limit,
            detail=f"{(statistics.median(ratios[name]) - 1) * statistics.median(bases[name]) * 1000:+.2f} ms",
        )
        for name, (_, _, limit) in pairs.items()
    ]


def main() -> int:
    """Measure and print; 1 where something costs more than it may."""
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder)))
    print(table(figures))
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
