"""Commands on other machines: the service `agent.sandbox.provisioner` runs them, here or in Kubernetes.

The files of a thread are at home, as they are with every provider; the service has a copy. Before a command
the copy is made like the home, after it the home like the copy. So nothing is lost with a copy, and whoever
shows, reads or deletes files has to know nothing of it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from agent.core.home import make_private_folder
from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.folder import HELD, FolderProvider, FolderSandbox
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.options import RemoteOptions, Surroundings, read_options
from agent.sandbox.provisioner.file_listing import Entry, Tree, changed, gone
from agent.sandbox.provisioner.file_stream import Frames, head
from agent.sandbox.provisioner.files import Files
from agent.sandbox.provisioner.http_client import Address, FarStation
from agent.sandbox.provisioner.local_stations import OVERHEAD, received, sent
from agent.sandbox.run_as import owning

if TYPE_CHECKING:
    from agent.core.state import ThreadData

HOME_NAME = Path("sandbox", "remote-name")
"""Below the home: what its sandboxes are called at the service."""
ENDING_SECONDS = 120.0
"""What a service may take to start a command and to end it, beside the command's own time."""
KEPT_OF_OUTPUT = 2
"""A service that keeps to its limits sends no more than so many times what we would keep."""


class RemoteSandbox(FolderSandbox):
    """A thread's folders at home, and its copy at the service. See `agent.core.interfaces.Sandbox`.

    One command runs at a time. What is written at home meanwhile stays, and is in the copy for the next one.
    """

    def __init__(
        self,
        thread_id: str,
        folders: ThreadData,
        *,
        far: Far,
        limits: SandboxLimits,
        read_only: Mapping[str, Path],
    ) -> None:
        super().__init__(thread_id, folders, read_only=read_only, limits=limits)
        self._far, self._shared = far, tuple(read_only)

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """See `Sandbox`. Raises SandboxUnavailable, and SandboxError where the service breaks off."""
        self.check()
        async with self._far.lock(self.thread_id), self._far.address.client() as client:
            station = FarStation(client, await self._far.name_of(self.thread_id))
            await station.open(self._shared)
            self._far.used.add(self.thread_id)
            home = await asyncio.to_thread(Copy, self, station)
            refused = await home.send()
            result = await self._run(station, command, self.limits.time_for(seconds))
            left = await home.fetch()
            room = await asyncio.to_thread(lambda: self.room(self.ready()))
        return _noted(self.mask_result(result, room), refused, left)

    async def _run(self, station: FarStation, command: str, seconds: float) -> CommandResult:
        try:
            async with asyncio.timeout(seconds + ENDING_SECONDS):
                result = await station.run(command, seconds)
        except TimeoutError:
            raise SandboxError("The sandbox service did not end the command in time.") from None
        most = KEPT_OF_OUTPUT * self.limits.output_bytes
        if len(result.output) <= most:
            return result
        return CommandResult(result.output[:most], result.exit_code, True, result.stopped)


class Copy:
    """The copy of a thread's folders at the service, for one command. Making one blocks."""

    def __init__(self, sandbox: RemoteSandbox, station: FarStation) -> None:
        self._sandbox, self._station = sandbox, station
        self._files = Files(sandbox.paths, owning(sandbox.user), sandbox.limits.disk_files)
        self._base = Tree({})

    async def send(self) -> Sequence[str]:
        """Make the copy like the home; the paths where that could not be done."""
        home = await asyncio.to_thread(self._home)
        far = await self._station.tree()
        lost, new = list(gone(far, home)), changed(far, home)
        refused = await self._station.push(self._sent(lost, new)) if lost or new else []
        without = frozenset(refused)
        own = {path: entry for path, entry in home.entries.items() if path not in without}
        self._base = self._writable(Tree(own))
        return refused

    async def fetch(self) -> str:
        """Make the home like the copy, but for what changed at home meanwhile; says what did not come."""
        try:
            far = self._writable(await self._station.tree())
            wanted, left = await asyncio.to_thread(self._prepare, far)
            left += await self._received(wanted)
        except SandboxError as error:
            return f"What the command made could not be brought here: {error}"
        if far.cut:
            return "The command made more files than there may be; not all of them could be brought here."
        return f"{_counted(left)} not kept: the thread's folders are full, or can't hold it." if left else ""

    def _home(self) -> Tree:
        self._sandbox.ready()
        return self._files.tree()

    async def _sent(self, lost: Sequence[Entry], new: Sequence[Entry]) -> AsyncIterator[bytes]:
        for entry in lost:
            yield head(Entry(entry.path, "gone"))
        for entry in new:
            if entry.kind == "folder":
                yield head(entry)
            else:
                async for piece in sent(self._files, [entry.path]):
                    yield piece

    def _writable(self, tree: Tree) -> Tree:
        own = tuple(f"{mount.virtual}/" for mount in self._sandbox.paths.mounts if mount.writable)
        return Tree({path: one for path, one in tree.entries.items() if path.startswith(own)}, tree.cut)

    def _prepare(self, far: Tree) -> tuple[dict[str, Entry], int]:
        """Remove what is gone, make folders; the files that come, and how many have no room. Blocking."""
        base = self._without_lost(far)
        held = self._sandbox.ready()
        room, entries = self._sandbox.room(held), self._sandbox.limits.disk_files - held.entries
        wanted: dict[str, Entry] = {}
        left = 0
        for entry in changed(base, far):
            if self._files.now(entry.path) != base.entries.get(entry.path):
                continue
            entries -= 1
            if entry.size >= room or entries < 0 or not self._made(entry):
                left += 1
                continue
            room -= entry.size
            if entry.kind != "folder":
                wanted[entry.path] = entry
        return wanted, left

    def _without_lost(self, far: Tree) -> Tree:
        """Remove what is gone at the service; what was the same on both sides, without it."""
        base = dict(self._base.entries)
        for entry in gone(self._base, far):
            if self._files.now(entry.path) == entry:
                with suppress(SandboxError):
                    self._files.remove(entry, whole=False)
                    del base[entry.path]
        return Tree(base)

    def _made(self, entry: Entry) -> bool:
        """Whether a folder could be made; anything else comes later."""
        try:
            if entry.kind == "folder":
                self._files.folder(entry.path)
        except SandboxError:
            return False
        return True

    async def _received(self, wanted: Mapping[str, Entry]) -> int:
        """Take the files; how many did not come."""
        if not wanted:
            return 0
        missing = dict(wanted)
        limit = sum(one.size for one in wanted.values()) + OVERHEAD
        async with aclosing(self._station.pull(list(wanted))) as pieces:
            reader = Frames(pieces, limit=limit)
            while (entry := await reader.next()) is not None:
                expected = missing.get(entry.path)
                if expected is None or entry.kind != expected.kind or entry.size > expected.size:
                    continue
                with suppress(SandboxError):
                    await received(self._files, entry, reader, whole=False)
                    del missing[entry.path]
        return len(missing)


class Far:
    """The service as all sandboxes of a home use it. `used`: the threads that had a command there."""

    def __init__(self, address: Address, home: Path) -> None:
        self.address, self.used = address, set[str]()
        self._file, self._home = home / HOME_NAME, ""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, thread_id: str) -> asyncio.Lock:
        """What is held by the thread's command, whichever sandbox it is of."""
        return self._locks.setdefault(thread_id, asyncio.Lock())

    async def name_of(self, thread_id: str) -> str:
        """What the service calls the thread's sandbox: no other home's has this name."""
        if not self._home:
            self._home = await asyncio.to_thread(_home_name, self._file)
        return f"{self._home}-{sha256(thread_id.encode()).hexdigest()[:24]}"

    async def close(self) -> None:
        """Have the copies of all threads deleted. Raises SandboxUnavailable."""
        async with self.address.client() as client:
            while self.used:
                await FarStation(client, await self.name_of(next(iter(self.used)))).close()
                self.used.pop()


class RemoteSandboxProvider(FolderProvider[RemoteSandbox]):
    """Sandboxes at a service. See `SandboxProvider`. After a release the copy stays; the service ends it when
    it was idle for long.
    """

    kind = "remote"

    def __init__(
        self,
        folders: Callable[[str], ThreadData],
        far: Far,
        *,
        limits: SandboxLimits | None = None,
        read_only: Mapping[str, Path] | None = None,
        held: int = HELD,
    ) -> None:
        bounds, shared = limits or SandboxLimits(), read_only or {}

        def make(thread_id: str) -> RemoteSandbox:
            return RemoteSandbox(thread_id, folders(thread_id), far=far, limits=bounds, read_only=shared)

        super().__init__(make, held=held)
        self.far = far

    async def missing(self) -> str:
        """Whether the service is there and takes the token. Raises SandboxUnavailable where not."""
        async with self.far.address.client() as client:
            await FarStation(client, await self.far.name_of("check")).close()
        return ""

    async def close(self) -> None:
        """Have the copies deleted. Raises SandboxUnavailable."""
        await self.far.close()

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> RemoteSandboxProvider:
        """By the further keys of the section `sandbox`. Raises SandboxUnavailable, naming a wrong one."""
        options = read_options(RemoteOptions, keys)
        address = Address(
            options.url,
            options.token.get_secret_value() if options.token else "",
            options.timeout_seconds,
            _verified(options),
        )
        limits = SandboxLimits(seconds=options.seconds, disk_mb=options.disk_mb)
        return cls(around.folders, Far(address, around.home), limits=limits, read_only=around.read_only)


def _verified(options: RemoteOptions) -> ssl.SSLContext | bool:
    if not options.verify or options.url.startswith("http:"):
        return False
    try:
        return ssl.create_default_context(cafile=options.ca_file)
    except OSError as error:
        raise SandboxUnavailable(f"sandbox.ca_file in the configuration: {error.strerror}.") from None


def _noted(result: CommandResult, refused: Sequence[str], left: str) -> CommandResult:
    """With a word about files that did not come across."""
    notes = [left] if left else []
    if refused:
        notes.insert(0, f"{_counted(len(refused))} not in the sandbox, such as {refused[0]}.")
    if not notes:
        return result
    output = result.output + "".join(f"\n[{note}]\n" for note in notes)
    return CommandResult(output, result.exit_code, result.truncated, result.stopped)


def _counted(files: int) -> str:
    return "1 file is" if files == 1 else f"{files} files are"


def _home_name(file: Path) -> str:
    """The name of this home, made when it is asked for first. Blocking."""
    make_private_folder(file.parent)
    if not file.exists():
        part = file.with_name(f"{file.name}-{token_hex(8)}")
        part.write_text(token_hex(8), encoding="ascii")
        with suppress(FileExistsError):
            # Whole or not at all, and the first one stays.
            os.link(part, file)
        part.unlink()
    return file.read_text(encoding="ascii").strip()
