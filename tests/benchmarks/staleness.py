"""How far a reply of 3,000 tokens in a minute lags behind the model, against the best schedule there is.

Staleness is the mean over time of tokens produced minus tokens shown; the best schedule is the exact optimum
for the same arrivals and the limits that the emulators enforce, or a proven lower bound of it. Feishu takes
ten frames a second, which leaves 12 ms from the model to the card, so it has a minute of its own; the others
share one.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.benchmarks.figures import Figure, table
from tests.staleness.measure import Measured, replies

RUNS = (("telegram", "telegram_group", "slack", "discord"), ("feishu",))
TOKENS, MOST = 3000, 1.3


def figure(measured: Measured) -> Figure:
    """One chat as a line."""
    best = measured.best.lag / measured.seconds
    detail = f"{len(measured.calls)} calls, {measured.lag / measured.seconds:.2f} tokens, best {best:.2f}"
    exact = "" if measured.best.exact else " at least"
    return Figure(f"{measured.name}: staleness to the optimum's", measured.ratio, MOST, "x", detail + exact)


async def main() -> None:
    """Measure and print."""
    figures = []
    for names in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            figures += [figure(one) for one in await replies(Path(folder) / "home", names, TOKENS)]
    print(table(figures))


if __name__ == "__main__":
    asyncio.run(main())
