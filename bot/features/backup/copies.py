"""Copies of the data directory that its service does not manage: backup archives and replaced directories.

Blocking.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.shared.atomic_file import replace_file
from bot.store.person_data import PersonData

NOTE = "last-backup.json"
"""File with the time of the last backup, and the archives that were written."""
MOST_ARCHIVES = 100
REPLACED = ".before-"
"""In the name of a data directory that was replaced by a restored one. If it can't be renamed, its content is
in a folder in it whose name begins with this.
"""
RESTORING = ".restoring-"
"""Beginning of the name of the folder into which an archive is unpacked."""


def is_copy(name: str) -> bool:
    """Return whether an entry of the data directory is a replaced one, or one that is being restored."""
    return name.startswith((REPLACED, RESTORING))


def record_backup(home: Path, archive: Path, made_at: float) -> None:
    """Record that an archive has been written. Raises OSError."""
    archives = {**_load(home).get("archives", {}), str(archive): made_at}
    newest = dict(sorted(archives.items(), key=lambda item: item[1])[-MOST_ARCHIVES:])
    replace_file(home / NOTE, json.dumps({"made_at": made_at, "archives": newest}))


def last_backup(home: Path) -> float | None:
    """Return the time of the last backup, or None if there is none on record."""
    try:
        return float(_load(home)["made_at"])
    except (KeyError, TypeError, ValueError):
        return None


class BackupData(PersonData):
    """Copies of the data directory, which erasures do not affect."""

    def list_copies(self, home: Path) -> Sequence[tuple[str, float]]:
        archives = {Path(path): float(at) for path, at in _load(home).get("archives", {}).items()}
        copies = [(str(path), at) for path, at in archives.items() if path.exists()]
        replaced = [*home.parent.glob(f"{home.name}{REPLACED}*"), *home.glob(f"{REPLACED}*")]
        copies += [(str(path), path.stat().st_mtime) for path in replaced if path.is_dir()]
        return sorted(copies, key=lambda copy: copy[1])


def _load(home: Path) -> dict[str, Any]:
    try:
        found = json.loads((home / NOTE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
