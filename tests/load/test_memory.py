"""How much memory the two processes hold, idle and after many turns (Telegram only, one provider)."""

from __future__ import annotations

import asyncio
import statistics
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests.benchmarks import stage
from tests.benchmarks.asking import Ask
from tests.benchmarks.stage import Side

pytestmark = [pytest.mark.soak, pytest.mark.may_block, pytest.mark.timeout(1800)]

MB = 1_000_000
IDLE_SECONDS = 5.0
BOT_IDLE, AGENT_IDLE = 120.0, 150.0
CHATS, EVERY, LAST, RUNS = 100, 500, 2_500, 2
GROWTH = 2.5
"""MB in EVERY turns, after the first EVERY."""


def held(side: Side) -> list[float]:
    """PSS of bot and agent in MB."""
    return [psutil.Process(pid).memory_full_info().pss / MB for pid in side.pids]


def kept(side: Side) -> list[float]:
    """Memory that bot and agent allocated, in MB, without mapped files.

    PSS is no measure of growth: one process's share of a mapped library grows when another process ends.
    """
    lines = [
        next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "RssAnon" in line)
        for pid in side.pids
    ]
    return [int(line.split()[1]) * 1024 / MB for line in lines]


async def turns(side: Side, start: int, end: int) -> None:
    """So many turns, in rounds of one for each chat."""
    for number in range(start, end, CHATS):
        answers = [f"answer {number} of chat {chat}" for chat in range(CHATS)]
        await side.watch.at_once(
            [Ask(5000 + chat, f"[reply={answer}]", answer) for chat, answer in enumerate(answers)]
        )


async def test_idle_processes_stay_small(tmp_path: Path) -> None:
    async with (
        stage.model_server() as url,
        stage.service(tmp_path / "home", stage.openai_model(url), 0.001) as side,
    ):
        await asyncio.sleep(IDLE_SECONDS)
        bot, agent = held(side)
    print(f"idle: bot {bot:.1f} MB, agent {agent:.1f} MB")
    assert bot <= BOT_IDLE
    assert agent <= AGENT_IDLE


async def test_memory_does_not_grow_with_turns(tmp_path: Path) -> None:
    growth: list[list[float]] = []
    for number in range(RUNS):
        async with (
            stage.model_server() as url,
            stage.service(tmp_path / f"home{number}", stage.openai_model(url), 0.001) as side,
        ):
            samples = []
            for start in range(0, LAST, EVERY):
                await turns(side, start, start + EVERY)
                await asyncio.sleep(1)
                samples.append(kept(side))
            print(f"every {EVERY} turns (bot, agent): {samples}")
            growth += [
                [after - before for before, after in zip(*pair, strict=True)] for pair in pairwise(samples)
            ]
    # What each turn leaves behind shows in every interval, a new peak of concurrent work in one of them.
    bot, agent = (statistics.median(values) for values in zip(*growth, strict=True))
    assert bot <= GROWTH
    assert agent <= GROWTH
