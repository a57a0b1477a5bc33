"""Far more chats than can wait: those beyond the limit are declined, and the service stays responsive."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from roebot_testing.emulators.remote import RemoteEmulator
from tests.benchmarks import stage
from tests.harness.machine import Deadline
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import open_turns

pytestmark = [pytest.mark.soak, pytest.mark.alone, pytest.mark.may_block, pytest.mark.timeout(600)]

CHATS = 15_000
FEWEST_DECLINED = 10_000
"""4,000 may wait (`limits.waiting`), 512 runs go on, and what came in one request is decided together."""
STOP_SECONDS = 2.5
"""Measured: 1.9 to 2.1 s on two idle cores, with 512 runs to end."""
GROWTH = 60.0
"""MB that the bot's process may grow by."""
DECLINED = "Too many messages are waiting"


async def start(process: ServiceProcess) -> float:
    """Start the service; return how long that took, in seconds."""
    process.start()
    began = Deadline(0.0, process.pid)
    await process.ready(stage.START_SECONDS)
    return began.spent


async def count_declined(emulator: RemoteEmulator) -> int:
    frames = await emulator.transcript()
    return sum(one["kind"] == "post" and DECLINED in one["text"] for one in frames)


async def test_chats_beyond_the_limit_are_declined(tmp_path: Path) -> None:
    async with stage.emulated(0.0001) as emulator:
        home = tmp_path / "home"
        process = ServiceProcess(home, stage.configuration(emulator.url, stage.SCRIPTED, 0.0001))
        try:
            empty = await start(process)
            await stage.polled(emulator)
            before = psutil.Process(process.pid).memory_info().rss
            messages = [{"text": "[delay=500] m", "user": 100_000 + chat} for chat in range(CHATS)]
            for first in range(0, CHATS, 1000):
                await emulator.do("says_many", messages=messages[first : first + 1000])
            async with asyncio.timeout(300):
                while (declined := await count_declined(emulator)) + open_turns(home) < CHATS:
                    await asyncio.sleep(3.0)
            grown = (psutil.Process(process.pid).memory_info().rss - before) / 1e6
            stopping = Deadline(STOP_SECONDS, process.pid)
            assert process.stop() == 0
            stopped = stopping.spent
            again = await start(process)
            print(f"start {empty:.1f} s, with chats {again:.1f} s; stop {stopped:.1f} s; {grown:.0f} MB more")
            assert declined >= FEWEST_DECLINED and declined + open_turns(home) == CHATS
            assert grown < GROWTH and stopped <= STOP_SECONDS
        finally:
            process.stop()
