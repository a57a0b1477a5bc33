"""A folder in which memories are: their files, and the queue of what will change them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from agent.config.memory import MemoryConfig
from agent.memory.files import MemoryFiles
from agent.memory.queue import UpdateQueue

Clock = Callable[[], float]
"""Seconds since the epoch."""


class MemoryFolder:
    """`<scope>.json` for each scope, `queue.db`, and lock files."""

    def __init__(self, path: Path, *, clock: Clock = time.time) -> None:
        self.path = path
        self.clock = clock
        self.files = MemoryFiles(path)
        self.queue = UpdateQueue(path / "queue.db", clock=clock)

    @property
    def worker_lock(self) -> Path:
        """Held by the one process that works the queue off."""
        return self.path / ".worker.lock"


def memory_folder_path(home: Path, config: MemoryConfig) -> Path:
    """Where a home's memories are."""
    if config.storage_path is None:
        return home / "memory"
    return home / Path(config.storage_path).expanduser()
