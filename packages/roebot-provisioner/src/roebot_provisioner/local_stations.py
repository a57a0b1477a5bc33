"""Stations on this machine: per-thread folders in which another provider runs the commands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agent.core.interfaces import (
    CommandResult,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxUnavailable,
)
from agent.core.paths import AREAS
from agent.sandbox.file_transfer import OVERHEAD_BYTES, EntryReader, FileTree
from agent.sandbox.folder import FolderSandbox
from agent.sandbox.options import MEGABYTE, Surroundings
from agent.sandbox.resource_watch import free_bytes
from agent.sandbox.run_as import owning
from agent.sandbox.sandbox_files import SandboxFiles, receive_entry, send_files
from agent.sandbox.variables import NO_VARIABLES

if TYPE_CHECKING:
    from agent.core.state import ThreadData

_READ_ONLY = re.compile(r"/mnt/[a-z0-9][a-z0-9._-]{0,40}(?:/[a-z0-9][a-z0-9._-]{0,40})?")
_RESERVED = re.compile(r"/mnt/(?:user-data|acp-workspace)(?:/.*)?")
MAX_READ_ONLY = 8


class FolderStation:
    """A `Station` for a sandbox in folders of this machine. `__init__` blocks.

    `sandbox` and `commands` are the same object.
    """

    def __init__(self, sandbox: FolderSandbox, commands: Sandbox) -> None:
        self._sandbox, self._commands = sandbox, commands
        self._variables = sandbox.variables
        limits = sandbox.limits
        self._files = SandboxFiles(sandbox.paths, owning(sandbox.user), limits.disk_files, all_writable=True)

    async def is_alive(self) -> bool:
        return True

    async def tree(self) -> FileTree:
        return await asyncio.to_thread(self._list_files)

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        # Deletions come first in a stream, so it may bring as much as the disk limit.
        reader = EntryReader(frames, limit=await asyncio.to_thread(self._get_limit))
        refused: list[str] = []
        while (entry := await reader.next_entry()) is not None:
            try:
                await receive_entry(self._files, entry, reader, recursive=True)
            except SandboxError:
                refused.append(entry.path)
        return refused

    def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        return send_files(self._files, paths)

    async def run(
        self, command: str, seconds: float | None, variables: Mapping[str, str] = NO_VARIABLES
    ) -> CommandResult:
        # A station runs one command at a time.
        self._sandbox.variables = self._variables.add(variables)
        return await self._commands.execute_command(command, seconds=seconds)

    def _get_limit(self) -> int:
        self._sandbox.ready()
        limits = self._sandbox.limits
        if free_bytes(self._sandbox.own_folders[0]) < limits.free_mb * MEGABYTE:
            raise SandboxUnavailable("The sandbox service's disk is nearly full.")
        return limits.disk_mb * MEGABYTE + OVERHEAD_BYTES

    def _list_files(self) -> FileTree:
        self._sandbox.ready()
        self._files.make()
        return self._files.tree()


class LocalBackend:
    """A `Backend` whose stations are folders in `root`, an absolute path.

    `make_provider` creates a provider for each station's folders; it is called in a thread.
    """

    def __init__(self, root: Path, make_provider: Callable[[Surroundings], SandboxProvider]) -> None:
        self._root, self._make_provider = root, make_provider
        self._closing: dict[str, Callable[[], Awaitable[None]]] = {}

    async def open(self, name: str, read_only: Sequence[str]) -> FolderStation:
        around = Surroundings(self._get_folders, self._root, self._get_shared(name, read_only))
        provider = await asyncio.to_thread(self._make_provider, around)
        sandbox: object = provider.get(await provider.acquire(name))
        if not isinstance(sandbox, FolderSandbox):
            kind = type(provider).__name__
            raise SandboxUnavailable(f"The sandbox service can't use {kind}, which has no local folders.")
        if close := getattr(provider, "close", None):
            self._closing[name] = close
        return await asyncio.to_thread(FolderStation, sandbox, cast("Sandbox", sandbox))

    async def close(self, name: str) -> None:
        if close := self._closing.pop(name, None):
            await close()
        await _delete_folder(self._root / "threads" / name)

    async def list_names(self) -> Sequence[str]:
        return await asyncio.to_thread(_list_folders, self._root / "threads")

    def _get_folders(self, name: str) -> ThreadData:
        top = self._root / "threads" / name / "user-data"
        return {f"{area}_path": str(top / area) for area in AREAS}  # type: ignore[return-value]

    def _get_shared(self, name: str, read_only: Sequence[str]) -> dict[str, Path]:
        top = self._root / "threads" / name / "read-only"
        return {
            path: top / path.removeprefix("/mnt/").replace("/", "+") for path in check_read_only(read_only)
        }


def check_read_only(read_only: Sequence[str]) -> Sequence[str]:
    """Return the paths of read-only folders. Raises SandboxError if there are too many or one is not
    allowed.
    """
    if len(read_only) > MAX_READ_ONLY:
        raise SandboxError("There are too many read-only folders for one sandbox.")
    for path in read_only:
        if not _READ_ONLY.fullmatch(path) or _RESERVED.fullmatch(path):
            raise SandboxError("A sandbox can't have a folder with this name.")
    return read_only


async def _delete_folder(folder: Path) -> None:
    """Delete a folder with `rm`, which supports any depth."""
    remover = await asyncio.create_subprocess_exec("rm", "-rf", "--", str(folder))
    await remover.wait()


def _list_folders(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
