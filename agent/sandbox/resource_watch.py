"""Measurement and monitoring of commands' disk and memory use. Functions block and read /proc."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from agent.sandbox.options import MEGABYTE, SandboxLimits

DISK_SECONDS = 0.25
"""Seconds between two counts of the files."""
CLEANUP_BYTES = 1_000_000
"""Bytes by which a full folder may grow before it shrinks."""
DISK_SHARE = 5
"""Counting files may take this fraction (1/5) of the time."""
_BLOCK = 512
_COUNTED = ("RssAnon:", "RssShmem:", "VmSwap:")
_ENTRY_BYTES = 512
_MAX_PATH_BYTES = 3_800
"""With a name of 255 bytes more, the kernel refuses the path (PATH_MAX is 4,096)."""


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes on disk, and number of entries."""

    size: int = 0
    entries: int = 0

    def __add__(self, other: DiskUse) -> DiskUse:
        return DiskUse(self.size + other.size, self.entries + other.entries)


def measure_folders(folders: Iterable[Path], most_entries: int) -> DiskUse:
    """Measure folders without following links. Counting stops at `most_entries`."""
    size, entries = 0, 0
    waiting = [str(folder) for folder in folders]
    while waiting and entries <= most_entries:
        folder = waiting.pop()
        if len(os.fsencode(folder)) > _MAX_PATH_BYTES:
            # Too deep to be opened by its path; only an attack makes such folders.
            return DiskUse(size, most_entries + 1)
        for entry in _scan(folder):
            entries += 1
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            # An empty file takes room for its name and its inode.
            size += status.st_blocks * _BLOCK + _ENTRY_BYTES
            if stat.S_ISDIR(status.st_mode):
                waiting.append(entry.path)
    return DiskUse(size, entries)


def free_bytes(folder: Path) -> int:
    """Return the bytes that an ordinary user can write to a folder's disk."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """Bytes of memory, and of open files that were deleted from the disk."""

    memory: int
    deleted: int


def measure_processes(pids: Iterable[int]) -> ProcessUse:
    """Measure processes together; shared memory counts for each."""
    memory = 0
    deleted: dict[tuple[int, int], int] = {}
    for child in pids:
        memory += _memory_of(child)
        for status in _deleted_files(child):
            deleted[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    disk = {key: size for key, size in deleted.items() if _on_disk(key[0])}
    return ProcessUse(memory + sum(deleted.values()) - sum(disk.values()), sum(disk.values()))


def child_processes(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def namespace_processes(pid: int) -> list[int]:
    """Return the ids of the other processes in the PID namespace of `pid`."""
    own = _namespace(str(pid))
    found = [entry.name for entry in _scan("/proc") if entry.name.isdigit()]
    return [int(name) for name in found if own and int(name) != pid and _namespace(name) == own]


def _namespace(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - the target is a name, not a path
    except OSError:
        return ""


def _memory_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_COUNTED))


def _deleted_files(pid: int) -> Iterator[os.stat_result]:
    """Yield a process's open files that were deleted or never had a name (memfd)."""
    for entry in _scan(f"/proc/{pid}/fd"):
        try:
            status = entry.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            yield status


def _on_disk(device: int) -> bool:
    """Return whether a device is a disk; in-memory file systems have the major number 0."""
    return os.major(device) != 0


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


class ResourceWatch:
    """Monitors a command. `held` is the disk use before it started.

    `processes` finds the command's processes by the one that was started. Call `over` repeatedly; it blocks.
    """

    def __init__(
        self,
        limits: SandboxLimits,
        folders: Sequence[Path],
        *,
        held: DiskUse,
        processes: Callable[[int], Sequence[int]] = child_processes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._folders, self._clock = limits, folders, clock
        self._processes = processes
        self._least, self._held = held, held
        self._next_count = clock() + DISK_SECONDS

    def over(self, pid: int) -> str | None:
        """Return why the command must stop, or None while it may run."""
        limits, used = self._limits, measure_processes(self._processes(pid))
        if used.memory > limits.memory_mb * MEGABYTE:
            return f"It used more than {limits.memory_mb} MB of memory."
        if free_bytes(self._folders[0]) < limits.free_mb * MEGABYTE:
            return "The disk is nearly full."
        if self._clock() >= self._next_count:
            started = self._clock()
            self._held = measure_folders(self._folders, limits.disk_files)
            now = self._clock()
            self._next_count = now + max(DISK_SECONDS, DISK_SHARE * (now - started))
        return self._over_disk(used.deleted)

    def _over_disk(self, deleted: int) -> str | None:
        """Check the disk limits; a command may run in a full folder if it frees space."""
        held, limits = self._held, self._limits
        size = held.size + deleted
        least = self._least
        self._least = DiskUse(min(size, least.size), min(held.entries, least.entries))
        if size > limits.disk_mb * MEGABYTE and size > least.size + CLEANUP_BYTES:
            return f"The thread's folders would exceed {limits.disk_mb} MB."
        if held.entries > limits.disk_files and held.entries > least.entries:
            return f"The thread's folders would contain more than {limits.disk_files} files."
        return None
