"""What a thread's folders hold and what a command's processes use. Blocking; reads /proc."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_BLOCK = 512
_COUNTED = ("RssAnon:", "RssShmem:", "VmSwap:")
_ENTRY_BYTES = 512
# A name of 255 bytes more, and the kernel takes the path no longer.
_DEEPEST = 3_800


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes on the disk, and entries."""

    size: int = 0
    entries: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(self.size + other.size, self.entries + other.entries)


def held_by(folders: Iterable[Path], most_entries: int) -> Held:
    """What folders hold, counting at most so many entries, or one more; links are not followed."""
    size, entries = 0, 0
    waiting = [str(folder) for folder in folders]
    while waiting and entries <= most_entries:
        folder = waiting.pop()
        if len(os.fsencode(folder)) > _DEEPEST:
            # Too deep to be looked into by its path, and no place for honest files.
            return Held(size, most_entries + 1)
        for entry in _scanned(folder):
            entries += 1
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            # An empty file takes room too: its name and its node.
            size += status.st_blocks * _BLOCK + _ENTRY_BYTES
            if stat.S_ISDIR(status.st_mode):
                waiting.append(entry.path)
    return Held(size, entries)


def free_on(folder: Path) -> int:
    """Bytes that are free on the folder's disk for an ordinary user."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


@dataclass(frozen=True, slots=True)
class Used:
    """Bytes of memory, and of files on the disk that have no name any more."""

    memory: int
    nameless: int


def used_by(pids: Iterable[int]) -> Used:
    """What these processes use together. What they share is counted for each."""
    memory = 0
    nameless: dict[tuple[int, int], int] = {}
    for child in pids:
        memory += _memory_of(child)
        for status in _without_name(child):
            nameless[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    disk = {key: size for key, size in nameless.items() if _on_disk(key[0])}
    return Used(memory + sum(nameless.values()) - sum(disk.values()), sum(disk.values()))


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and what those did."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def companions(pid: int) -> list[int]:
    """The processes in the same namespace of processes as this one, but for itself."""
    own = _namespace(str(pid))
    found = [entry.name for entry in _scanned("/proc") if entry.name.isdigit()]
    return [int(name) for name in found if own and int(name) != pid and _namespace(name) == own]


def _namespace(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - no path, but a name
    except OSError:
        return ""


def _memory_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_COUNTED))


def _without_name(pid: int) -> Iterator[os.stat_result]:
    """The open files of a process that were removed, or never had a name (memfd)."""
    for entry in _scanned(f"/proc/{pid}/fd"):
        try:
            status = entry.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            yield status


def _on_disk(device: int) -> bool:
    """Whether a device is a real one; memory has none (major number 0)."""
    return os.major(device) != 0


def _scanned(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
