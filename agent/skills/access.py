"""Access for all users of this machine to read skills and run their programs, whatever the service's umask.

A service that runs as root runs commands as other users (see `agent.sandbox.run_as`). The folders above the
skills stay private, so only commands in a sandbox, where they are mounted, see the skills. Functions block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.core.paths import make_private_folder

FOLDER_MODE, FILE_MODE, PROGRAM_MODE = 0o755, 0o644, 0o755
MAX_DEPTH = 10
_READ, _RUN = 0o044, 0o011
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def make_open_folder(folder: Path) -> None:
    """Create a folder that every user may read; its missing parents are private."""
    make_private_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    folder.chmod(FOLDER_MODE)


def open_chain(root: Path, names: Iterable[str]) -> None:
    """Open a folder and the folders below it on a path, but not their content."""
    for folder in (root, *(root.joinpath(*parts) for parts in _prefixes(tuple(names)))):
        with suppress(OSError):
            _with_descriptor(os.open(folder, _FLAGS | os.O_DIRECTORY), 0)


def open_tree(folder: Path) -> None:
    """Give everyone the owner's read and execute permissions on a folder's content. Links are not followed.

    What cannot be changed, such as a read-only file system, stays as it is.
    """
    with suppress(OSError):
        _with_descriptor(os.open(folder, _FLAGS | os.O_DIRECTORY), MAX_DEPTH)


def _prefixes(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [names[: length + 1] for length in range(len(names))]


def _with_descriptor(descriptor: int, depth: int) -> None:
    """Make a file or folder accessible to everyone, with the folder's content down to a depth; close it."""
    try:
        found = os.fstat(descriptor).st_mode
        is_folder, mode = stat.S_ISDIR(found), stat.S_IMODE(found)
        wanted = mode | _READ | (_RUN if is_folder or mode & stat.S_IXUSR else 0)
        if wanted != mode and (is_folder or stat.S_ISREG(found)):
            os.fchmod(descriptor, wanted)
        if not is_folder or not depth:
            return
        for name in os.listdir(descriptor):
            with suppress(OSError):
                _with_descriptor(os.open(name, _FLAGS, dir_fd=descriptor), depth - 1)
    finally:
        os.close(descriptor)
