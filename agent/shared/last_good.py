"""The last valid value of a file that may change or become invalid at any time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

CHECK_SECONDS = 1.0
Stamp = tuple[str, int, int, int]
T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def file_stamp(path: Path | None) -> Stamp | None:
    """Return a file's path, modification time (ns), size (bytes) and inode; None if it is not readable.

    Blocking. Two equal stamps mean that the file has not changed.
    """
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (str(path), found.st_mtime_ns, found.st_size, found.st_ino)


class LastGood(Generic[T, E]):
    """Reads a value on first use and when its stamp changes; a failed read leaves the last valid value
    active.

    `read` gets the value in force (None at first) and returns the new one; it returns the same object when
    nothing changed. `read_stamp` identifies what the file holds. Both block, run in a thread, and raise
    `error` for a file that cannot be used. `log` gets the events `NAME_reloaded` and `NAME_kept` (the latter
    once per error text).
    """

    def __init__(
        self,
        read: Callable[[T | None], T],
        read_stamp: Callable[[], Stamp | None],
        *,
        error: type[E],
        name: str,
        log: Any,
        check_seconds: float = CHECK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._read_stamp, self._error = read, read_stamp, error
        self._name, self._log = name, log
        self._check_seconds, self._clock = check_seconds, clock
        self._check_at = -math.inf
        self._stamp: Stamp | None = None
        self.value: T | None = None
        """The last good value; None before the first successful read."""
        self.problem: E | None = None
        """The reason why the current file is not in force; None if it is."""

    async def current(self) -> T:
        """Return the active value, checking the file at most once per `check_seconds`.

        Raises `error` only while there has never been a good value.
        """
        now = self._clock()
        if self.value is None:
            await asyncio.to_thread(self.load)
            self._check_at = now + self._check_seconds
        elif now >= self._check_at:
            self._check_at = now + self._check_seconds
            await asyncio.to_thread(self.refresh)
        assert self.value is not None
        return self.value

    def load(self) -> T:
        """Read the file now and activate the result. Blocking.

        If it raises `error`, the last good value stays in force.
        """
        stamp = self._read_stamp()
        return self.put(self._read(None), stamp)

    def put(self, value: T, stamp: Stamp | None) -> T:
        """Activate a value that was read or written with this stamp."""
        self.value, self._stamp, self.problem = value, stamp, None
        return value

    def refresh(self) -> None:
        """Reread the file if its stamp has changed; on failure, keep the value and log the error.
        Blocking.
        """
        try:
            stamp = self._read_stamp()
            if stamp == self._stamp:
                self.problem = None
                return
            self.put(self._read(self.value), stamp)
            self._log.info(f"{self._name}_reloaded")
        except self._error as error:
            if str(error) != str(self.problem):
                self._log.warning(f"{self._name}_kept", detail=str(error))
            self.problem = error

    def expire(self) -> None:
        """Make the next `current` check the file, however recent the last check."""
        self._check_at = -math.inf
