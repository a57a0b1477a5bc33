"""What an archive of a home is: a compressed tar file that begins with what it says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from bot.errors import BackupFailed

FORMAT = 2
KNOWN = frozenset({1, FORMAT})
"""Formats that can be restored; 1 has no folders."""
MANIFEST = "roebot-backup.json"
INSIDE = "home"
"""The folder of the archive that the home is in."""
DATABASES = ("bot.db", "agent.db", "checkpoints.db")
"""In the order in which they are copied: what refers to something goes first, so that what it refers to is
there and maybe further on, as after a crash, which recovery is made for."""
LAST = "last-backup.json"
"""The file of a home that says when the last archive of it was made."""
LEFT_OUT = frozenset({"logs", "sandbox", "service.json", ".write-probe", LAST})
"""What is made anew, or is of no use elsewhere."""
ENDINGS_LEFT_OUT = (".lock", ".db-wal", ".db-shm", ".db-journal", ".sock", ".tmp")


@dataclass(frozen=True, slots=True)
class ArchiveManifest:
    """What an archive says of itself. `made_at` in seconds since the epoch, `size` of all files in bytes;
    `databases` names those that are in it; `folders` counts those that no file is in.
    """

    format: int
    version: str
    made_at: float
    files: int
    size: int
    databases: tuple[str, ...]
    folders: int = 0

    def to_text(self) -> bytes:
        """The stored form."""
        return json.dumps(asdict(self), indent=2).encode()


def manifest_in(data: bytes) -> ArchiveManifest:
    """The manifest of a stored form. Raises BackupFailed."""
    try:
        found = json.loads(data)
        manifest = ArchiveManifest(**{**found, "databases": tuple(found["databases"])})
    except (ValueError, TypeError, KeyError) as error:
        raise BackupFailed("what the archive says of itself can't be read, so it may be damaged") from error
    if manifest.format not in KNOWN:
        raise BackupFailed(
            f"the archive was made by Roebot {manifest.version} in a format that this version does not know"
        )
    return manifest


def is_left_out(path: PurePosixPath) -> bool:
    """Whether a file of a home does not go into an archive; `path` is below the home."""
    return path.parts[0] in LEFT_OUT or path.name.endswith(ENDINGS_LEFT_OUT) or str(path) in DATABASES
