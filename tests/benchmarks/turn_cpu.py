"""Processor time of a turn, bot and agent apart, against a direct SDK call and a peer.

`python -m tests.benchmarks.turn_cpu [CHATS …]`; without numbers, 1, 50, 200 and 500 chats.

- Ours, with Telegram's limits in force: so many chats ask at once, each answered within a second of the model
  (21 tokens). With one chat, they ask one after the other. All chats have had a turn before. The floor is the
  same answer read with the provider's SDK.
- Ours and nanobot, without limits, each with an emulator of its own and the same model server.
- How late finals are (`final_lag`), with the limits in force again.

Processor time is that of bot and agent with their children, from /proc; emulators, model server and people
are other processes. Nobody gives titles or updates a memory: those are calls of their own, later.

Processor time per turn determines how many people a machine can serve, and varies less than wall-clock time.
The bot should use at most half of what the agent does, the same (±15 %) with 1 chat as with 500, and both
together at most 0.3 of nanobot. "MISS" is a result, not an error. One chat costs most per turn, since each
token wakes the process. Figures are for short answers; `load` and `staleness` measure long ones.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import final_lag, stage
from tests.benchmarks.asking import Ask, percentile
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.nanobot import PeerError, nanobot
from tests.benchmarks.stage import Side

SIZES = (1, 50, 200, 500)
# At most so many chats at once beside the peer.
PEER_MOST = 200
TURNS, MOST_WAVES, PEER_TURNS = 300, 20, 200
LIMITED, UNLIMITED = 1.0, 0.001
WORDS = " ".join(f"w{number}" for number in range(1, 17))
PACE = "[delay=0.2] [every=0.04] "
# Bounds of a wave: answers of a slow peer, and what is done after the last of them.
LONGEST, SETTLED = 120.0, 10.0
QUIET = "memory: {enabled: false}"
_rounds = itertools.count()


@dataclass(frozen=True)
class Turns:
    """What a turn cost with so many chats: milliseconds of each part, calls to the platform, seconds.

    An answer that is `lost` did not come in time; it counts as infinitely late.
    """

    chats: int
    cpu: Sequence[float]
    calls: float
    p95: float
    lost: int


def asks(people: Sequence[int], pace: str = PACE) -> list[Ask]:
    """A question from each, with an answer that no other has."""
    turn = next(_rounds)
    answers = [f"answer {turn} to {person} {WORDS}" for person in people]
    return [
        Ask(person, f"{pace}[reply={answer}]", answer) for person, answer in zip(people, answers, strict=True)
    ]


async def settle(side: Side) -> None:
    """Wait until the system does next to nothing, at most SETTLED seconds."""
    ends = time.monotonic() + SETTLED
    before = side.cpu()
    while time.monotonic() < ends:
        await asyncio.sleep(0.5)
        now = side.cpu()
        if now - before <= 0.02:
            return
        before = now


async def warm(side: Side, people: Sequence[int]) -> None:
    """Give everybody a turn: first connections, imports, caches and conversations are not measured."""
    for person in people[:2]:
        await _wave(side, asks([person]))
    for start in range(0, len(people), 100):
        await _wave(side, asks(people[start : start + 100], ""))
    await settle(side)


async def measure(side: Side, chats: int, people: Iterator[int], turns: int = TURNS) -> Turns:
    """Let so many chats ask at once, in waves of other people."""
    waves = min(MOST_WAVES, max(1, turns // chats))
    before, calls = side.cpu_by_part(), await _calls(side)
    asked: list[Ask] = []
    for _ in range(waves):
        asked += await _wave(side, asks(list(itertools.islice(people, chats))))
    await settle(side)
    spent = [
        (after - start) / len(asked) * 1000 for start, after in zip(before, side.cpu_by_part(), strict=True)
    ]
    made = (await _calls(side) - calls) / len(asked)
    seconds = [ask.seconds if ask.final else math.inf for ask in asked]
    lost = sum(not ask.final for ask in asked)
    return Turns(chats, spent, made, percentile(seconds, 0.95), lost)


async def _wave(side: Side, asked: Sequence[Ask]) -> Sequence[Ask]:
    """Send all and wait for their answers, at most LONGEST seconds."""
    await side.watch.ask(asked)
    with suppress(AssertionError):
        await side.watch.until_answered(asked, LONGEST, every=0.1)
    return asked


async def _calls(side: Side) -> int:
    """Calls to the platform, without those that fetch updates."""
    made = (await side.emulator.do("counters"))["calls"]
    return sum(count for name, count in made.items() if name != "getUpdates")


async def in_process(program: str, url: str, chats: int) -> float:
    """Return the milliseconds of a turn of `direct_calls` or `plain_graph`, in a separate process."""
    [ask] = asks([7])
    waves = 10 if chats == 1 else max(1, TURNS // chats)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.benchmarks.{program}", url, str(chats), str(waves), ask.text),
        env=stage.environment(), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        said, _ = await asyncio.wait_for(process.communicate(), LONGEST)
    finally:
        await stage.ended(process)
    return float(said)


async def idle(side: Side, seconds: float = 3.0) -> list[float]:
    """Milliseconds of processor time in a second without turns, of each part."""
    before = side.cpu_by_part()
    await asyncio.sleep(seconds)
    return [(after - start) / seconds * 1000 for start, after in zip(before, side.cpu_by_part(), strict=True)]


async def ours_within_limits(url: str, sizes: Sequence[int], home: Path) -> list[Figure]:
    """Bot and agent by number of chats; prints the costs."""
    async with stage.service(home, stage.openai_model(url), LIMITED, extra=QUIET) as side:
        people = list(range(100_000, 100_000 + max(*sizes, MOST_WAVES)))
        await warm(side, people)
        at_rest = await idle(side)
        turn_of = itertools.cycle(people)
        found = [await measure(side, chats, turn_of) for chats in sizes]
        limited = (await side.emulator.do("counters"))["limited"]
    floors = [await in_process("direct_calls", url, chats) for chats in sizes]
    print("CPU of a turn, limits in force (x: to a direct SDK call)")
    print(f"{'chats':>5} {'direct':>9} {'bot':>19} {'agent':>19} {'calls':>6} {'p95':>8}")
    for one, floor in zip(found, floors, strict=True):
        bot, agent = (f"{spent:.1f} ms ({spent / floor:.1f} x)" for spent in one.cpu)
        print(f"{one.chats:>5} {floor:>6.2f} ms {bot:>19} {agent:>19} {one.calls:>6.2f} {one.p95:>6.2f} s")
    print(f"idle: bot {at_rest[0]:.1f} ms, agent {at_rest[1]:.1f} ms a second\n", flush=True)
    lost = sum(one.lost for one in found)
    return [
        *_ratios(found),
        Figure("429s with limits in force", limited, 0, ""),
        Figure("answers that did not come", lost, 0, ""),
    ]


def _ratios(found: Sequence[Turns]) -> Iterator[Figure]:
    """The bot against the agent, and against itself with the fewest chats."""
    least = found[0]
    for one in found:
        bot, agent = one.cpu
        detail = f"bot {bot:.1f} ms, agent {agent:.1f} ms"
        yield Figure(
            f"{_chats(one.chats)}: bot's CPU of a turn to the agent's", bot / agent, 0.5, detail=detail
        )
    for one in found[1:]:
        name = f"{_chats(one.chats)}: bot's CPU of a turn to that with {least.chats}"
        yield Figure(name, one.cpu[0] / least.cpu[0], 1.15, detail="flat is 0.85 to 1.15")


def _chats(count: int) -> str:
    return "1 chat" if count == 1 else f"{count} chats"


async def beside_the_peer(url: str, sizes: Sequence[int], folder: Path) -> list[Figure]:
    """Both without limits, one after the other."""
    people = list(range(200_000, 200_000 + max(*sizes, MOST_WAVES)))

    async def each(side: Side) -> list[Turns]:
        await warm(side, people)
        turn_of = itertools.cycle(people)
        return [await measure(side, chats, turn_of, PEER_TURNS) for chats in sizes]

    try:
        async with nanobot(folder / "nanobot", url, UNLIMITED) as side:
            theirs = await each(side)
    except PeerError as error:
        print(f"\nnot compared with a peer: {error}", flush=True)
        return []
    async with stage.service(folder / "beside", stage.openai_model(url), UNLIMITED, extra=QUIET) as side:
        ours = await each(side)
    figures = []
    for one, other in zip(ours, theirs, strict=True):
        [cost] = other.cpu
        bot, agent = one.cpu
        detail = (
            f"bot {bot:.1f} ms ({bot / cost:.2f} x), agent {agent:.1f} ms ({agent / cost:.2f} x), nanobot"
        )
        figures.append(
            Figure(
                f"{_chats(one.chats)}, no limits: CPU of a reply to nanobot's",
                sum(one.cpu) / cost,
                0.3,
                detail=f"{detail} {cost:.1f} ms; calls {one.calls:.1f} and {other.calls:.1f}",
            )
        )
    last, peers = ours[-1], theirs[-1]
    name = f"{_chats(last.chats)}, no limits: p95 of the final to nanobot's"
    detail = f"{last.p95:.2f} s, nanobot {peers.p95:.2f} s; not answered: {last.lost} and {peers.lost}"
    return [*figures, Figure(name, last.p95 / peers.p95, 0.25, detail=detail)]


async def main(sizes: Sequence[int]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with stage.model_server() as url:
            # Each part is printed as soon as it is known, so that none is lost if a later one fails.
            print(table(await ours_within_limits(url, sizes, folder / "home")), flush=True)
            beside = sorted({sizes[0], max((size for size in sizes if size <= PEER_MOST), default=sizes[0])})
            if compared := await beside_the_peer(url, beside, folder):
                print(f"\n{table(compared)}", flush=True)
            print(f"\n{table(await final_lag.measure(url, folder))}")


if __name__ == "__main__":
    asyncio.run(main([int(size) for size in sys.argv[1:]] or SIZES))
