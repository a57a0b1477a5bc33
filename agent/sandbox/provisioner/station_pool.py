"""Which stations there are: one a name, one use at a time; those that nobody uses go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import structlog

from agent.core.interfaces import SandboxError, SandboxUnavailable
from agent.sandbox.provisioner.ports import Backend, Station

log = structlog.get_logger(__name__)
MOST = 100
IDLE_SECONDS = 600.0


class Kept:
    """One name: its station while it is there. `alone` is held by who uses it."""

    def __init__(self, name: str, used_at: float) -> None:
        self.name, self.used_at = name, used_at
        self.alone = asyncio.Lock()
        self.station: Station | None = None
        self.read_only: tuple[str, ...] = ()


class Stations:
    """The stations of a backend. At most `most` at once; the ones without use for `idle_seconds` are ended.

    `clock` and `sleep` are in seconds.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        most: int = MOST,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._backend, self._most, self._idle, self._sleep = backend, most, idle_seconds, sleep
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._kept: dict[str, Kept] = {}

    @property
    def names(self) -> Sequence[str]:
        """Those that are there."""
        return list(self._kept)

    async def open(self, name: str, read_only: Sequence[str]) -> None:
        """Have a station. Raises SandboxUnavailable where there are too many, or it can't be made."""
        kept = self._kept.get(name)
        if kept is None:
            await self._make_room()
            kept = self._kept.setdefault(name, Kept(name, self._clock()))
        async with self._used(kept):
            if kept.station is not None and not await kept.station.there():
                log.warning("sandbox_lost", sandbox=name)
                kept.station = None
                await self._backend.close(name)
            if kept.station is None or kept.read_only != tuple(read_only):
                await self._opened(kept, tuple(read_only))

    @asynccontextmanager
    async def lent(self, name: str) -> AsyncIterator[Station]:
        """The station, alone. Raises SandboxUnavailable where there is none."""
        kept = self._kept.get(name)
        if kept is None:
            raise SandboxUnavailable("This sandbox is not there any more; try again.")
        async with self._used(kept):
            if kept.station is None:
                raise SandboxUnavailable("This sandbox is not there any more; try again.")
            yield kept.station

    async def close(self, name: str) -> None:
        """End one, once nobody uses it. Unknown ones are no error."""
        if (kept := self._kept.get(name)) is not None:
            async with kept.alone:
                await self._end(kept)

    async def adopt(self) -> None:
        """Take over what a service before this one left, to be ended when nobody asks for it."""
        for name in await self._backend.known():
            self._kept.setdefault(name, Kept(name, self._clock()))

    async def close_all(self) -> None:
        """End all, also those that are in use."""
        for kept in list(self._kept.values()):
            try:
                await self._end(kept)
            except SandboxError as error:
                log.warning("sandbox_not_ended", sandbox=kept.name, detail=str(error))

    async def reap(self) -> None:
        """End idle ones, again and again, until it is cancelled."""
        while True:
            now = self._clock()
            first = min((kept.used_at for kept in self._kept.values()), default=now)
            await self._sleep(max(self._idle / 10, first + self._idle - now))
            for kept in list(self._kept.values()):
                if kept.used_at + self._idle <= self._clock() and not kept.alone.locked():
                    await self._ended(kept)

    async def _opened(self, kept: Kept, read_only: tuple[str, ...]) -> None:
        # One that can't be made stays known, so that what there is of it is ended some day.
        kept.station = None
        kept.station, kept.read_only = await self._backend.open(kept.name, read_only), read_only
        # Whoever had it when it was forgotten has let go of it meanwhile.
        self._kept.setdefault(kept.name, kept)

    async def _make_room(self) -> None:
        if len(self._kept) < self._most:
            return
        free = [kept for kept in self._kept.values() if not kept.alone.locked()]
        if not free:
            raise SandboxUnavailable("As many sandboxes as there may be are at work; try again later.")
        await self._ended(min(free, key=lambda kept: kept.used_at))

    async def _ended(self, kept: Kept) -> None:
        """End one that nobody uses; a failure is told in the log, and tried again."""
        async with kept.alone:
            try:
                await self._end(kept)
            except SandboxError as error:
                kept.used_at = self._clock()
                log.warning("sandbox_not_ended", sandbox=kept.name, detail=str(error))

    async def _end(self, kept: Kept) -> None:
        await self._backend.close(kept.name)
        self._forget(kept)

    def _forget(self, kept: Kept) -> None:
        kept.station = None
        with suppress(KeyError):
            if self._kept[kept.name] is kept:
                del self._kept[kept.name]

    @asynccontextmanager
    async def _used(self, kept: Kept) -> AsyncIterator[None]:
        async with kept.alone:
            kept.used_at = self._clock()
            try:
                yield
            finally:
                kept.used_at = self._clock()
