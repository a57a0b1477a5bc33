"""From the last byte of the model to the final on Telegram: `python -m tests.benchmarks.final_lag`.

Private chats and groups of one account ask at once, with Telegram's limits in force and room in each. Answers
are of several lengths, so that they end at any time after a frame. With typing, the indicator is shown during
the second that the model is silent; the account without typing can't show it.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from tests.benchmarks import stage
from tests.benchmarks.asking import Ask, percentile
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.stage import Side

PRIVATE, GROUPS, ROUNDS = 6, 4, 4
MOST = {"private chats": 0.1, "groups": 0.3}
PROGRAMS = {"with typing": "bot.cli", "without typing": "tests.benchmarks.service_without_typing"}
LONGEST = 120.0
MENTION = "@roebot_bot "
QUIET = "memory: {enabled: false}"
_people = itertools.count(300_000)


async def measure(url: str, folder: Path) -> list[Figure]:
    """Figures of both accounts at the model server with this `base_url`."""
    figures = []
    for number, (name, program) in enumerate(PROGRAMS.items()):
        home = folder / f"lag{number}"
        async with stage.service(home, stage.openai_model(url), 1.0, extra=QUIET, program=program) as side:
            figures += await _of(side, url, name)
    return figures


async def _of(side: Side, url: str, name: str) -> list[Figure]:
    await _round(side, url, 0)
    lags: dict[str, list[float]] = {place: [] for place in MOST}
    for number in range(1, ROUNDS + 1):
        for place, found in (await _round(side, url, number)).items():
            lags[place] += found
    counters = await side.emulator.do("counters")
    kinds = Counter(frame["kind"] for frame in await side.emulator.transcript(0))
    figures = []
    for place, most in MOST.items():
        found = lags[place]
        detail = f"of {len(found)}: median {percentile(found, 0.5):.3f} s, longest {max(found):.3f} s"
        title = f"{place}, {name}: p95 of the final's lag"
        figures.append(Figure(title, percentile(found, 0.95), most, "s", detail))
    shown = f"{kinds['typing']} typing calls, {kinds['post']} posts, {kinds['edit']} edits"
    return [*figures, Figure(f"{name}: 429s", counters["limited"], 0, "", shown)]


async def _round(side: Side, url: str, number: int) -> Mapping[str, Sequence[float]]:
    """One answer in new chats and groups; the lags of their finals."""
    groups = [await side.emulator.do("make_group", title=f"group {number}") for _ in range(GROUPS)]
    private = [_ask(number + place) for place in range(PRIVATE)]
    shared = [_ask(number + place, group) for place, group in enumerate(groups)]
    await side.watch.at_once([*private, *shared], LONGEST)
    async with httpx.AsyncClient(trust_env=False) as client:
        ends = (await client.get(f"{url.removesuffix('/v1')}/ends")).json()
    return {
        place: [ask.final - ends[ask.answer] for ask in asks]
        for place, asks in zip(MOST, (private, shared), strict=True)
    }


def _ask(length: int, chat: int = 0) -> Ask:
    """A question with an answer of two to four seconds after a silent one."""
    person = next(_people)
    answer = " ".join(["answer", str(person), *(f"w{number}" for number in range(50 + 7 * (length % 8)))])
    return Ask(
        person, f"{MENTION if chat else ''}[delay=1.0] [every=0.04] [reply={answer}]", answer, chat=chat
    )


async def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage.model_server() as url:
            print(table(await measure(url, Path(folder))))


if __name__ == "__main__":
    asyncio.run(main())
