"""The databases are away under load: every message is answered, and the readiness says so meanwhile."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.benchmarks import stage
from tests.benchmarks.asking import Ask, Watch
from tests.harness.postgres import RefusableServer, pgbouncer
from tests.harness.service import ServiceProcess

pytestmark = [pytest.mark.fault, pytest.mark.alone, pytest.mark.may_block, pytest.mark.timeout(400)]

CHATS = 20
EVERY = 6.0
"""Seconds between two questions of a chat: fewer than twenty of them wait at the longest outage."""
NOTICED = 6.0
"""Seconds after which the readiness check has noticed an outage: its time limit and a second."""
DISK = 20 * 1024 * 1024
PATIENCE = 60.0
"""Seconds in which everything is answered after the end of an outage."""
STOP_SECONDS = 2.0


@dataclass
class Service:
    """A service under load; each of `statuses` has the times of a readiness check and its answer."""

    process: ServiceProcess
    watch: Watch
    statuses: list[tuple[float, float, int]] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)

    async def ask_for(self, seconds: float) -> None:
        """Every chat asks now and then for so long, never more than may wait."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number = len(self.asks) // CHATS
            words = [f"n{number}c{chat}." for chat in range(CHATS)]
            asks = [Ask(1000 + chat, f"[delay=0.5] {word}", words=(word,)) for chat, word in enumerate(words)]
            self.asks += asks
            await self.watch.ask(asks)
            await asyncio.sleep(min(EVERY, max(0.0, end - time.monotonic())))

    async def watch_readiness(self, url: str) -> None:
        """Check every quarter of a second, until cancelled."""
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as client:
            while True:
                asked = time.monotonic()
                try:
                    status = (await client.get("/health/ready")).status_code
                except httpx.HTTPError:
                    status = 0
                self.statuses.append((asked, time.monotonic(), status))
                await asyncio.sleep(0.25)

    def find_statuses(self, start: float, end: float) -> set[int]:
        """The statuses of the checks that were sent and answered between two monotonic times."""
        return {status for asked, answered, status in self.statuses if start <= asked and answered < end}

    def stop(self) -> float:
        """Stop it; return how long that took, in seconds."""
        began = time.monotonic()
        assert self.process.stop() == 0
        return time.monotonic() - began


@asynccontextmanager
async def serve(home: Path, extra: str = "") -> AsyncIterator[Service]:
    async with stage.emulated(0.01) as emulator:
        process = ServiceProcess(home, stage.configuration(emulator.url, stage.SCRIPTED, 0.01, extra=extra))
        process.start()
        service = Service(process, Watch(emulator))
        checks: asyncio.Task[None] | None = None
        try:
            url = (await process.ready(stage.START_SECONDS)).url
            await stage.polled(emulator)
            checks = asyncio.create_task(service.watch_readiness(url))
            yield service
        finally:
            if checks is not None:
                checks.cancel()
            process.stop()


async def pass_outage(service: Service, outage: AbstractContextManager[None], seconds: float) -> None:
    """Ask before, during and after an outage of so many seconds."""
    await service.ask_for(4.0)
    began = time.monotonic()
    with outage:
        await service.ask_for(seconds)
        ended = time.monotonic()
    await service.ask_for(4.0)
    await service.watch.until_answered(service.asks, PATIENCE)
    await asyncio.sleep(1.0)
    assert service.find_statuses(began + NOTICED, ended) <= {503}, service.statuses
    assert service.statuses[-1][2] == 200, service.statuses[-5:]


@contextmanager
def small_disk(path: Path) -> Iterator[Path]:
    """A disk of 20 MB at `path`."""
    libc = ctypes.CDLL(None, use_errno=True)
    path.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, f"size={DISK}".encode()):
        pytest.skip(f"needs the right to mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield path
    finally:
        libc.umount2(os.fsencode(path), 2)


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    """Leave no byte free."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the write lock of a database."""
    holder = sqlite3.connect(path, isolation_level=None, timeout=10)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.execute("ROLLBACK")
        holder.close()


async def test_a_disk_that_fills_and_empties(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with serve(disk / "home") as service:
            for seconds in (2.0, 8.0, 15.0):
                await pass_outage(service, fill(disk), seconds)
            assert service.stop() <= STOP_SECONDS


@pytest.mark.parametrize("name", ["agent.db", "bot.db"])
async def test_a_database_that_is_locked_for_45_seconds(tmp_path: Path, name: str) -> None:
    async with serve(tmp_path / "home") as service:
        await pass_outage(service, lock(tmp_path / "home" / name), 45.0)
        assert service.stop() <= STOP_SECONDS


@pytest.mark.parametrize("seconds", [5.0, 20.0, 90.0])
async def test_postgresql_that_is_away(
    tmp_path: Path, postgres_server: str, postgres_url: str, seconds: float
) -> None:
    server = RefusableServer(postgres_server, postgres_url)
    async with serve(tmp_path / "home", f"database: {{url: '{postgres_url}'}}") as service:
        await pass_outage(service, server.away(), seconds)
        log = (tmp_path / "home" / "service.log").read_text()
        assert log.count("store_unavailable") == 1, log[-3000:]
        assert service.stop() <= STOP_SECONDS


@pytest.mark.skipif(
    shutil.which("pgbouncer") is None, reason="needs pgbouncer (Debian: apt install pgbouncer)"
)
async def test_postgresql_behind_pgbouncer_that_is_away_for_a_second(
    tmp_path: Path, postgres_server: str, postgres_url: str
) -> None:
    server = RefusableServer(postgres_server, postgres_url)
    with pgbouncer(postgres_server, server.name) as url:
        async with serve(tmp_path / "home", f"database: {{url: '{url}'}}") as service:
            await pass_outage(service, server.away(), 1.0)
            assert service.stop() <= STOP_SECONDS
