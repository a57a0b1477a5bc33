"""The pool of stations: idle time, limit, adoption and shutdown."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from agent.core.interfaces import SandboxUnavailable
from roebot_provisioner.station_pool import StationPool
from tests.sandbox.provisioning import TOKEN, serving
from tests.sandbox.stations import Backend


@pytest.fixture
def backend() -> Backend:
    return Backend()


class Clock:
    """Time and sleep of a test: `pass_` moves it and wakes the sleeper."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: asyncio.Queue[float] = asyncio.Queue()
        self.go = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await self.asked.put(seconds)
        await self.go.wait()
        self.go.clear()

    async def pass_(self, seconds: float) -> None:
        await self.asked.get()
        self.now += seconds
        self.go.set()


async def test_idle_sandboxes_are_ended(backend: Backend) -> None:
    clock = Clock()
    stations = StationPool(backend, idle_seconds=60, clock=lambda: clock.now, sleep=clock.sleep)
    await stations.open("idle", [])
    clock.now = 10.0
    await stations.open("busy", [])
    clock.now = 0.0
    reaper = asyncio.create_task(stations.reap())
    try:
        await clock.pass_(60)
        assert await clock.asked.get() == 10
        assert stations.names == ["busy"]
        assert backend.log[2:] == [("close", "idle")]
    finally:
        reaper.cancel()
        await asyncio.gather(reaper, return_exceptions=True)


async def test_used_sandboxes_stay(backend: Backend) -> None:
    """While they are used, and from the end of that on."""
    clock = Clock()
    stations = StationPool(backend, idle_seconds=60, clock=lambda: clock.now, sleep=clock.sleep)
    await stations.open("used", [])
    reaper = asyncio.create_task(stations.reap())
    try:
        async with stations.borrow("used"):
            await clock.pass_(100)
            await clock.asked.get()
            assert stations.names == ["used"]
            clock.now = 130.0
        clock.go.set()
        assert await clock.asked.get() == 60
        assert stations.names == ["used"]
    finally:
        reaper.cancel()
        await asyncio.gather(reaper, return_exceptions=True)


async def test_ending_a_sandbox_is_retried(backend: Backend) -> None:
    clock = Clock()
    stations = StationPool(backend, idle_seconds=60, clock=lambda: clock.now, sleep=clock.sleep)
    await stations.open("stuck", [])
    backend.error = SandboxUnavailable("the cluster is away")
    reaper = asyncio.create_task(stations.reap())
    try:
        await clock.pass_(60)
        await clock.asked.get()
        assert stations.names == ["stuck"]
        backend.error = None
        clock.now = 120.0
        clock.go.set()
        await clock.asked.get()
        assert stations.names == []
    finally:
        reaper.cancel()
        await asyncio.gather(reaper, return_exceptions=True)


async def test_the_number_of_sandboxes_is_limited(backend: Backend) -> None:
    """The one that was unused for longest makes room; where all work, the next one hears it."""
    clock = Clock()
    stations = StationPool(backend, max_sandboxes=2, clock=lambda: clock.now)
    for at, name in enumerate(["one", "two"]):
        clock.now = float(at)
        await stations.open(name, [])
    async with stations.borrow("one"):
        await stations.open("three", [])
        assert stations.names == ["one", "three"]
        async with stations.borrow("three"):
            with pytest.raises(SandboxUnavailable, match="sandbox limit has been reached"):
                await stations.open("four", [])
    assert backend.log[2:4] == [("close", "two"), ("open", "three")]


async def test_sandboxes_of_an_earlier_service_are_adopted(backend: Backend) -> None:
    """It is made ready when somebody asks, and goes when nobody does."""
    backend.left = ["left"]
    async with serving(backend) as (url, stations):
        assert stations.names == ["left"]
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
            assert (await client.get("/v1/sandboxes/left/tree")).status_code == 503
            await client.put("/v1/sandboxes/left", json={})
            assert (await client.get("/v1/sandboxes/left/tree")).status_code == 200
    assert backend.log == [("open", "left"), ("close", "left")]


async def test_shutdown_ends_all_sandboxes(backend: Backend) -> None:
    """Whatever goes wrong with one of them."""
    async with serving(backend) as (_, stations):
        await stations.open("one", [])
        await stations.open("two", [])
        backend.error = SandboxUnavailable("the cluster is away")
    assert backend.log[2:] == [("close", "one"), ("close", "two")]


async def test_a_service_starts_without_its_backend(backend: Backend) -> None:
    """Whoever wants a sandbox hears what is wrong."""
    backend.error = SandboxUnavailable("the cluster is away")
    async with serving(backend) as (url, stations):
        assert stations.names == []
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{url}/health")).status_code == 200
