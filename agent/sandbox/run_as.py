"""Who a thread's commands run as when the service itself is root. Blocking.

Nothing of a stranger may run as root, not even in a namespace: to the kernel it is the same user, who may
write /proc/sys and is counted by no limit of processes. So each thread has a user number of its own, and its
folders belong to that number; no machine's users are in this range.
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
    """The user number of a thread's commands: the service's own, unless it is root."""
    own = os.geteuid()
    return own or number_of(thread_id)


def number_of(thread_id: str) -> int:
    """The user number that a thread has of its own."""
    return FIRST + int.from_bytes(sha256(thread_id.encode()).digest()[:8]) % COUNT


def owning(user: int) -> Callable[[int], None]:
    """What gives a file that we made to the user, by its descriptor."""

    def give(descriptor: int) -> None:
        if os.fstat(descriptor).st_uid != user:
            os.fchown(descriptor, user, user)

    return give


def hand_over(folders: Iterable[Path], user: int) -> None:
    """Give folders and what the service put into them to the user. Links are given, never followed.

    The service makes no folders as deep as a command can, so that depth has an end.
    """
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
