"""Base of sandboxes whose files are in folders of this machine."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypedDict, TypeVar

from agent.core.interfaces import CommandResult, DirEntry, SandboxError, SandboxFacts, SandboxGone
from agent.core.paths import make_private_folder
from agent.sandbox import safe_files
from agent.sandbox.missing_programs import describe_missing
from agent.sandbox.options import MEGABYTE, SandboxLimits
from agent.sandbox.paths import VirtualPaths, hidden_of, mounts_of
from agent.sandbox.resource_watch import DiskUse, free_bytes, measure_folders
from agent.sandbox.run_as import hand_over, owning, user_of
from agent.sandbox.variables import CommandVariables

if TYPE_CHECKING:
    from agent.core.state import ThreadData

MAX_HELD = 1_000
MASKED_LENGTH = 8
"""Length from which the value of an environment variable is hidden in outputs."""
_SETTING = re.compile(r"TZ|LANG|LC_\w+|\w+_(?:HOST|PATH|DIR|REGION|MODE|LEVEL)")
"""Names of variables whose values are no secrets."""


@dataclass(eq=False, kw_only=True, repr=False)
class FolderSandbox:
    """A thread's folders. The service reads and writes files itself; see `agent.sandbox.safe_files`.

    `read_only` are further folders by virtual path, `variables` the configured variables of commands.
    """

    thread_id: str
    folders: ThreadData
    limits: SandboxLimits
    read_only: Mapping[str, Path]
    variables: CommandVariables = field(default_factory=CommandVariables)
    released: bool = field(default=False, init=False)

    @cached_property
    def paths(self) -> VirtualPaths:
        """Mapping between agent and host paths. The first access blocks."""
        return VirtualPaths(mounts_of(self.folders, self.read_only), hidden_of(self.folders))

    @cached_property
    def own_folders(self) -> list[Path]:
        """Folders that a command may write to. The first access blocks."""
        return [mount.host for mount in self.paths.mounts if mount.writable]

    @property
    def _secrets(self) -> list[str]:
        """Values to hide in outputs, the longest first."""
        named = {value for name, value in self.variables if not _SETTING.fullmatch(name)}
        return sorted((value for value in named if len(value) >= MASKED_LENGTH), key=len, reverse=True)

    @cached_property
    def user(self) -> int:
        """The host user id that runs commands."""
        return user_of(self.thread_id)

    def select_variables(self, command: str) -> dict[str, str]:
        """Return the environment variables that the configuration passes to a command."""
        return self.variables.select(command, self.read_only)

    async def read_file(self, path: str) -> bytes:
        """Return a file of at most 10 MB."""
        self.check()
        return await asyncio.to_thread(self._read, path)

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write or append to a file, within the thread's disk limit."""
        self.check()
        await asyncio.to_thread(self._write, path, content, append)

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """Return the entries of a folder."""
        self.check()
        return await asyncio.to_thread(self._list, path)

    def ready(self) -> DiskUse:
        """Create the folders, set the thread's owner, and measure the folders. Blocks."""
        for folder in self.own_folders:
            make_private_folder(folder)
        thread = self.own_folders[0].parent.parent
        hand_over([one.host for one in self.paths.mounts if one.host.is_relative_to(thread)], self.user)
        return measure_folders(self.own_folders, self.limits.disk_files)

    def measure(self) -> tuple[DiskUse, int]:
        """Return the result of `ready`, and the room that is left. Blocks."""
        held = self.ready()
        return held, self.room(held)

    def room(self, held: DiskUse) -> int:
        """Return the largest allowed size of a file, in bytes."""
        if free_bytes(self.own_folders[0]) < self.limits.free_mb * MEGABYTE:
            return 0
        if held.entries > self.limits.disk_files:
            return 0
        return max(0, self.limits.disk_mb * MEGABYTE - held.size)

    def mask_result(self, result: CommandResult, room: int) -> CommandResult:
        """Return a result without host paths, and with notes about missing programs and full folders."""
        output = self.paths.mask(result.output)
        for secret in self._secrets:
            output = output.replace(secret, "***")
        output += describe_missing(output, result.exit_code)
        if not room:
            output += f"\n[{self._full()} Nothing can be written until some files are deleted.]\n"
        return CommandResult(output, result.exit_code, result.truncated, result.stopped)

    def check(self) -> None:
        """Raise SandboxGone if the sandbox has been released."""
        if self.released:
            raise SandboxGone("The sandbox has already been released.")

    def _full(self) -> str:
        return f"Either the thread's folders ({self.limits.disk_mb} MB) or the disk is full."

    def _read(self, path: str) -> bytes:
        place = self.paths.locate(path)
        return safe_files.read(place.mount.host, place.below, hard_links=place.mount.installed)

    def _write(self, path: str, content: bytes, append: bool) -> None:
        place = self.paths.locate(path)
        if not place.mount.writable:
            raise SandboxError(f"{place.mount.virtual} is read-only.")
        # The free space is measured at the workspace, so it has to exist.
        make_private_folder(self.own_folders[0])
        make_private_folder(place.mount.host)
        held = measure_folders(self.own_folders, self.limits.disk_files)
        if len(content) > self.room(held):
            raise SandboxError(f"{self._full()} Delete some files first.")
        safe_files.write(place.mount.host, place.below, content, append=append, own=owning(self.user))

    def _list(self, path: str) -> list[DirEntry]:
        place = self.paths.locate(path)
        if place.mount.writable:
            make_private_folder(place.mount.host)
        return safe_files.entries(place.mount.host, place.below)


SandboxT = TypeVar("SandboxT", bound=FolderSandbox)


class FolderSettings(TypedDict):
    """Arguments of every `FolderSandbox`."""

    thread_id: str
    folders: ThreadData
    limits: SandboxLimits
    read_only: Mapping[str, Path]
    variables: CommandVariables


@dataclass(eq=False, kw_only=True, repr=False)
class FolderProvider(ABC, Generic[SandboxT]):
    """A `SandboxProvider` for the folders that `folders` returns for a thread, and those that all may read.

    It holds at most `held` sandboxes, releasing those acquired longest ago.
    """

    kind: ClassVar[str]
    folders: Callable[[str], ThreadData] = field(kw_only=False)
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    read_only: Mapping[str, Path] = field(default_factory=dict)
    variables: CommandVariables = field(default_factory=CommandVariables)
    held: int = MAX_HELD
    facts: SandboxFacts = field(default_factory=SandboxFacts)
    _sandboxes: OrderedDict[str, SandboxT] = field(default_factory=OrderedDict, init=False)

    @abstractmethod
    def _make(self, settings: FolderSettings) -> SandboxT: ...

    async def acquire(self, thread_id: str) -> str:
        """Return the id of the thread's sandbox, without disk access. Raises BadIdentifier."""
        sandbox_id = f"{self.kind}-{thread_id}"
        if sandbox_id not in self._sandboxes:
            self._sandboxes[sandbox_id] = self.make(thread_id)
        self._sandboxes.move_to_end(sandbox_id)
        while len(self._sandboxes) > self.held:
            _, oldest = self._sandboxes.popitem(last=False)
            oldest.released = True
        return sandbox_id

    def make(self, thread_id: str) -> SandboxT:
        """Return a new sandbox. Raises BadIdentifier."""
        return self._make(
            FolderSettings(
                thread_id=thread_id,
                folders=self.folders(thread_id),
                limits=self.limits,
                read_only=self.read_only,
                variables=self.variables,
            )
        )

    def get(self, sandbox_id: str) -> SandboxT | None:
        return self._sandboxes.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        if (sandbox := self._sandboxes.pop(sandbox_id, None)) is not None:
            sandbox.released = True

    async def close(self) -> None:
        """Do nothing, since by default nothing outlives a command."""
