"""Uploads that may be sent again: what came under a key is not kept twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.uploads.folders import ThreadFolders, put_private

FOLDER = "uploads-once"


class Once:
    """The names under which the files of an upload are kept, by its key. Blocking."""

    def __init__(self, folders: ThreadFolders) -> None:
        self._folders = folders

    def names(self, thread_id: str, key: str) -> list[str]:
        """What was kept under this key; [] where nothing was, or nobody knows."""
        with suppress(OSError, ValueError):
            found = json.loads(self._path(thread_id, key).read_bytes())
            return [str(name) for name in found] if isinstance(found, list) else []
        return []

    def write(self, thread_id: str, key: str, names: Sequence[str]) -> None:
        """Remember it. Raises OSError."""
        put_private(self._path(thread_id, key), json.dumps(list(names)))

    def _path(self, thread_id: str, key: str) -> Path:
        return self._folders.thread(thread_id) / FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
