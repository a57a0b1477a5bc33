"""User ids for threads' commands, if the service runs as root. Functions block.

A command must not run as root, not even in a namespace: for the kernel it is the same user, which may write
/proc/sys and has no process limit. So each thread has its own user id, which owns its folders; the ids are
above those of users.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

FIRST, COUNT = 1_900_000_000, 1 << 24
DEPTH = 50
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def user_of(thread_id: str) -> int:
    """Return the user id for a thread's commands: the service's own unless it is root."""
    own = os.geteuid()
    return own or number_of(thread_id)


def number_of(thread_id: str) -> int:
    """Return the user id of a thread."""
    return FIRST + int.from_bytes(sha256(thread_id.encode()).digest()[:8]) % COUNT


def owning(user: int) -> Callable[[int], None]:
    """Return a function that sets the owner of an open file."""

    def give(descriptor: int) -> None:
        if os.fstat(descriptor).st_uid != user:
            os.fchown(descriptor, user, user)

    return give


def hand_over(folders: Iterable[Path], user: int) -> None:
    """Set the owner of folders and their content, without following links, down to a depth of 50 folders."""
    for folder in folders:
        with suppress(FileNotFoundError):
            _give(os.open(folder, _FOLDER), user, DEPTH)


def _give(descriptor: int, user: int, depth: int) -> None:
    try:
        if os.fstat(descriptor).st_uid != user:
            os.fchown(descriptor, user, user)
        for entry in os.scandir(descriptor):
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != user:
                    os.chown(entry.name, user, user, dir_fd=descriptor, follow_symlinks=False)
                if depth and entry.is_dir(follow_symlinks=False):
                    _give(os.open(entry.name, _FOLDER, dir_fd=descriptor), user, depth - 1)
    finally:
        os.close(descriptor)
