"""Sandboxes on another machine, where a service (the package roebot-provisioner) runs the commands.

The files of a thread stay in this machine's folders, as with every provider; the service has a copy. Before a
command the copy is updated, after it the folders are. So losing a copy loses no file, and other code need not
know about it.

A shared volume would have to be writable from many nodes, and expose the bot to hostile links and locks. Each
command costs two directory scans per side plus the differences; the first one after a pause transfers all
files. Local changes during a command are kept, and a canceled command changes nothing locally.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any
from weakref import WeakValueDictionary

from agent.core.interfaces import CommandResult, SandboxError, SandboxFacts, SandboxUnavailable
from agent.core.paths import make_private_folder
from agent.sandbox.file_transfer import (
    OVERHEAD_BYTES,
    EntryReader,
    FileEntry,
    FileTree,
    find_changed,
    find_removed,
)
from agent.sandbox.folder import FolderProvider, FolderSandbox, FolderSettings
from agent.sandbox.options import (
    RemoteOptions,
    SandboxLimits,
    Surroundings,
    read_options,
    read_variables,
)
from agent.sandbox.remote_station import RemoteStation, ServiceAddress
from agent.sandbox.run_as import owning
from agent.sandbox.sandbox_files import SandboxFiles, receive_entry, send_files
from agent.shared.tls import private_tls_context

HOME_NAME = Path("sandbox", "remote-name")
"""File in the data directory with the prefix of its sandboxes' names at the service."""
OVERHEAD_SECONDS = 120.0
"""Seconds that a service may need in addition to a command's time limit, to start and end it."""
MAX_OUTPUT_FACTOR = 2
"""A service that keeps its limits sends no more output than this times our own limit."""


@dataclass(eq=False, kw_only=True, repr=False)
class RemoteSandbox(FolderSandbox):
    """A thread's folders here, and their copy at the service.

    One command runs at a time. Files that are written here meanwhile stay, and reach the copy with the next
    command.
    """

    service: SandboxService

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a command. Raises SandboxUnavailable, and SandboxError if the connection to the service
        breaks.
        """
        self.check()
        async with self.service.lock(self.thread_id), self.service.address.client() as client:
            name = await self.service.name_of(self.thread_id)
            station = RemoteStation(lambda: nullcontext(client), name)
            await station.open(tuple(self.read_only))
            self.service.used.add(self.thread_id)
            copy = await asyncio.to_thread(RemoteCopy, self, station)
            refused = await copy.send()
            result = await self._run(station, command, self.limits.time_for(seconds))
            left = await copy.fetch()
            _, room = await asyncio.to_thread(self.measure)
        return _add_notes(self.mask_result(result, room), refused, left)

    async def _run(self, station: RemoteStation, command: str, seconds: float) -> CommandResult:
        try:
            async with asyncio.timeout(seconds + OVERHEAD_SECONDS):
                result = await station.run(command, seconds, self.select_variables(command))
        except TimeoutError:
            raise SandboxError("The sandbox service did not return the command's result in time.") from None
        most = MAX_OUTPUT_FACTOR * self.limits.output_bytes
        if len(result.output) <= most:
            return result
        return CommandResult(result.output[:most], result.exit_code, True, result.stopped)


class RemoteCopy:
    """The service's copy of a thread's folders, for one command. `__init__` blocks."""

    def __init__(self, sandbox: RemoteSandbox, station: RemoteStation) -> None:
        self._sandbox, self._station = sandbox, station
        self._files = SandboxFiles(sandbox.paths, owning(sandbox.user), sandbox.limits.disk_files)
        self._base = FileTree({})

    async def send(self) -> Sequence[str]:
        """Update the copy from the local folders, and return the paths that the service refused."""
        home = await asyncio.to_thread(self._list_files)
        copied = await self._station.tree()
        removed, changed = list(find_removed(copied, home)), find_changed(copied, home)
        refused = await self._station.push(self._entries(removed, changed)) if removed or changed else []
        without = frozenset(refused)
        own = {path: entry for path, entry in home.entries.items() if path not in without}
        self._base = self._writable(FileTree(own))
        return refused

    async def fetch(self) -> str:
        """Update the local folders from the copy, except for files that have changed locally in the meantime.

        Returns a note about files that could not be fetched, or "" if there are none.
        """
        try:
            copied = self._writable(await self._station.tree())
            wanted, left = await asyncio.to_thread(self._prepare, copied)
            left += await self._receive(wanted)
        except SandboxError as error:
            return f"The command's files could not be copied back: {error}"
        if copied.cut:
            return "The command created too many files, so not all of them could be copied back."
        return (
            f"{_count_files(left)} not stored, because the thread's folders have reached their limits."
            if left
            else ""
        )

    def _list_files(self) -> FileTree:
        self._sandbox.ready()
        return self._files.tree()

    async def _entries(
        self, removed: Sequence[FileEntry], changed: Sequence[FileEntry]
    ) -> AsyncIterator[bytes]:
        for entry in removed:
            yield FileEntry(entry.path, "gone").head()
        for entry in changed:
            if entry.kind == "folder":
                yield entry.head()
            else:
                async for piece in send_files(self._files, [entry.path]):
                    yield piece

    def _writable(self, tree: FileTree) -> FileTree:
        own = tuple(f"{mount.virtual}/" for mount in self._sandbox.paths.mounts if mount.writable)
        return FileTree({path: one for path, one in tree.entries.items() if path.startswith(own)}, tree.cut)

    def _prepare(self, copied: FileTree) -> tuple[dict[str, FileEntry], int]:
        """Delete removed entries and create folders; return the files to fetch, and the number for which
        there is no room.
        """
        base = self._remove_missing(copied)
        held = self._sandbox.ready()
        room, entries = self._sandbox.room(held), self._sandbox.limits.disk_files - held.entries
        wanted: dict[str, FileEntry] = {}
        left = 0
        for entry in find_changed(base, copied):
            if self._files.find(entry.path) != base.entries.get(entry.path):
                continue
            entries -= 1
            if entry.size >= room or entries < 0 or not self._make_folder(entry):
                left += 1
                continue
            room -= entry.size
            if entry.kind != "folder":
                wanted[entry.path] = entry
        return wanted, left

    def _remove_missing(self, copied: FileTree) -> FileTree:
        """Delete entries that are missing at the service, and return the previously identical entries without
        them.
        """
        base = dict(self._base.entries)
        for entry in find_removed(self._base, copied):
            if self._files.find(entry.path) == entry:
                with suppress(SandboxError):
                    self._files.remove(entry, recursive=False)
                    del base[entry.path]
        return FileTree(base)

    def _make_folder(self, entry: FileEntry) -> bool:
        """Create the entry if it is a folder; return False if that failed."""
        try:
            if entry.kind == "folder":
                self._files.make_folder(entry.path)
        except SandboxError:
            return False
        return True

    async def _receive(self, wanted: Mapping[str, FileEntry]) -> int:
        """Fetch files, and return how many could not be fetched."""
        if not wanted:
            return 0
        missing = dict(wanted)
        limit = sum(one.size for one in wanted.values()) + OVERHEAD_BYTES
        async with aclosing(self._station.pull(list(wanted))) as pieces:
            reader = EntryReader(pieces, limit=limit)
            while (entry := await reader.next_entry()) is not None:
                expected = missing.get(entry.path)
                if expected is None or entry.kind != expected.kind or entry.size > expected.size:
                    continue
                with suppress(SandboxError):
                    await receive_entry(self._files, entry, reader, recursive=False)
                    del missing[entry.path]
        return len(missing)


class SandboxService:
    """The service, shared by all sandboxes of a data directory. `used`: threads that have run a command
    there.
    """

    def __init__(self, address: ServiceAddress, home: Path) -> None:
        self.address, self.used = address, set[str]()
        self._file, self._home = home / HOME_NAME, ""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, thread_id: str) -> asyncio.Lock:
        """Return the lock for a thread's commands, shared by all its sandboxes."""
        return self._locks.setdefault(thread_id, asyncio.Lock())

    async def name_of(self, thread_id: str) -> str:
        """Return the name of the thread's sandbox at the service, unique across data directories."""
        if not self._home:
            self._home = await asyncio.to_thread(_read_home_name, self._file)
        return f"{self._home}-{sha256(thread_id.encode()).hexdigest()[:24]}"

    async def close(self) -> None:
        """Delete all copies. Raises SandboxUnavailable."""
        while self.used:
            thread_id = next(iter(self.used))
            await RemoteStation(self.address.client, await self.name_of(thread_id)).close()
            self.used.discard(thread_id)


@dataclass(eq=False, kw_only=True, repr=False)
class RemoteSandboxProvider(FolderProvider[RemoteSandbox]):
    """A `SandboxProvider` whose commands run at a service, which deletes idle copies itself."""

    kind = "remote"
    service: SandboxService = field(kw_only=False)

    def _make(self, settings: FolderSettings) -> RemoteSandbox:
        return RemoteSandbox(service=self.service, **settings)

    async def missing(self) -> str:
        """Check that the service responds and accepts the token. Raises SandboxUnavailable."""
        await RemoteStation(self.service.address.client, await self.service.name_of("check")).close()
        return ""

    async def close(self) -> None:
        """Delete the copies. Raises SandboxUnavailable."""
        await self.service.close()

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> RemoteSandboxProvider:
        """Create the provider from the keys of the section `sandbox`. Raises SandboxUnavailable."""
        options = read_options(RemoteOptions, keys)
        address = ServiceAddress(
            options.url,
            options.token.get_secret_value() if options.token else "",
            options.timeout_seconds,
            _make_verify(options),
        )
        limits = SandboxLimits(seconds=options.seconds, disk_mb=options.disk_mb)
        return cls(
            around.folders,
            SandboxService(address, around.home),
            limits=limits,
            read_only=around.read_only,
            variables=read_variables(options),
            facts=SandboxFacts(seconds=options.seconds),
        )


def _make_verify(options: RemoteOptions) -> ssl.SSLContext | bool:
    if not options.verify or options.url.startswith("http:"):
        return False
    try:
        return private_tls_context(options.ca_file)
    except OSError as error:
        raise SandboxUnavailable(f"sandbox.ca_file in the configuration: {error.strerror}.") from None


def _add_notes(result: CommandResult, refused: Sequence[str], left: str) -> CommandResult:
    notes = [left] if left else []
    if refused:
        notes.insert(0, f"{_count_files(len(refused))} not copied to the sandbox, for example {refused[0]}.")
    if not notes:
        return result
    output = result.output + "".join(f"\n[{note}]\n" for note in notes)
    return CommandResult(output, result.exit_code, result.truncated, result.stopped)


def _count_files(files: int) -> str:
    return "1 file was" if files == 1 else f"{files} files were"


def _read_home_name(file: Path) -> str:
    """Return the prefix of this data directory, created on first use. Blocks."""
    make_private_folder(file.parent)
    if not file.exists():
        part = file.with_name(f"{file.name}-{token_hex(8)}")
        part.write_text(token_hex(8), encoding="ascii")
        with suppress(FileExistsError):
            # A link is atomic, and the first writer wins.
            os.link(part, file)
        part.unlink()
    return file.read_text(encoding="ascii").strip()
