"""What every sandbox on this host's own disk shares: a thread's folders, and the files in them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from agent.core.interfaces import CommandResult, DirEntry, SandboxError, SandboxGone
from agent.sandbox import safe_files
from agent.sandbox.disk_and_memory_usage import Held, free_on, held_by
from agent.sandbox.limits import MEGABYTE, SandboxLimits
from agent.sandbox.paths import VirtualPaths, hidden_of, mounts_of
from agent.sandbox.run_as import hand_over, owning, user_of

if TYPE_CHECKING:
    from agent.core.state import ThreadData

HELD = 1_000


class FolderSandbox:
    """A thread's folders. Files are read and written from outside; see `agent.sandbox.safe_files`."""

    def __init__(
        self, thread_id: str, folders: ThreadData, *, read_only: Mapping[str, Path], limits: SandboxLimits
    ) -> None:
        self.thread_id = thread_id
        self.limits = limits
        self.released = False
        self._folders, self._read_only = folders, read_only

    @cached_property
    def paths(self) -> VirtualPaths:
        """The agent's paths and the host's. Blocking when asked for first."""
        return VirtualPaths(mounts_of(self._folders, self._read_only), hidden_of(self._folders))

    @cached_property
    def own_folders(self) -> list[Path]:
        """The folders that a command may write into. Blocking when asked for first."""
        return [mount.host for mount in self.paths.mounts if mount.writable]

    @cached_property
    def user(self) -> int:
        """The host's number of the user that commands run as."""
        return user_of(self.thread_id)

    async def read_file(self, path: str) -> bytes:
        """See `Sandbox`; at most 10 MB."""
        self.check()
        return await asyncio.to_thread(self._read, path)

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """See `Sandbox`; never more than the thread's share of the disk."""
        self.check()
        await asyncio.to_thread(self._write, path, content, append)

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """See `Sandbox`."""
        self.check()
        return await asyncio.to_thread(self._list, path)

    def ready(self) -> Held:
        """Make the folders, give the thread's to their user, and count what they hold. Blocking."""
        for folder in self.own_folders:
            safe_files.make(folder)
        thread = self.own_folders[0].parent.parent
        hand_over([one.host for one in self.paths.mounts if one.host.is_relative_to(thread)], self.user)
        return held_by(self.own_folders, self.limits.disk_files)

    def room(self, held: Held) -> int:
        """Bytes that a file may have where so much is held."""
        if free_on(self.own_folders[0]) < self.limits.free_mb * MEGABYTE:
            return 0
        if held.entries > self.limits.disk_files:
            return 0
        return max(0, self.limits.disk_mb * MEGABYTE - held.size)

    def mask_result(self, result: CommandResult, room: int) -> CommandResult:
        """A result as the agent may see it: no path of the host, and a word when the folders are full."""
        output = self.paths.mask(result.output)
        if not room:
            output += f"\n[{self._full()} Nothing can be written until files are removed.]\n"
        return CommandResult(output, result.exit_code, result.truncated, result.stopped)

    def check(self) -> None:
        """Raises SandboxGone after the release."""
        if self.released:
            raise SandboxGone("The sandbox was released.")

    def _full(self) -> str:
        return f"The thread's folders are full ({self.limits.disk_mb} MB), or the disk is."

    def _read(self, path: str) -> bytes:
        place = self.paths.locate(path)
        return safe_files.read(place.mount.host, place.below)

    def _write(self, path: str, content: bytes, append: bool) -> None:
        place = self.paths.locate(path)
        if not place.mount.writable:
            raise SandboxError(f"{place.mount.virtual} can only be read.")
        # Where commands start is also where the free space is asked for.
        safe_files.make(self.own_folders[0])
        safe_files.make(place.mount.host)
        held = held_by(self.own_folders, self.limits.disk_files)
        if len(content) > self.room(held):
            raise SandboxError(f"{self._full()} Remove files first.")
        safe_files.write(place.mount.host, place.below, content, append=append, own=owning(self.user))

    def _list(self, path: str) -> list[DirEntry]:
        place = self.paths.locate(path)
        if place.mount.writable:
            safe_files.make(place.mount.host)
        return safe_files.entries(place.mount.host, place.below)


SandboxT = TypeVar("SandboxT", bound=FolderSandbox)


class FolderProvider(Generic[SandboxT]):
    """Hands out sandboxes by thread. See `SandboxProvider`.

    Of more than `held` that nobody released, the ones acquired longest ago are given up.
    """

    kind = "folder"

    def __init__(self, make: Callable[[str], SandboxT], *, held: int = HELD) -> None:
        self._make, self._held = make, held
        self._sandboxes: OrderedDict[str, SandboxT] = OrderedDict()

    async def acquire(self, thread_id: str) -> str:
        """See `SandboxProvider`. Raises BadIdentifier. Touches no disk and starts nothing."""
        sandbox_id = f"{self.kind}-{thread_id}"
        if sandbox_id not in self._sandboxes:
            self._sandboxes[sandbox_id] = self._make(thread_id)
        self._sandboxes.move_to_end(sandbox_id)
        while len(self._sandboxes) > self._held:
            _, oldest = self._sandboxes.popitem(last=False)
            oldest.released = True
        return sandbox_id

    def get(self, sandbox_id: str) -> SandboxT | None:
        """See `SandboxProvider`."""
        return self._sandboxes.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        """See `SandboxProvider`."""
        if (sandbox := self._sandboxes.pop(sandbox_id, None)) is not None:
            sandbox.released = True

    async def close(self) -> None:
        """See `SandboxProvider`. Nothing outlives its command, unless a kind of provider says otherwise."""
