"""File access in a folder that untrusted programs may change at any moment. Functions block.

Every name of a path is opened relative to the descriptor of its folder, and never through a link, so swapping
names between check and use has no effect. A file with a second name (hard link) is refused, since it may be
outside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from agent.core.interfaces import DirEntry, SandboxError
from agent.core.paths import make_private_folder

FILE_BYTES = 10_000_000
FOLDER_MODE, FILE_MODE = 0o700, 0o600
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for its other end.
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_COPY = 1 << 20

Own = Callable[[int], None]
"""Sets the owner of a new file by its descriptor."""


def keep_owner(_descriptor: int) -> None:
    """Leave the owner unchanged."""


def read(root: Path, below: Sequence[str], limit: int = FILE_BYTES, *, hard_links: bool = False) -> bytes:
    """Return a file's content of up to `limit` bytes. Raises SandboxError; `hard_links` permits them."""
    with open_file(root, below, hard_links=hard_links) as descriptor:
        if os.fstat(descriptor).st_size > limit:
            raise SandboxError(
                f"The file is larger than {limit // 1_000_000} MB; read part of it with a command."
            )
        content = bytearray()
        while len(content) <= limit and (piece := os.read(descriptor, _COPY)):
            content += piece
        return bytes(content[:limit])


@contextmanager
def open_file(root: Path, below: Sequence[str], *, hard_links: bool = False) -> Iterator[int]:
    """Open a regular file for reading, and yield its descriptor. Raises SandboxError."""
    with parent(root, below) as (folder, name):
        descriptor = _open(name, os.O_RDONLY | _FILE, folder)
    try:
        _check_regular(descriptor, hard_links=hard_links)
        yield descriptor
    finally:
        os.close(descriptor)


def write(
    root: Path, below: Sequence[str], content: bytes, *, append: bool = False, own: Own = keep_owner
) -> None:
    """Write or append to a file, creating missing folders. Raises SandboxError."""
    make_private_folder(root)
    with parent(root, below, own=own) as (folder, name):
        descriptor = _open(name, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0) | _FILE, folder)
    try:
        _check_regular(descriptor)
        own(descriptor)
        # Not by O_TRUNC, since the file is checked only after opening.
        if not append:
            os.ftruncate(descriptor, 0)
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError as error:
        raise SandboxError(f"The file can't be written: {error.strerror}.") from None
    finally:
        os.close(descriptor)


def entries(root: Path, below: Sequence[str]) -> list[DirEntry]:
    """Return a folder's entries by name; links have size 0. Raises SandboxError."""
    with _folder(root, below) as folder:
        return [_entry(entry) for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)]


@contextmanager
def parent(root: Path, below: Sequence[str], own: Own | None = None) -> Iterator[tuple[int, str]]:
    """Open a path's parent folder, and yield its descriptor and the last name.

    With `own`, missing folders are created. Raises SandboxError.
    """
    if not below:
        raise SandboxError("This path is a folder.")
    with _folder(root, below[:-1], own, missing="There is no such file.") as folder:
        yield folder, below[-1]


@contextmanager
def _folder(
    root: Path, below: Sequence[str], own: Own | None = None, missing: str = "There is no such folder."
) -> Iterator[int]:
    try:
        descriptor = os.open(root, _FOLDER)
    except OSError as error:
        raise _describe_error(error, missing) from None
    try:
        for name in below:
            before, descriptor = descriptor, _enter(descriptor, name, own, missing)
            os.close(before)
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(folder: int, name: str, own: Own | None, missing: str) -> int:
    made = False
    if own is not None:
        with suppress(FileExistsError):
            try:
                os.mkdir(name, FOLDER_MODE, dir_fd=folder)
                made = True
            except OSError as error:
                if not isinstance(error, FileExistsError):
                    raise _describe_error(error, missing) from None
    entered = _open(name, _FOLDER, folder, missing)
    if own is not None and made:
        own(entered)
    return entered


def _open(name: str, flags: int, folder: int, missing: str = "There is no such file.") -> int:
    try:
        return os.open(name, flags, FILE_MODE, dir_fd=folder)
    except OSError as error:
        raise _describe_error(error, missing, at=(folder, name)) from None


def _describe_error(error: OSError, missing: str, at: tuple[int, str] | None = None) -> SandboxError:
    is_link = at is not None and _is_link(*at)
    if error.errno == errno.ELOOP or is_link:
        return SandboxError("This path contains a link, which may lead outside; use the file's real path.")
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return SandboxError(missing)
    if error.errno == errno.EISDIR:
        return SandboxError("This path is a folder.")
    return SandboxError(f"The file or folder can't be opened: {error.strerror}.")


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _check_regular(descriptor: int, *, hard_links: bool = False) -> None:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise SandboxError("This path is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise SandboxError("This path is not a regular file.")
    if status.st_nlink > 1 and not hard_links:
        raise SandboxError("This file has another hard link, possibly outside the workspace. Copy it first.")


def _entry(entry: os.DirEntry[str]) -> DirEntry:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return DirEntry(entry.name, False, 0)
    is_file = stat.S_ISREG(status.st_mode)
    return DirEntry(entry.name, stat.S_ISDIR(status.st_mode), status.st_size if is_file else 0)
