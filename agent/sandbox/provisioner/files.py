"""A thread's folders as a whole: what is in them, and how they become like those of the other side. Blocking.

A stranger's command may have made them, and an answer of the other side may be a stranger's too: every name
is opened by itself and never through a link; see `agent.sandbox.safe_files`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex

from agent.core.interfaces import SandboxError
from agent.sandbox import safe_files
from agent.sandbox.paths import Mount, Place, VirtualPaths
from agent.sandbox.provisioner.file_listing import Entry, Tree
from agent.sandbox.safe_files import Own

DEPTH, PATH_BYTES = 40, 2_000
"""What lies deeper stays where it is."""
LINK_BYTES = 4_095
_PART = ".roebot-part-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Files:
    """The folders of one thread. `own` gives what is made to who shall own it; `all_writable`: what the agent
    may only read is made here as well.
    """

    paths: VirtualPaths
    own: Own
    most: int
    all_writable: bool = False

    def make(self) -> None:
        """Make the folders."""
        for mount in self._mounts():
            safe_files.make(mount.host)

    def tree(self, *, read_only: bool = True) -> Tree:
        """What is there: at most `most` entries. Pipes, sockets and devices are left out."""
        found: dict[str, Entry] = {}
        for mount in self.paths.mounts:
            if mount.writable or read_only:
                with suppress(OSError):
                    scan = _Scan(found, self.most)
                    scan.into(os.open(mount.host, _FOLDER), mount.virtual, DEPTH)
        return Tree(found, len(found) > self.most)

    def now(self, path: str) -> Entry | None:
        """What is at a path; None where nothing is."""
        with suppress(SandboxError, OSError), self._parent(path) as (folder, name):
            return _entry(folder, name, path)
        return None

    @contextmanager
    def opened(self, path: str) -> Iterator[tuple[Entry, int]]:
        """A regular file or link to send: its entry, and a descriptor of its content. Raises SandboxError."""
        place = self._located(path)
        found = self.now(path)
        if found is not None and found.kind == "link":
            with self._parent(path) as (folder, name):
                target = os.fsencode(os.readlink(name, dir_fd=folder))
            yield _of_link(path, target), _content(target)
            return
        with safe_files.opened(place.mount.host, place.below) as descriptor:
            yield _of_status(path, os.fstat(descriptor)), os.dup(descriptor)

    def folder(self, path: str) -> None:
        """Make a folder. Raises SandboxError."""
        place = self._writable(path)
        with self._wrap_errors(), self._above(place) as (folder, name):
            if self.all_writable and not _is_folder(folder, name):
                # What no tree names may be in its place, such as a pipe.
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
            with suppress(FileExistsError):
                os.mkdir(name, safe_files.FOLDER_MODE, dir_fd=folder)
            self._own(name, folder)

    def link(self, path: str, target: bytes) -> None:
        """Make a link, in the place of what is there. Raises SandboxError."""
        place = self._writable(path)
        with self._wrap_errors(), self._above(place) as (folder, name):
            part = _PART + token_hex(8)
            os.symlink(target, os.fsencode(part), dir_fd=folder)
            try:
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(part, dir_fd=folder)
                raise

    @contextmanager
    def written(self, entry: Entry) -> Iterator[Callable[[bytes], None]]:
        """A file that comes in pieces; it takes the place of what is there when all came.

        Raises SandboxError. What fails on the way leaves nothing.
        """
        place = self._writable(entry.path)
        with self._wrap_errors(), self._above(place) as (folder, name):
            part = _PART + token_hex(8)
            descriptor = os.open(part, _NEW, safe_files.FILE_MODE, dir_fd=folder)
            try:
                yield lambda piece: _write(descriptor, piece)
                self.own(descriptor)
                os.fchmod(descriptor, 0o700 if entry.runs else safe_files.FILE_MODE)
                os.utime(descriptor, ns=(entry.changed, entry.changed))
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise
            finally:
                os.close(descriptor)

    def remove(self, entry: Entry, *, whole: bool) -> None:
        """Take away; `whole`: a folder with all that is in it, otherwise an empty one alone.

        Raises SandboxError, not where nothing is there.
        """
        self._writable(entry.path)
        if (found := self.now(entry.path)) is None:
            return
        with self._wrap_errors(), self._parent(entry.path) as (folder, name):
            if found.kind != "folder":
                os.unlink(name, dir_fd=folder)
            elif whole:
                shutil.rmtree(name, dir_fd=folder)
            else:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=folder)

    def _mounts(self) -> Iterator[Mount]:
        return (mount for mount in self.paths.mounts if mount.writable or self.all_writable)

    def _located(self, path: str) -> Place:
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise SandboxError("This path is not allowed.") from None
        return self.paths.locate(path)

    def _writable(self, path: str) -> Place:
        place = self._located(path)
        if not (place.mount.writable or self.all_writable) or not place.below:
            raise SandboxError(f"{place.mount.virtual} can only be read.")
        return place

    def _own(self, name: str, folder: int) -> None:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self.own(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        """What the system says becomes a sentence."""
        try:
            yield
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise SandboxError(f"The file can't be written: {why}.") from None

    @contextmanager
    def _above(self, place: Place) -> Iterator[tuple[int, str]]:
        """The folder that a name goes into, made where it is missing."""
        safe_files.make(place.mount.host)
        with safe_files.parent(place.mount.host, place.below, own=self.own) as found:
            yield found

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        place = self._located(path)
        with safe_files.parent(place.mount.host, place.below) as found:
            yield found


@dataclass(slots=True)
class _Scan:
    """One walk through folders; `found` gets one entry more than `most` where there are more."""

    found: dict[str, Entry]
    most: int

    def into(self, descriptor: int, path: str, depth: int) -> None:
        """All below a folder, by its descriptor, which is closed."""
        try:
            for entry in sorted(os.scandir(descriptor), key=lambda entry: entry.name):
                if len(self.found) > self.most:
                    return
                if not entry.name.startswith(_PART):
                    self._one(descriptor, entry.name, f"{path}/{entry.name}", depth)
        finally:
            os.close(descriptor)

    def _one(self, folder: int, name: str, path: str, depth: int) -> None:
        if "\\" in name or len(os.fsencode(path)) > PATH_BYTES:
            return
        entry = _entry(folder, name, path)
        if entry is None or (entry.kind == "folder" and not depth):
            return
        self.found[path] = entry
        if entry.kind == "folder":
            with suppress(OSError):
                self.into(os.open(name, _FOLDER, dir_fd=folder), path, depth - 1)


def _entry(folder: int, name: str, path: str) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return _of_link(path, os.fsencode(os.readlink(name, dir_fd=folder)))
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, "folder")
    # A second name may be anywhere: such a file is nobody's to read.
    return _of_status(path, status) if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else None


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _of_status(path: str, status: os.stat_result) -> Entry:
    runs = bool(status.st_mode & stat.S_IXUSR)
    return Entry(path, "file", status.st_size, status.st_mtime_ns, runs)


def _of_link(path: str, target: bytes) -> Entry:
    return Entry(path, "link", len(target), int.from_bytes(sha256(target).digest()[:6]))


def _write(descriptor: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(descriptor, left) :]


def _content(data: bytes) -> int:
    """A descriptor of these few bytes."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
    finally:
        os.close(writing)
    return reading
