"""Our service against a bare relay in the same run: `python -m tests.benchmarks.load`.

Both talk to one scripted model server and each to a Telegram emulator of its own, every part in its own
process; Telegram's limits are scaled away for both. Rounds alternate, and medians of rounds are compared.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.benchmarks import stage
from tests.benchmarks.asking import Ask, median_seconds, percentile
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.stage import Side

# Periods of the limits shrink so far that none of them binds.
SCALE = 0.001
CHATS, ROUNDS = 200, 3
SINGLES = 60
COMMANDS, COMMAND_CHATS, COMMANDS_PER_SECOND = 2000, 50, 50
WORDS = " ".join(f"w{number}" for number in range(1, 20))
# A reply that takes the model a second: all of it at the end, or a token every 40 ms after 0.2 s.
SHAPES = {"silent": ("[delay=1.0]", ""), "streamed": ("[delay=0.2] [every=0.04]", f" {WORDS}")}
_users = itertools.count(100_000)


def asks(count: int, shape: str) -> list[Ask]:
    """Questions of so many people who never wrote before, each with an answer of its own."""
    markers, tail = SHAPES[shape] if shape else ("", "")
    people = list(itertools.islice(_users, count))
    answers = [f"answer {user} of the model{tail}" for user in people]
    return [
        Ask(user, f"{markers} [reply={answer}]", answer) for user, answer in zip(people, answers, strict=True)
    ]


def commands(count: int, users: Sequence[int]) -> list[Ask]:
    """A command that our service answers itself, and that the echo bot echoes."""
    return [Ask(users[number % len(users)], "/status") for number in range(count)]


async def warm(sides: Sequence[Side]) -> None:
    """First connections, imports and caches are not what is measured."""
    for side in sides:
        await side.watch.at_once(asks(1, ""))
        await side.watch.at_once(asks(20, ""))
        await side.watch.one_by_one(commands(10, [7]))


async def crowd(relay: Side, ours: Side, shape: str) -> list[Figure]:
    """Many chats ask at once."""
    finals: dict[str, list[float]] = {relay.name: [], ours.name: []}
    costs: dict[str, list[float]] = {relay.name: [], ours.name: []}
    firsts: list[float] = []
    for _ in range(ROUNDS):
        for side in (relay, ours):
            before = side.cpu()
            answered = await side.watch.at_once(asks(CHATS, shape))
            await asyncio.sleep(0.5)
            costs[side.name].append((side.cpu() - before) / CHATS * 1000)
            finals[side.name].append(percentile([ask.seconds for ask in answered], 0.95))
            if side is ours:
                firsts.append(percentile([ask.first for ask in answered], 0.95))
    final, cost = _medians(finals), _medians(costs)
    name = f"{CHATS} chats, {shape}"
    return [
        Figure(
            f"{name}: p95 of the final",
            final[ours.name] / final[relay.name],
            2.5,
            detail=f"{final[ours.name]:.2f} s, relay {final[relay.name]:.2f} s",
        ),
        Figure(
            f"{name}: CPU of a reply",
            cost[ours.name] / cost[relay.name],
            4.0,
            detail=f"{cost[ours.name]:.1f} ms, relay {cost[relay.name]:.1f} ms",
        ),
        Figure(f"{name}: p95 of typing or first text", statistics.median(firsts), 0.3, "s"),
        Figure(f"{name}: out of order", ours.watch.disorder, 0, ""),
    ]


def _medians(of: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in of.items()}


async def single(relay: Side, ours: Side) -> list[Figure]:
    """One chat after the other, a model without delay."""
    times = {}
    for side in (relay, ours):
        times[side.name] = median_seconds(await side.watch.one_by_one(asks(SINGLES, ""))) * 1000
    return [
        Figure(
            "one chat, instant model: median above the relay's",
            times[ours.name] - times[relay.name],
            30.0,
            "ms",
            f"{times[ours.name]:.1f} ms, relay {times[relay.name]:.1f} ms",
        )
    ]


async def unloaded_commands(relay: Side, ours: Side) -> tuple[list[Figure], float]:
    """Commands one by one; also our p99 in milliseconds."""
    times = {}
    for side in (relay, ours):
        answered = await side.watch.one_by_one(commands(400, [8]))
        times[side.name] = [ask.seconds * 1000 for ask in answered]
    median = _medians(times)
    figure = Figure(
        "/status without load: median to an echo's",
        median[ours.name] / median[relay.name],
        5.0,
        detail=f"{median[ours.name]:.1f} ms, echo {median[relay.name]:.1f} ms",
    )
    return [figure], percentile(times[ours.name], 0.99)


async def loaded_commands(ours: Side, calm: float, shape: str) -> list[Figure]:
    """Commands of other chats at a steady rate, while crowds ask at once, each when the last is answered."""
    sent = commands(COMMANDS, list(itertools.islice(_users, COMMAND_CHATS)))
    crowds: list[Ask] = []

    async def ask_again() -> None:
        while True:
            asked = asks(CHATS, shape)
            crowds.extend(asked)
            await ours.watch.at_once(asked)

    busy = asyncio.create_task(ask_again())
    try:
        for start in range(0, COMMANDS, 5):
            await ours.watch.ask(sent[start : start + 5])
            await asyncio.sleep(5 / COMMANDS_PER_SECOND)
    finally:
        busy.cancel()
    await ours.watch.until_answered([*sent, *crowds], 120)
    p99 = percentile([ask.seconds * 1000 for ask in sent], 0.99)
    median = median_seconds(sent) * 1000
    detail = f"median {median:.1f} ms; p99 without load {calm:.1f} ms; {len(crowds)} replies beside"
    return [
        Figure(
            f"{COMMANDS} commands beside {CHATS} chats, {shape}: p99",
            p99,
            max(10 * calm, 100.0),
            "ms",
            detail,
        )
    ]


async def manners(ours: Side) -> list[Figure]:
    """`/stop` before five waiting messages, and five quick messages."""
    user = next(_users)
    long = Ask(user, "[tokens=300] [every=0.1] go", words=("(stopped)",))
    await ours.watch.ask([long])
    async with asyncio.timeout(10):
        while not long.shown:
            await asyncio.sleep(0.05)
            await ours.watch.look()
    # What was stopped stands in the thread without an answer, so its markers have to be taken back.
    waiting = [
        Ask(user, f"[tokens=0] [every=0] queued{number}", words=(f"queued{number}",)) for number in range(5)
    ]
    stop = Ask(user, "/stop", words=("Stopped",))
    await ours.watch.ask([*waiting, stop])
    await ours.watch.until_answered([long, stop], 20)
    with suppress(AssertionError):
        await ours.watch.until_answered(waiting, 20)
    other = next(_users)
    quick = [Ask(other, f"quick{number}", words=(f"quick{number}",)) for number in range(5)]
    with suppress(AssertionError):
        await ours.watch.at_once(quick, 20)
    return [
        Figure("/stop before five waiting: the run has ended", long.final - stop.asked, 1.0, "s"),
        Figure(
            "five waiting and five quick messages: lost",
            sum(not ask.final for ask in [*waiting, *quick]),
            0,
            "",
        ),
    ]


async def measure() -> list[Figure]:
    """All figures of this module."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            stage.model_server() as url,
            stage.relay(url, SCALE) as relay,
            stage.service(Path(folder) / "home", stage.openai_model(url), SCALE) as ours,
        ):
            await warm([relay, ours])
            figures = await single(relay, ours)
            for shape in SHAPES:
                figures += await crowd(relay, ours, shape)
            calm_figures, calm = await unloaded_commands(relay, ours)
            figures += calm_figures
            for shape in SHAPES:
                figures += await loaded_commands(ours, calm, shape)
            return figures + await manners(ours)


if __name__ == "__main__":
    print(table(asyncio.run(measure())))
