"""Stations by name, each used by one caller at a time and closed when unused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.file_transfer import FileTree
from agent.sandbox.variables import NO_VARIABLES

log = structlog.get_logger(__name__)
MAX_SANDBOXES = 100
IDLE_SECONDS = 600.0


class Station(Protocol):
    """A thread's sandbox, here or on another machine. Paths are as the agent sees them.

    Methods raise SandboxError; only one of them is called at a time.
    """

    async def is_alive(self) -> bool:
        """Return whether the station still responds; raises nothing."""
        ...

    async def tree(self) -> FileTree:
        """Return the content of the station's folders."""
        ...

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        """Apply a stream of file entries, and return the paths that could not be changed."""
        ...

    def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """Return files and links as a stream of entries, omitting unreadable ones."""
        ...

    async def run(
        self, command: str, seconds: float | None, variables: Mapping[str, str] = NO_VARIABLES
    ) -> CommandResult:
        """Run a command with environment variables. Cancellation stops it and all its child processes."""
        ...


class Backend(Protocol):
    """Creates and closes stations. A name consists of 1 to 48 lower-case letters, digits and `-`."""

    async def open(self, name: str, read_only: Sequence[str]) -> Station:
        """Return the station with this name and the folders `read_only`, creating it if necessary.

        Raises SandboxUnavailable.
        """
        ...

    async def close(self, name: str) -> None:
        """Close a station and delete its files, ignoring an unknown one."""
        ...

    async def list_names(self) -> Sequence[str]:
        """Return the names of stations left behind by an earlier service."""
        ...


class PooledStation:
    """A name, and its station while there is one. The station's user holds `lock`."""

    def __init__(self, name: str, used_at: float) -> None:
        self.name, self.used_at = name, used_at
        self.lock = asyncio.Lock()
        self.station: Station | None = None
        self.read_only: tuple[str, ...] = ()


class StationPool:
    """A backend's stations: at most `max_sandboxes`, each closed after `idle_seconds` without use.

    `clock` and `sleep` are in seconds.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        max_sandboxes: int = MAX_SANDBOXES,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._backend, self._max, self._idle, self._sleep = backend, max_sandboxes, idle_seconds, sleep
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._pooled: dict[str, PooledStation] = {}

    @property
    def names(self) -> Sequence[str]:
        """Names of the pooled stations."""
        return list(self._pooled)

    async def open(self, name: str, read_only: Sequence[str]) -> None:
        """Create a station unless it exists. Raises SandboxUnavailable if it fails or there are too many."""
        pooled = self._pooled.get(name)
        if pooled is None:
            await self._make_room()
            pooled = self._pooled.setdefault(name, PooledStation(name, self._clock()))
        async with self._use(pooled):
            if pooled.station is not None and not await pooled.station.is_alive():
                log.warning("sandbox_lost", sandbox=name)
                pooled.station = None
                await self._backend.close(name)
            if pooled.station is None or pooled.read_only != tuple(read_only):
                await self._open_station(pooled, tuple(read_only))

    @asynccontextmanager
    async def borrow(self, name: str) -> AsyncIterator[Station]:
        """Use a station exclusively. Raises SandboxUnavailable if it does not exist."""
        pooled = self._pooled.get(name)
        if pooled is None:
            raise SandboxUnavailable("This sandbox no longer exists; try again.")
        async with self._use(pooled):
            if pooled.station is None:
                raise SandboxUnavailable("This sandbox no longer exists; try again.")
            yield pooled.station

    async def close(self, name: str) -> None:
        """Close a station once it is unused, ignoring an unknown one."""
        if (pooled := self._pooled.get(name)) is not None:
            async with pooled.lock:
                await self._end(pooled)

    async def adopt(self) -> None:
        """Pool stations left behind by an earlier service, which are closed unless requested."""
        for name in await self._backend.list_names():
            self._pooled.setdefault(name, PooledStation(name, self._clock()))

    async def close_all(self) -> None:
        """Close all stations, including those in use."""
        for pooled in list(self._pooled.values()):
            await self._try_to_end(pooled)

    async def reap(self) -> None:
        """Close idle stations until cancelled."""
        while True:
            now = self._clock()
            oldest = min((pooled.used_at for pooled in self._pooled.values()), default=now)
            await self._sleep(max(self._idle / 10, oldest + self._idle - now))
            for pooled in list(self._pooled.values()):
                if pooled.used_at + self._idle <= self._clock() and not pooled.lock.locked():
                    await self._end_idle(pooled)

    async def _open_station(self, pooled: PooledStation, read_only: tuple[str, ...]) -> None:
        # A station that could not be created stays pooled, so that its remains are ended later.
        pooled.station = None
        pooled.station, pooled.read_only = await self._backend.open(pooled.name, read_only), read_only
        # It may have left the pool while this waited for the lock.
        self._pooled.setdefault(pooled.name, pooled)

    async def _make_room(self) -> None:
        if len(self._pooled) < self._max:
            return
        free = [pooled for pooled in self._pooled.values() if not pooled.lock.locked()]
        if not free:
            raise SandboxUnavailable("The sandbox limit has been reached; try again later.")
        await self._end_idle(min(free, key=lambda pooled: pooled.used_at))

    async def _end_idle(self, pooled: PooledStation) -> None:
        async with pooled.lock:
            if not await self._try_to_end(pooled):
                pooled.used_at = self._clock()

    async def _try_to_end(self, pooled: PooledStation) -> bool:
        try:
            await self._end(pooled)
        except SandboxError as error:
            log.warning("sandbox_not_ended", sandbox=pooled.name, detail=str(error))
            return False
        return True

    async def _end(self, pooled: PooledStation) -> None:
        await self._backend.close(pooled.name)
        pooled.station = None
        if self._pooled.get(pooled.name) is pooled:
            del self._pooled[pooled.name]

    @asynccontextmanager
    async def _use(self, pooled: PooledStation) -> AsyncIterator[None]:
        async with pooled.lock:
            pooled.used_at = self._clock()
            try:
                yield
            finally:
                pooled.used_at = self._clock()
