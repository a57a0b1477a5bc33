"""What replicas add: `python -m tests.scale --replicas 1,2,4`.

For each number of replicas on one PostgreSQL database, people on four platforms ask in waves, within the
platforms' limits: turns a second, processor time of a turn (bot and agent), calls refused for their rate.
Then the owner of an account is killed, another one is stopped, and a sign-in link of the first replica is
used at the last one. At the end, one process on SQLite is compared with that of an earlier commit, in turn
(`make install-baseline`). Everything runs on this machine, so more replicas than processors add no speed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from tests.benchmarks import stage
from tests.benchmarks.agent import PYTHON
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.turn_cpu import LIMITED, QUIET, Turns, measure, warm
from tests.harness.credentials import SIGNED
from tests.harness.wires import WIRES, Wire
from tests.kill_matrix import database
from tests.replicas.asking import Asker, all_answered
from tests.replicas.crowd import Crowd, crowd_of

SCALE = 0.2
"""Part of a platform's periods: limits are in force, and five times as fast."""
PEOPLE, WAVES = 10, 6
"""People on each platform, and how often each asks."""
PATIENCE = 120.0
MOVED_BY_KILL, MOVED_BY_STOP = 5.0, 2.0
SPREAD = 12.0
"""Seconds in which accounts are spread over new replicas."""
CHATS, ROUNDS, TURNS = (1, 50), 3, 100


async def measure_replicas(count: int, folder: Path, url: str, firsts: dict[str, float]) -> list[Figure]:
    """Measure so many replicas. `firsts` keeps what the first number of them needed, to compare with."""
    names = [f"r{number}" for number in range(1, count + 1)]
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(WIRES[name].serve(SCALE)) for name in WIRES]
        channels = [f"{wire.platform}: {{{wire.entry}}}" for wire in wires]
        crowd: Crowd = await stack.enter_async_context(crowd_of(folder, url, channels, names))
        await asyncio.sleep(SPREAD)
        figures = await _measure_load(crowd, wires, firsts)
        figures.append(await _sign_in_elsewhere(crowd, names))
        if count > 1:
            figures += await _measure_moves(crowd)
    return [Figure(f"{count}: {one.name}", one.value, one.limit, one.unit, one.detail) for one in figures]


async def _measure_load(crowd: Crowd, wires: Sequence[Wire], firsts: dict[str, float]) -> list[Figure]:
    askers = [
        Asker(wire, number, random.Random(f"{wire.platform}{number}"))
        for wire in wires
        for number in range(1, PEOPLE + 1)
    ]
    await _wave(askers)
    began, before = time.monotonic(), _cpu(crowd)
    for _ in range(WAVES):
        await _wave(askers)
    seconds, spent = time.monotonic() - began, _cpu(crowd) - before
    turns = WAVES * len(askers)
    rate, cost = turns / seconds, spent / turns * 1000
    limited = sum(wire.limited() for wire in wires)
    first_rate, first_limited = firsts.setdefault("rate", rate), firsts.setdefault("limited", limited)
    print(
        f"{len(crowd.members)} replicas: {rate:.1f} turns/s ({rate / first_rate:.2f} x), {cost:.0f} ms of "
        f"processor time a turn ({cost / firsts.setdefault('cost', cost):.2f} x), {limited} refused for rate",
        flush=True,
    )
    problems = [problem for asker in askers for problem in asker.judge()[0]]
    for problem in problems:
        print(f"  {problem[:300]}", flush=True)
    return [
        Figure("answers lost, doubled or out of order", len(problems), 0, ""),
        Figure("calls refused for their rate", limited, first_limited, ""),
    ]


async def _wave(askers: Sequence[Asker]) -> None:
    for asker in askers:
        asker.ask()
    await all_answered(askers, PATIENCE)


def _cpu(crowd: Crowd) -> float:
    """Seconds of processor time of all bots and agents so far."""
    found = [process.cpu_times() for name in crowd.members for process in crowd.processes(name)]
    return sum(times.user + times.system for times in found)


async def _measure_moves(crowd: Crowd) -> list[Figure]:
    """How long Telegram's account, whose connection only one may hold, is without an owner."""
    owner = crowd.owner("telegram")
    crowd.kill(owner)
    killed = await crowd.owned("telegram", but=owner)
    await crowd.add(owner)
    owner = crowd.owner("telegram")
    stopping = asyncio.create_task(asyncio.to_thread(crowd.members[owner].stop))
    stopped = await crowd.owned("telegram", but=owner)
    await stopping
    return [
        Figure("account moved after a kill", killed, MOVED_BY_KILL, "s"),
        Figure("account moved on a stop", stopped, MOVED_BY_STOP, "s"),
    ]


async def _sign_in_elsewhere(crowd: Crowd, names: Sequence[str]) -> Figure:
    """Use a sign-in link of the first replica at the last one."""
    first, last = [(await crowd.members[name].ready()).url for name in (names[0], names[-1])]
    async with httpx.AsyncClient(base_url=first, headers=SIGNED, trust_env=False) as owner:
        link = (await owner.post("/api/session/links")).raise_for_status().json()["url"]
    async with httpx.AsyncClient(base_url=last, trust_env=False) as person:
        answer = await person.post("/api/session", json={"code": link.rpartition("=")[2]})
    return Figure("sign-in links refused by another replica", float(answer.status_code != 204), 0, "")


async def compare_single(folder: Path) -> list[Figure]:
    """One process on SQLite, now and at the earlier commit: processor time of a turn, in turn."""
    if not PYTHON.exists():
        print("no comparison with an earlier commit: run `make install-baseline` first", flush=True)
        return []
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(stage.model_server())
        sides = [
            await stack.enter_async_context(
                stage.service(folder / name, stage.openai_model(url), LIMITED, extra=QUIET, python=python)
            )
            for name, python in (("now", sys.executable), ("before", str(PYTHON)))
        ]
        people = list(range(300_000, 300_000 + max(CHATS)))
        for side in sides:
            await warm(side, people)
        return [await _compare_turns(sides, chats, itertools.cycle(people)) for chats in CHATS]


async def _compare_turns(sides: Sequence[stage.Side], chats: int, people: Iterator[int]) -> Figure:
    rounds: list[list[Turns]] = []
    for _ in range(ROUNDS):
        rounds.append([await measure(side, chats, people, TURNS) for side in sides])
    now, before = (statistics.median(sum(one[place].cpu) for one in rounds) for place in (0, 1))
    ratio = statistics.median(sum(new.cpu) / sum(old.cpu) for new, old in rounds)
    name = f"SQLite, {chats} chats: processor time of a turn to that before"
    return Figure(name, ratio, 1.05, detail=f"{now:.1f} ms, before {before:.1f} ms")


async def run(counts: Sequence[int]) -> list[Figure]:
    """All figures."""
    firsts: dict[str, float] = {}
    figures = []
    for count in counts:
        with tempfile.TemporaryDirectory() as name, database("postgres", Path(name)) as url:
            figures += await measure_replicas(count, Path(name) / "home", url, firsts)
    with tempfile.TemporaryDirectory() as name:
        return figures + await compare_single(Path(name))


def main() -> int:
    """Return the exit code: 1 where a figure misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("--replicas", default="1,2,4", help="numbers of replicas, separated by commas")
    counts = [int(count) for count in parser.parse_args().replicas.split(",")]
    figures = asyncio.run(run(counts))
    print(f"\n{table(figures)}")
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
