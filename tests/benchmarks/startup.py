"""How long a service with one account takes until that is live: `python -m tests.benchmarks.startup`.

Each platform's SDK is loaded only by a service that has an account of it, so this is what it costs. The floor
is the same service with the page alone, in the same rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.benchmarks.figures import Figure, table
from tests.harness.credentials import SIGNED
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.wires import WIRES, Wire

ROUNDS = 5
PATIENCE = 60.0
FLOOR = "web"
AT_MOST = 2.0
"""Times the floor; a platform's SDK may cost as much as all the rest."""


@dataclass(frozen=True)
class Start:
    """One account alone: `entry` is what stands under `channels`."""

    account: str
    entry: str


def starts(wires: dict[str, Wire]) -> list[Start]:
    """The page alone, then each platform alone."""
    off = "web: {enabled: false}, terminal: {enabled: false}"
    found = [Start(FLOOR, "terminal: {enabled: false}")]
    return found + [Start(name, f"{off}, {name}: {{{wire.entry}}}") for name, wire in wires.items()]


async def until_live(start: Start, folder: Path) -> float:
    """Seconds from the command to the account's state `live`."""
    config = f"config_version: 1\n{MODEL}\nserver: {{port: 0}}\nchannels: {{{start.entry}}}\n"
    service = ServiceProcess(folder, config + "access: {default: allow}\n")
    began = time.perf_counter()
    service.start()
    try:
        async with asyncio.timeout(PATIENCE):
            found = await service.ready(PATIENCE)
            async with httpx.AsyncClient(base_url=found.url, headers=SIGNED, trust_env=False) as client:
                while not await _live(client, start.account):
                    await asyncio.sleep(0.01)
        return time.perf_counter() - began
    finally:
        service.stop()


async def _live(client: httpx.AsyncClient, account: str) -> bool:
    channels = (await client.get("/api/channels")).raise_for_status().json()["channels"]
    return any(one["account"] == account and one["state"] == "live" for one in channels)


@asynccontextmanager
async def emulated() -> AsyncIterator[dict[str, Wire]]:
    """Every platform's emulator."""
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(wire.serve()) for name, wire in WIRES.items()}


async def measured() -> dict[str, float]:
    """The median of each account's starts; the rounds go over all of them, so that noise hits all alike."""
    taken: dict[str, list[float]] = {}
    async with emulated() as wires:
        for number in range(ROUNDS + 1):
            for start in starts(wires):
                with tempfile.TemporaryDirectory() as folder:
                    seconds = await until_live(start, Path(folder) / "home")
                if number:  # the first round warms the file cache
                    taken.setdefault(start.account, []).append(seconds)
    return {account: statistics.median(found) for account, found in taken.items()}


def main() -> None:
    """Measure and print."""
    seconds = asyncio.run(measured())
    floor = seconds.pop(FLOOR)
    print(f"the page alone: {floor:.2f} s")
    figures = [
        Figure(account, took / floor, AT_MOST, detail=f"{took:.2f} s") for account, took in seconds.items()
    ]
    print(table(figures))


if __name__ == "__main__":
    main()
