"""3,000 half-open requests and bodies of 600 MB from strangers: the service stays small, quick and useful."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from bot.app.home import find_service
from tests.benchmarks import stage
from tests.benchmarks.asking import Ask
from tests.benchmarks.stage import Side

pytestmark = [pytest.mark.soak, pytest.mark.alone, pytest.mark.may_block, pytest.mark.timeout(180)]

MB = 1_000_000
SECONDS = 25.0
WARM_UP = 40
GROWTH = 20.0
"""Megabytes by which the bot may grow or shrink."""
ANSWER_SECONDS = 0.2


def held(pid: int) -> float:
    """Memory of a process (MB)."""
    return float(psutil.Process(pid).memory_info().rss) / MB


async def chat(side: Side, ends: float) -> int:
    """Ask once a second; the number of answers."""
    answered = 0
    while time.monotonic() < ends:
        ask = Ask(4_000 + answered % 20, f"[reply=answer {answered}]", f"answer {answered}")
        await side.watch.at_once([ask], 20)
        answered += 1
        await asyncio.sleep(1.0)
    return answered


async def check_health(port: int) -> None:
    """Ask on a new connection, without what a client library costs to set up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nconnection: close\r\n\r\n" % port)
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()


async def measure(port: int, pid: int, ends: float) -> tuple[list[float], list[float]]:
    """The times of `/health` (s), each on a new connection, and the memory of the bot (MB)."""
    times, sizes = list[float](), list[float]()
    while time.monotonic() < ends:
        began = time.monotonic()
        await check_health(port)
        times.append(time.monotonic() - began)
        sizes.append(held(pid))
        await asyncio.sleep(0.1)
    return times, sizes


async def test_strangers_neither_fill_the_memory_nor_keep_others_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with stage.service(home, stage.SCRIPTED, 0.001) as side:
        found = find_service(home)
        assert found is not None
        await side.watch.at_once([Ask(4_000 + n, f"[reply=warm {n}]", f"warm {n}") for n in range(WARM_UP)])
        port = int(found.url.rpartition(":")[2])
        await measure(port, side.pids[0], time.monotonic() + 3)
        before = held(side.pids[0])
        attackers = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.load.strangers", str(port), str(SECONDS),
            stdout=asyncio.subprocess.PIPE, env=stage.environment(),
        )  # fmt: skip
        try:
            await asyncio.sleep(2)
            ends = time.monotonic() + SECONDS - 4
            answers, (times, sizes) = await asyncio.gather(
                chat(side, ends), measure(port, side.pids[0], ends)
            )
            sent = json.loads((await attackers.communicate())[0])
        finally:
            await stage.ended(attackers)
        late = sorted(times)[-5:]
        print(f"{sent}, {len(times)} times /health, slowest {late}, memory {before:.1f} MB, then", end=" ")
        print(f"{min(sizes):.1f} to {max(sizes):.1f} MB, answers {answers}")
        assert sent["opened"] >= 3_000
        assert sent["bodies"] >= 6
        assert max(sizes) - before <= GROWTH
        assert before - min(sizes) <= GROWTH
        assert max(times) <= ANSWER_SECONDS
        assert answers >= 5
