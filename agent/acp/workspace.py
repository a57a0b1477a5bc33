"""The folder of a thread that agents of other makers work in, and what changed there. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.sandbox.paths import ACP_WORKSPACE, Mount, VirtualPaths
from agent.uploads.folders import ThreadFolders

LOOKED_AT, NAMED = 5_000, 50
_LEFT_OUT = frozenset({"node_modules", "__pycache__"})
Seen = Mapping[str, tuple[int, int]]
"""Size and time of change of each file, by its path below the folder."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder, and how to write its paths so that the lead agent knows them."""

    folder: Path
    paths: VirtualPaths

    @classmethod
    def of(cls, folders: ThreadFolders, thread_id: str) -> Workspace:
        """The one of a thread, made where it is missing. Raises BadIdentifier."""
        folder = folders.make_acp_workspace(thread_id).absolute()
        thread = folder.parent
        hidden = {thread: "/mnt", thread.parent: "[…]", thread.parent.parent: "[…]"}
        return cls(folder, VirtualPaths([Mount(ACP_WORKSPACE, folder)], hidden))


def seen(folder: Path) -> Seen:
    """The files below the folder, the first thousands of them; hidden ones and links are left out."""
    found: dict[str, tuple[int, int]] = {}
    for path, status in _files(str(folder)):
        if len(found) >= LOOKED_AT:
            break
        found[os.path.relpath(path, folder)] = (status.st_size, status.st_mtime_ns)
    return found


def told_of(before: Seen, after: Seen) -> str:
    """A line about the files that are new or changed, by the paths that the lead agent knows; or empty."""
    names = sorted(name for name, state in after.items() if before.get(name) != state)
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"Files that it made or changed: {', '.join(_virtual(names[:NAMED]))}{more}."


def _virtual(names: Sequence[str]) -> Iterator[str]:
    return (f"{ACP_WORKSPACE}/{name}" for name in names)


def _files(root: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [root]
    while waiting:
        for entry in _scanned(waiting.pop()):
            if entry.name.startswith(".") or entry.name in _LEFT_OUT:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, entry.stat(follow_symlinks=False)


def _scanned(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
