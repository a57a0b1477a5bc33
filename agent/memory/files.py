"""The data directory of memories: JSON files by scope, the update queue, and lock files. Blocking."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from pydantic import ValidationError

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.core.paths import make_private_folder
from agent.memory.queue import MemoryUpdateQueue
from agent.memory.scopes import file_name
from agent.shared.atomic_file import replace_file
from agent.shared.last_good import Stamp, file_stamp
from agent.shared.memory_document import MemoryDocument
from agent.shared.recent_items import RecentItems

log = structlog.get_logger(__name__)
FOLDER_MODE, FILE_MODE = 0o700, 0o600
CACHED_DOCUMENTS = 1_000
BROKEN_SUFFIX = ".broken-"


class MemoryFiles:
    """Memory documents by scope in one directory, cached by file stamp. Safe across threads and processes."""

    def __init__(self, folder: Path, *, cache_size: int = CACHED_DOCUMENTS) -> None:
        self.folder = folder
        self._cache = RecentItems[MemoryScope, tuple[Stamp | None, MemoryDocument]](cache_size)
        self._guard = threading.Lock()

    def read(self, scope: MemoryScope, *, fresh: bool = False) -> MemoryDocument:
        """Return the scope's document, or an empty one if it has no file.

        `fresh` bypasses the cache. An unreadable file is moved aside, so that nothing overwrites it.
        """
        path = self.path_of(scope)
        stamp = file_stamp(path)
        with self._guard:
            known = self._cache.get(scope)
        if known is not None and stamp is not None and known[0] == stamp and not fresh:
            return known[1]
        try:
            document = MemoryDocument.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return MemoryDocument()
        except ValidationError as error:
            aside = path.with_name(f"{path.stem}{BROKEN_SUFFIX}{time.time_ns()}")
            path.replace(aside)
            log.error("memory_file_broken", kept_as=aside.name, problems=error.error_count())
            return MemoryDocument()
        self._cache_document(scope, stamp, document)
        return document

    def write(self, scope: MemoryScope, document: MemoryDocument) -> None:
        """Replace the scope's file atomically; it is on disk on return."""
        path = self.path_of(scope)
        self.create_folder()
        replace_file(path, document.model_dump_json(indent=2))
        self._cache_document(scope, file_stamp(path), document)

    def delete(self, scope: MemoryScope) -> None:
        """Delete the scope's file and its moved-aside copies, if any."""
        path = self.path_of(scope)
        path.unlink(missing_ok=True)
        for aside in self.folder.iterdir() if self.folder.is_dir() else ():
            if aside.name.startswith(f"{path.stem}{BROKEN_SUFFIX}"):
                aside.unlink()
        with self._guard:
            self._cache.pop(scope, None)

    @contextmanager
    def lock_for_write(self) -> Iterator[None]:
        """Exclude all other writers of the directory, in this process and in others."""
        self.create_folder()
        descriptor = _open_lock_file(self.folder / ".lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def create_folder(self) -> None:
        """Create the directory, accessible only by its owner."""
        make_private_folder(self.folder)

    def path_of(self, scope: MemoryScope) -> Path:
        """Return the path of the scope's file, which need not exist."""
        return self.folder / file_name(scope)

    def _cache_document(self, scope: MemoryScope, stamp: Stamp | None, document: MemoryDocument) -> None:
        with self._guard:
            self._cache[scope] = (stamp, document)
            self._cache.move_to_end(scope)


class ProcessLock:
    """A lock file held by one process. The operating system releases it when the process exits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._descriptor: int | None = None
        self._released = False

    def try_acquire(self) -> bool:
        """Try to take the lock without waiting. Return False if it is taken, or after `release`."""
        with self._guard:
            if self._released:
                return False
            descriptor = _open_lock_file(self._path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            self._descriptor = descriptor
            return True

    def release(self) -> None:
        """Release the lock permanently; a later `try_acquire` fails."""
        with self._guard:
            self._released = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


def _open_lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE)


Clock = Callable[[], float]
"""Returns seconds since the epoch."""


class MemoryFolder:
    """A directory with `<scope>.json` for each scope, `queue.db` and lock files."""

    def __init__(self, path: Path, *, clock: Clock = time.time) -> None:
        self.path = path
        self.clock = clock
        self.files = MemoryFiles(path)
        self.queue = MemoryUpdateQueue(path / "queue.db", clock=clock)

    @property
    def worker_lock(self) -> Path:
        """Return the path of the lock held by the process that works on the queue."""
        return self.path / ".worker.lock"


def memory_folder_path(home: Path, config: MemoryConfig) -> Path:
    if config.storage_path is None:
        return home / "memory"
    return home / Path(config.storage_path).expanduser()
