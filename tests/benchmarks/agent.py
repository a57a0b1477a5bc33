"""Processor time of a turn in the agent: `python -m tests.benchmarks.agent [CHATS …]`.

Alternates between four programs, so that a busy machine affects all of them equally: this service and that
of an earlier commit (`make install-baseline`), each with its own emulator and the same model server; the
model call in a plain graph with checkpoints; and OpenAI's client alone. `CHATS` chats (default: 50, 200 and
500) ask at once, and each is answered with 21 tokens within a second; Telegram's limits are in force. Then
one chat asks both services alternately, to measure the time until its first text.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import stage
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.stage import Side
from tests.benchmarks.turn_cpu import LIMITED, QUIET, Turns, asks, in_process, measure, warm

PYTHON = Path(__file__).parents[2] / ".venv-baseline" / "bin" / "python"
SIZES = (50, 200, 500)
ROUNDS, TURNS, FIRST_TEXTS = 3, 200, 20


@dataclass(frozen=True)
class Costs:
    """Milliseconds of the agent's processor time for a turn with this number of chats, and comparisons."""

    chats: int
    now: float
    figures: Sequence[Figure]


async def main(sizes: Sequence[int]) -> None:
    """Measure each size and print the results."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = await stack.enter_async_context(stage.model_server())
        sides = [await stack.enter_async_context(_service(folder / "now", url, sys.executable))]
        if PYTHON.exists():
            sides.append(await stack.enter_async_context(_service(folder / "before", url, str(PYTHON))))
        else:
            print("no comparison with an earlier commit: run `make install-baseline` first", flush=True)
        people = list(range(300_000, 300_000 + max(*sizes, 20)))
        for side in sides:
            await warm(side, people)
        found = [await _measure_size(sides, url, chats, people) for chats in sizes]
        first = await _first_texts(sides, people[:FIRST_TEXTS])
    figures = [figure for costs in found for figure in costs.figures]
    figures += [
        Figure(f"{costs.chats} chats: agent's CPU of a turn to that with {found[0].chats}", ratio, 1.15)
        for costs in found[1:]
        if (ratio := costs.now / found[0].now)
    ]
    print(f"\n{table([*figures, *first])}")


def _service(home: Path, url: str, python: str) -> AbstractAsyncContextManager[Side]:
    return stage.service(home, stage.openai_model(url), LIMITED, extra=QUIET, python=python)


async def _measure_size(sides: Sequence[Side], url: str, chats: int, people: Sequence[int]) -> Costs:
    """Print the costs of a turn with this number of chats, and compare them."""
    turn_of = itertools.cycle(people)
    rounds: list[list[Turns]] = [[] for _ in sides]
    plain, direct = [], []
    for _ in range(ROUNDS):
        for side, taken in zip(sides, rounds, strict=True):
            taken.append(await measure(side, chats, turn_of, TURNS))
        plain.append(await in_process("plain_graph", url, chats))
        direct.append(await in_process("direct_calls", url, chats))
    agent = [statistics.median(one.cpu[1] for one in taken) for taken in rounds]
    floor, client = statistics.median(plain), statistics.median(direct)
    costs = " ".join(f"{name} {cost:.1f} ms," for name, cost in zip(("now", "before"), agent, strict=False))
    print(f"{chats} chats: agent {costs} plain graph {floor:.1f} ms, client {client:.1f} ms", flush=True)
    lost = sum(one.lost for taken in rounds for one in taken)
    figures = [
        Figure(f"{chats} chats: agent's CPU of a turn to the plain graph's", agent[0] / floor, 1.0),
        Figure(f"{chats} chats: missing answers", lost, 0, ""),
    ]
    if len(agent) > 1:
        ratio = statistics.median(now.cpu[1] / before.cpu[1] for now, before in zip(*rounds, strict=True))
        figures.insert(0, Figure(f"{chats} chats: agent's CPU of a turn to that before", ratio, 0.65))
    return Costs(chats, agent[0], figures)


async def _first_texts(sides: Sequence[Side], people: Sequence[int]) -> list[Figure]:
    """Compare the time until the first text of an answer, with one chat at a time."""
    if len(sides) < 2:
        return []
    seconds: list[list[float]] = [[], []]
    for person in people:
        for side, taken in zip(sides, seconds, strict=True):
            [ask] = asks([person])
            await side.watch.one_by_one([ask])
            taken.append(ask.said - ask.asked)
    now, before = (statistics.median(taken) for taken in seconds)
    detail = f"{now * 1000:.0f} ms, before {before * 1000:.0f} ms, 200 ms of them the model's"
    return [Figure("1 chat: time to the first text to that before", now / before, 1.0, detail=detail)]


if __name__ == "__main__":
    asyncio.run(main([int(size) for size in sys.argv[1:]] or SIZES))
