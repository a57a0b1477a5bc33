"""Stations on this machine: in each thread's own folders, with one of the other providers."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agent.core.interfaces import (
    CommandResult,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxUnavailable,
)
from agent.core.virtual_paths import AREAS
from agent.sandbox.disk_and_memory_usage import free_on
from agent.sandbox.folder import FolderSandbox
from agent.sandbox.limits import MEGABYTE
from agent.sandbox.options import Surroundings
from agent.sandbox.provisioner.file_listing import Entry, Tree
from agent.sandbox.provisioner.file_stream import Frames, head
from agent.sandbox.provisioner.files import LINK_BYTES, Files
from agent.sandbox.run_as import owning

if TYPE_CHECKING:
    from agent.core.state import ThreadData

PIECE = 1 << 20
OVERHEAD = 100_000_000
"""Bytes that headers, and folders which are only read, may add to the files of one transfer."""
_READ_ONLY = re.compile(r"/mnt/[a-z0-9][a-z0-9._-]{0,40}(?:/[a-z0-9][a-z0-9._-]{0,40})?")
_TAKEN = re.compile(r"/mnt/(?:user-data|acp-workspace)(?:/.*)?")
MOST_READ_ONLY = 8


class FolderStation:
    """See `Station`. The folders are taken as a whole here. Making one blocks."""

    def __init__(self, sandbox: FolderSandbox, commands: Sandbox) -> None:
        """Both are the same one: its folders, and its commands."""
        self._sandbox, self._commands = sandbox, commands
        self._files = Files(sandbox.paths, owning(sandbox.user), sandbox.limits.disk_files, all_writable=True)

    async def there(self) -> bool:
        """See `Station`."""
        return True

    async def tree(self) -> Tree:
        """See `Station`."""
        return await asyncio.to_thread(self._tree)

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        """See `Station`."""
        # What is taken away comes first in a stream, so it may bring as much as there may be.
        reader = Frames(frames, limit=await asyncio.to_thread(self._limit))
        refused: list[str] = []
        while (entry := await reader.next()) is not None:
            try:
                await received(self._files, entry, reader, whole=True)
            except SandboxError:
                refused.append(entry.path)
        return refused

    async def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """See `Station`."""
        async with aclosing(sent(self._files, paths)) as pieces:
            async for piece in pieces:
                yield piece

    async def run(self, command: str, seconds: float | None) -> CommandResult:
        """See `Station`."""
        return await self._commands.execute_command(command, seconds=seconds)

    def _limit(self) -> int:
        self._sandbox.ready()
        limits = self._sandbox.limits
        if free_on(self._sandbox.own_folders[0]) < limits.free_mb * MEGABYTE:
            raise SandboxUnavailable("The disk of the sandbox service is nearly full.")
        return limits.disk_mb * MEGABYTE + OVERHEAD

    def _tree(self) -> Tree:
        self._sandbox.ready()
        self._files.make()
        return self._files.tree()


async def received(files: Files, entry: Entry, reader: Frames, *, whole: bool) -> None:
    """Do what an entry of a stream says. Raises SandboxError where that can't be done."""
    if entry.kind == "gone":
        await asyncio.to_thread(files.remove, entry, whole=whole)
    elif entry.kind == "folder":
        await asyncio.to_thread(files.folder, entry.path)
    elif entry.kind == "link":
        if entry.size > LINK_BYTES:
            raise SandboxError("This is no link.")
        target = b"".join([piece async for piece in reader.content()])
        await asyncio.to_thread(files.link, entry.path, target)
    else:
        await _file(files, entry, reader)


async def _file(files: Files, entry: Entry, reader: Frames) -> None:
    writing = files.written(entry)
    write = await asyncio.to_thread(writing.__enter__)
    try:
        async for piece in reader.content():
            await asyncio.to_thread(write, piece)
    except BaseException as error:
        await asyncio.to_thread(writing.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(writing.__exit__, None, None, None)


async def sent(files: Files, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
    """Files and links as a stream; those that can't be read are left out. Raises SandboxError where one
    shrinks meanwhile.
    """
    for path in paths:
        opening = files.opened(path)
        try:
            entry, descriptor = await asyncio.to_thread(opening.__enter__)
        except SandboxError:
            continue
        try:
            yield head(entry)
            left = entry.size
            while left:
                piece = await asyncio.to_thread(os.read, descriptor, min(left, PIECE))
                if not piece:
                    raise SandboxError("A file became shorter while it was read.")
                left -= len(piece)
                yield piece
        finally:
            os.close(descriptor)
            await asyncio.to_thread(opening.__exit__, None, None, None)


class LocalBackend:
    """Stations of a provider of this machine, below `root`. See `Backend`.

    `make` makes a provider that works in a thread's folders; it is called in a thread, for each station.
    """

    def __init__(self, root: Path, make: Callable[[Surroundings], SandboxProvider]) -> None:
        """`root` is absolute."""
        self._root, self._make = root, make
        self._closing: dict[str, Callable[[], Awaitable[None]]] = {}

    async def open(self, name: str, read_only: Sequence[str]) -> FolderStation:
        """See `Backend`."""
        around = Surroundings(self._folders, self._root, self._shared(name, read_only))
        provider = await asyncio.to_thread(self._make, around)
        sandbox: object = provider.get(await provider.acquire(name))
        if not isinstance(sandbox, FolderSandbox):
            kind = type(provider).__name__
            raise SandboxUnavailable(f"The service's own {kind} does not work in folders of its machine.")
        if close := getattr(provider, "close", None):
            self._closing[name] = close
        return await asyncio.to_thread(FolderStation, sandbox, cast("Sandbox", sandbox))

    async def close(self, name: str) -> None:
        """See `Backend`."""
        if close := self._closing.pop(name, None):
            await close()
        await _deleted(self._root / "threads" / name)

    async def known(self) -> Sequence[str]:
        """See `Backend`."""
        return await asyncio.to_thread(_names, self._root / "threads")

    def _folders(self, name: str) -> ThreadData:
        top = self._root / "threads" / name / "user-data"
        return {f"{area}_path": str(top / area) for area in AREAS}  # type: ignore[return-value]

    def _shared(self, name: str, read_only: Sequence[str]) -> dict[str, Path]:
        top = self._root / "threads" / name / "read-only"
        return {path: top / path.removeprefix("/mnt/").replace("/", "+") for path in checked(read_only)}


def checked(read_only: Sequence[str]) -> Sequence[str]:
    """Where further folders may be. Raises SandboxError."""
    if len(read_only) > MOST_READ_ONLY:
        raise SandboxError("These are more folders than a sandbox has.")
    for path in read_only:
        if not _READ_ONLY.fullmatch(path) or _TAKEN.fullmatch(path):
            raise SandboxError("No sandbox has a folder of this name.")
    return read_only


async def _deleted(folder: Path) -> None:
    """Delete a folder, however deep a command made it."""
    remover = await asyncio.create_subprocess_exec("rm", "-rf", "--", str(folder))
    await remover.wait()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
