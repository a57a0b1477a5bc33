"""A thread's files: list, read and change them for a transfer to or from another machine.

Neither the files nor the other machine are trusted: every name is opened relative to its folder and never
through a link; see `agent.sandbox.safe_files`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex

from agent.core.interfaces import SandboxError
from agent.core.paths import make_private_folder
from agent.sandbox import safe_files
from agent.sandbox.file_transfer import EntryReader, FileEntry, FileTree
from agent.sandbox.paths import Mount, MountedPath, VirtualPaths
from agent.sandbox.safe_files import Own

DEPTH, PATH_BYTES = 40, 2_000
"""Deeper entries and longer paths are not transferred."""
LINK_BYTES = 4_095
"""Bytes of a link's target, the longest that Linux takes."""
PIECE_BYTES = 1 << 20
_PART = ".roebot-part-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SandboxFiles:
    """The folders of one thread; methods block. `own` sets the owner of new files.

    At most `most` entries are listed. With `all_writable`, folders that the agent may only read are written
    too.
    """

    paths: VirtualPaths
    own: Own
    most: int
    all_writable: bool = False

    def make(self) -> None:
        for mount in self._writable_mounts():
            make_private_folder(mount.host)

    def tree(self, *, read_only: bool = True) -> FileTree:
        """List the files, without pipes, sockets and devices."""
        found: dict[str, FileEntry] = {}
        for mount in self.paths.mounts:
            if mount.writable or read_only:
                with suppress(OSError):
                    scan = _Scan(found, self.most)
                    scan.add_folder(os.open(mount.host, _FOLDER), mount.virtual, DEPTH)
        return FileTree(found, len(found) > self.most)

    def find(self, path: str) -> FileEntry | None:
        """Return the entry at a path, or None if there is none."""
        with suppress(SandboxError, OSError), self._open_parent(path) as (folder, name):
            return _find_entry(folder, name, path)
        return None

    @contextmanager
    def open_entry(self, path: str) -> Iterator[tuple[FileEntry, int]]:
        """Open a regular file or a link. Yield its entry, and a descriptor of its content. Raises
        SandboxError.
        """
        place = self._locate(path)
        found = self.find(path)
        if found is not None and found.kind == "link":
            with self._open_parent(path) as (folder, name):
                target = os.fsencode(os.readlink(name, dir_fd=folder))
            yield _entry_of_link(path, target), _pipe_with(target)
            return
        with safe_files.open_file(place.mount.host, place.below) as descriptor:
            yield _entry_of_status(path, os.fstat(descriptor)), os.dup(descriptor)

    def make_folder(self, path: str) -> None:
        """Create a folder. Raises SandboxError."""
        place = self._locate_writable(path)
        with self._wrap_errors(), self._open_new_parent(place) as (folder, name):
            if self.all_writable and not _is_folder(folder, name):
                # An entry that listings skip, such as a pipe, may be in its place.
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
            with suppress(FileExistsError):
                os.mkdir(name, safe_files.FOLDER_MODE, dir_fd=folder)
            self._set_owner(name, folder)

    def make_link(self, path: str, target: bytes) -> None:
        """Create a link, replacing any existing entry. Raises SandboxError."""
        place = self._locate_writable(path)
        with self._wrap_errors(), self._open_new_parent(place) as (folder, name):
            part = _PART + token_hex(8)
            os.symlink(target, os.fsencode(part), dir_fd=folder)
            try:
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(part, dir_fd=folder)
                raise

    @contextmanager
    def write_file(self, entry: FileEntry) -> Iterator[Callable[[bytes], None]]:
        """Write a file in pieces. It replaces an existing entry on exit; after an error nothing remains of
        it.

        Raises SandboxError.
        """
        place = self._locate_writable(entry.path)
        with self._wrap_errors(), self._open_new_parent(place) as (folder, name):
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

    def remove(self, entry: FileEntry, *, recursive: bool) -> None:
        """Delete an entry if it exists; a folder must be empty unless `recursive`. Raises SandboxError."""
        self._locate_writable(entry.path)
        if (found := self.find(entry.path)) is None:
            return
        with self._wrap_errors(), self._open_parent(entry.path) as (folder, name):
            if found.kind != "folder":
                os.unlink(name, dir_fd=folder)
            elif recursive:
                shutil.rmtree(name, dir_fd=folder)
            else:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=folder)

    def _writable_mounts(self) -> Iterator[Mount]:
        return (mount for mount in self.paths.mounts if mount.writable or self.all_writable)

    def _locate(self, path: str) -> MountedPath:
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise SandboxError("This path is not allowed.") from None
        return self.paths.locate(path)

    def _locate_writable(self, path: str) -> MountedPath:
        place = self._locate(path)
        if not (place.mount.writable or self.all_writable) or not place.below:
            raise SandboxError(f"{place.mount.virtual} is read-only.")
        return place

    def _set_owner(self, name: str, folder: int) -> None:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self.own(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise SandboxError(f"The file can't be written: {why}.") from None

    @contextmanager
    def _open_new_parent(self, place: MountedPath) -> Iterator[tuple[int, str]]:
        """Open a new entry's parent folder, creating it if missing."""
        make_private_folder(place.mount.host)
        with safe_files.parent(place.mount.host, place.below, own=self.own) as found:
            yield found

    @contextmanager
    def _open_parent(self, path: str) -> Iterator[tuple[int, str]]:
        place = self._locate(path)
        with safe_files.parent(place.mount.host, place.below) as found:
            yield found


@dataclass(slots=True)
class _Scan:
    """A walk through folders, which stops once `found` exceeds `most` entries."""

    found: dict[str, FileEntry]
    most: int

    def add_folder(self, descriptor: int, path: str, depth: int) -> None:
        """Add a folder's whole content and close its descriptor."""
        try:
            for entry in sorted(os.scandir(descriptor), key=lambda entry: entry.name):
                if len(self.found) > self.most:
                    return
                if not entry.name.startswith(_PART):
                    self._add(descriptor, entry.name, f"{path}/{entry.name}", depth)
        finally:
            os.close(descriptor)

    def _add(self, folder: int, name: str, path: str, depth: int) -> None:
        if "\\" in name or len(os.fsencode(path)) > PATH_BYTES:
            return
        entry = _find_entry(folder, name, path)
        if entry is None or (entry.kind == "folder" and not depth):
            return
        self.found[path] = entry
        if entry.kind == "folder":
            with suppress(OSError):
                self.add_folder(os.open(name, _FOLDER, dir_fd=folder), path, depth - 1)


def _find_entry(folder: int, name: str, path: str) -> FileEntry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return _entry_of_link(path, os.fsencode(os.readlink(name, dir_fd=folder)))
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return FileEntry(path, "folder")
    # The other name of a file with two may be outside of the folders.
    return _entry_of_status(path, status) if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else None


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _entry_of_status(path: str, status: os.stat_result) -> FileEntry:
    runs = bool(status.st_mode & stat.S_IXUSR)
    return FileEntry(path, "file", status.st_size, status.st_mtime_ns, runs)


def _entry_of_link(path: str, target: bytes) -> FileEntry:
    return FileEntry(path, "link", len(target), int.from_bytes(sha256(target).digest()[:6]))


def _write(descriptor: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(descriptor, left) :]


def _pipe_with(data: bytes) -> int:
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
    finally:
        os.close(writing)
    return reading


async def receive_entry(
    files: SandboxFiles, entry: FileEntry, reader: EntryReader, *, recursive: bool
) -> None:
    """Apply an entry from a stream to `files`. Raises SandboxError."""
    if entry.kind == "gone":
        await asyncio.to_thread(files.remove, entry, recursive=recursive)
    elif entry.kind == "folder":
        await asyncio.to_thread(files.make_folder, entry.path)
    elif entry.kind == "link":
        if entry.size > LINK_BYTES:
            raise SandboxError("This path is not a symbolic link.")
        target = b"".join([piece async for piece in reader.content()])
        await asyncio.to_thread(files.make_link, entry.path, target)
    else:
        await _receive_file(files, entry, reader)


async def _receive_file(files: SandboxFiles, entry: FileEntry, reader: EntryReader) -> None:
    writing = files.write_file(entry)
    write = await asyncio.to_thread(writing.__enter__)
    try:
        async for piece in reader.content():
            await asyncio.to_thread(write, piece)
    except BaseException as error:
        await asyncio.to_thread(writing.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(writing.__exit__, None, None, None)


async def send_files(files: SandboxFiles, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
    """Yield files and links as a stream, omitting those that can't be read.

    Raises SandboxError if a file shrinks in the meantime.
    """
    for path in paths:
        opening = files.open_entry(path)
        try:
            entry, descriptor = await asyncio.to_thread(opening.__enter__)
        except SandboxError:
            continue
        # A buffered file is closed after the read that a cancelled caller has left behind in a thread.
        with os.fdopen(descriptor, "rb") as file:
            try:
                yield entry.head()
                left = entry.size
                while left:
                    piece = await asyncio.to_thread(file.read, min(left, PIECE_BYTES))
                    if not piece:
                        raise SandboxError("A file was truncated while it was being read.")
                    left -= len(piece)
                    yield piece
            finally:
                await asyncio.to_thread(opening.__exit__, None, None, None)
