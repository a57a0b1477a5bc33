"""The folder of a thread that agents of other makers work in, and what changed there. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.sandbox.paths import ACP_WORKSPACE, Mount, VirtualPaths
from agent.uploads.folders import ThreadFolders

MAX_FILES, MAX_NAMED = 5_000, 50
_SKIPPED = frozenset({"node_modules", "__pycache__"})
FileSnapshot = Mapping[str, tuple[int, int]]
"""Size and time of change of each file, by its path below the folder."""


@dataclass(frozen=True, slots=True)
class AcpWorkspace:
    """The folder, and how to write its paths so that the lead agent knows them."""

    folder: Path
    paths: VirtualPaths

    @classmethod
    def for_thread(cls, folders: ThreadFolders, thread_id: str) -> AcpWorkspace:
        """The one of a thread, made where it is missing. Raises BadIdentifier."""
        folder = folders.make_acp_workspace(thread_id).absolute()
        thread = folder.parent
        hidden = {thread: "/mnt", thread.parent: "[…]", thread.parent.parent: "[…]"}
        return cls(folder, VirtualPaths([Mount(ACP_WORKSPACE, folder)], hidden))


def snapshot_files(folder: Path) -> FileSnapshot:
    """The files below the folder, the first thousands of them; hidden ones and links are left out."""
    found: dict[str, tuple[int, int]] = {}
    for path, status in _walk_files(str(folder)):
        if len(found) >= MAX_FILES:
            break
        found[os.path.relpath(path, folder)] = (status.st_size, status.st_mtime_ns)
    return found


def describe_changes(before: FileSnapshot, after: FileSnapshot) -> str:
    """A line about the files that are new or changed, by the paths that the lead agent knows; or empty."""
    names = sorted(name for name, state in after.items() if before.get(name) != state)
    if not names:
        return ""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"Files that it made or changed: {', '.join(_virtual_paths(names[:MAX_NAMED]))}{more}."


def _virtual_paths(names: Sequence[str]) -> Iterator[str]:
    return (f"{ACP_WORKSPACE}/{name}" for name in names)


def _walk_files(root: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [root]
    while waiting:
        for entry in _scan_folder(waiting.pop()):
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, entry.stat(follow_symlinks=False)


def _scan_folder(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
