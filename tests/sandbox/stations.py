"""A backend of stations that do what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

from agent.core.interfaces import CommandResult, SandboxError
from agent.sandbox.file_transfer import FileEntry, FileTree
from agent.sandbox.variables import NO_VARIABLES


class Station:
    """One whose commands end when they are told to.

    `ended` is told of those that were cancelled, after `ending_seconds`.
    """

    def __init__(self) -> None:
        self.alive, self.go = True, asyncio.Event()
        self.ran: list[tuple[str, float | None]] = []
        self.variables = NO_VARIABLES
        self.ended: list[str] = []
        self.ending_seconds = 0.0
        self.pushed: list[bytes] = []
        self.error: SandboxError | None = None

    async def is_alive(self) -> bool:
        return self.alive

    async def tree(self) -> FileTree:
        return FileTree({"/mnt/x": FileEntry("/mnt/x", "file", 1, 2, True)}, cut=True)

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        self.pushed += [piece async for piece in frames]
        return ["/mnt/refused"]

    async def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        for path in paths:
            yield FileEntry(path, "file", 0).head()

    async def run(
        self, command: str, seconds: float | None, variables: Mapping[str, str] = NO_VARIABLES
    ) -> CommandResult:
        self.ran.append((command, seconds))
        self.variables = variables
        if self.error is not None:
            raise self.error
        try:
            if command == "wait":
                await self.go.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(self.ending_seconds)
            self.ended.append(command)
            raise
        return CommandResult("out", 3, True, "why")


class Backend:
    """Stations by name. `log` is what happened."""

    def __init__(self, *known: str) -> None:
        self.stations: dict[str, Station] = {}
        self.log: list[tuple[str, str]] = []
        self.left = list(known)
        self.error: SandboxError | None = None

    async def open(self, name: str, read_only: Sequence[str]) -> Station:
        self.log.append(("open", " ".join([name, *read_only])))
        if self.error is not None:
            raise self.error
        self.stations[name] = Station()
        return self.stations[name]

    async def close(self, name: str) -> None:
        self.log.append(("close", name))
        if self.error is not None:
            raise self.error

    async def list_names(self) -> Sequence[str]:
        if self.error is not None:
            raise self.error
        return self.left
