"""Database outages under load: every message is answered, and the readiness check reports the outage."""

from __future__ import annotations

import asyncio
import ctypes
import os
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
ASK_SECONDS = 6.0
"""Seconds between two questions of a chat. In the longest outage, fewer than 20 are waiting."""
NOTICE_SECONDS = 6.0
"""Seconds after which the readiness check reports an outage: its time limit and a second."""
DISK = 20 * 1024 * 1024
"""Size of the small disk in bytes."""
ANSWER_SECONDS = 60.0
"""Seconds after an outage in which all questions must be answered."""
STOP_SECONDS = 2.0
"""Maximum duration of a stop in seconds."""


@dataclass
class Service:
    """A service under load.

    `statuses` has the start, the end and the HTTP status (0: none) of each readiness check.
    """

    process: ServiceProcess
    watch: Watch
    statuses: list[tuple[float, float, int]] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)

    async def ask_for(self, seconds: float) -> None:
        """Ask in every chat every `ASK_SECONDS`, for this number of seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number = len(self.asks) // CHATS
            words = [f"n{number}c{chat}." for chat in range(CHATS)]
            asks = [Ask(1000 + chat, f"[delay=0.5] {word}", words=(word,)) for chat, word in enumerate(words)]
            self.asks += asks
            await self.watch.ask(asks)
            await asyncio.sleep(min(ASK_SECONDS, max(0.0, end - time.monotonic())))

    async def watch_readiness(self, url: str) -> None:
        """Check the readiness every 0.25 s, until canceled."""
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as client:
            while True:
                start = time.monotonic()
                try:
                    status = (await client.get("/health/ready")).status_code
                except httpx.HTTPError:
                    status = 0
                self.statuses.append((start, time.monotonic(), status))
                await asyncio.sleep(0.25)

    def find_statuses(self, start: float, end: float) -> set[int]:
        """The statuses of the checks between two monotonic times."""
        return {status for first, last, status in self.statuses if start <= first and last < end}

    def stop(self) -> float:
        """Stop the service; return the duration in seconds."""
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
    """Ask before, during and after an outage of `seconds`, and check the answers and statuses."""
    await service.ask_for(4.0)
    began = time.monotonic()
    with outage:
        await service.ask_for(seconds)
        ended = time.monotonic()
    await service.ask_for(4.0)
    await service.watch.until_answered(service.asks, ANSWER_SECONDS)
    await asyncio.sleep(1.0)
    assert service.find_statuses(began + NOTICE_SECONDS, ended) <= {503}, service.statuses
    assert service.statuses[-1][2] == 200, service.statuses[-5:]


@contextmanager
def small_disk(path: Path) -> Iterator[Path]:
    """Mount a disk of 20 MiB at `path`."""
    libc = ctypes.CDLL(None, use_errno=True)
    path.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, f"size={DISK}".encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    try:
        yield path
    finally:
        libc.umount2(os.fsencode(path), 2)


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    """Fill the disk to the last byte within the context."""
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
    """Lock an SQLite database within the context."""
    holder = sqlite3.connect(path, isolation_level=None, timeout=10)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.execute("ROLLBACK")
        holder.close()


@pytest.mark.mounts
async def test_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with serve(disk / "home") as service:
            for seconds in (2.0, 8.0, 15.0):
                await pass_outage(service, fill(disk), seconds)
            assert service.stop() <= STOP_SECONDS


@pytest.mark.parametrize("name", ["agent.db", "bot.db"])
async def test_database_locked_for_45_seconds(tmp_path: Path, name: str) -> None:
    async with serve(tmp_path / "home") as service:
        await pass_outage(service, lock(tmp_path / "home" / name), 45.0)
        assert service.stop() <= STOP_SECONDS


@pytest.mark.parametrize("seconds", [5.0, 20.0, 90.0])
async def test_postgresql_outage(
    tmp_path: Path, postgres_server: str, postgres_url: str, seconds: float
) -> None:
    server = RefusableServer(postgres_server, postgres_url)
    async with serve(tmp_path / "home", f"database: {{url: '{postgres_url}'}}") as service:
        await pass_outage(service, server.outage(), seconds)
        log = (tmp_path / "home" / "service.log").read_text()
        # None if only a platform had something to store.
        assert log.count("store_unavailable") <= 1, log[-3000:]
        assert service.stop() <= STOP_SECONDS


@pytest.mark.pgbouncer
async def test_short_postgresql_outage_behind_pgbouncer(
    tmp_path: Path, postgres_server: str, postgres_url: str
) -> None:
    server = RefusableServer(postgres_server, postgres_url)
    with pgbouncer(postgres_server, server.name) as url:
        async with serve(tmp_path / "home", f"database: {{url: '{url}'}}") as service:
            await pass_outage(service, server.outage(), 1.0)
            assert service.stop() <= STOP_SECONDS
