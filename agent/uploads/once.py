"""Uploads that may be sent again: what came under a key is not kept twice."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.uploads.folders import FILE_MODE, FOLDER_MODE, ThreadFolders

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
        path = self._path(thread_id, key)
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        new = path.parent / f".{secrets.token_hex(8)}"
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(list(names), file)
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _path(self, thread_id: str, key: str) -> Path:
        return self._folders.thread(thread_id) / FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
