"""What a long conversation costs: `python -m tests.benchmarks.costs`.

Two hundred messages, each with a tool call, to a provider that counts as Anthropic does; every third one
quotes an app's alert and a colleague's reply. The conversation is sent whole, or its older part is
summarized, each with and without the provider's cache. The costs are those that the agent counts by the
published prices.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.figures import Figure, table
from tests.harness.long_conversation import ConversationCost, Way, hold

TURNS = int(os.environ.get("BENCH_TURNS", "200"))
WINDOW = 16_000
WAYS = (
    Way("everything"),
    Way("everything, cached", cached=True),
    Way("summaries", WINDOW),
    Way("summaries, cached", WINDOW, cached=True),
)


def render(found: list[ConversationCost]) -> str:
    """The costs as text, one way a line."""
    head = f"{'':20}{'input':>12}{'cached':>12}{'output':>10}{'largest':>10}{'cost':>9}{'ratio':>8}"
    lines = [head]
    for one in found:
        ratio = one.cost / found[0].cost
        lines.append(
            f"{one.way.name:20}{one.input:12,}{one.read:12,}{one.output:10,}{one.largest:10,}"
            f"{one.cost:9.2f}{ratio:7.1%}"
        )
    return "\n".join(lines)


async def main() -> int:
    """Measure and print; 1 where something costs more than it may."""
    found = []
    for way in WAYS:
        with tempfile.TemporaryDirectory() as home:
            found.append(await hold(way, Path(home), TURNS))
    print(render(found))
    whole, _, short, cached = found
    half = TURNS // 2
    figures = [
        Figure("summaries, to everything", short.cost / whole.cost, 0.4),
        Figure("summaries and cache, to everything", cached.cost / whole.cost, 0.15),
        Figure("summaries and cache, to summaries", cached.cost / short.cost, 0.4),
        Figure("largest request, to the window", cached.largest / WINDOW, 1.25),
        Figure("a late turn, to an early one", cached.mean(half, TURNS) / cached.mean(half // 2, half), 1.2),
    ]
    print(table(figures))
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
