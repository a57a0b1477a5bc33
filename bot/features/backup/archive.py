"""Backup archive format: a compressed tar file that starts with a manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from agent.config.secrets_file import FILE_NAME as SECRETS_FILE
from agent.shared.tokens import AGENT_TOKEN_FILE, SERVICE_TOKEN_FILE
from bot.errors import BackupFailed
from bot.features.backup.copies import NOTE, is_copy

FORMAT = 2
KNOWN = frozenset({1, FORMAT})
"""Formats that can be restored; format 1 has no folders."""
MANIFEST = "roebot-backup.json"
INSIDE = "home"
"""Folder in the archive that holds the data directory."""
DATABASES = ("bot.db", "agent.db", "checkpoints.db")
"""Databases in copy order: each is copied before those that it refers to, so that references resolve. The
later ones may be ahead, as after a crash; recovery handles that.
"""
FIRST_COPIES = ("audit.head",)
"""Files that are copied before the databases: the recorded end of the audit log may be behind the log, but
never ahead of it.
"""
EXCLUDED = frozenset(
    {"logs", "sandbox", "service.json", "replicas", "lost+found", ".write-probe", NOTE}
    # Whoever reads an archive must not be able to sign in; a restored service generates a new token.
    | {SERVICE_TOKEN_FILE, AGENT_TOKEN_FILE, "sign-in.html", SECRETS_FILE}
)
"""Files that are recreated, or useless on another machine."""
EXCLUDED_SUFFIXES = (".lock", ".db-wal", ".db-shm", ".db-journal", ".sock", ".tmp")


@dataclass(frozen=True, slots=True)
class ArchiveManifest:
    """Manifest of an archive.

    `made_at` in seconds since the epoch, `size` of all files in bytes; `databases` are those included;
    `folders` is the number of empty folders.
    """

    format: int
    version: str
    made_at: float
    files: int
    size: int
    databases: tuple[str, ...]
    folders: int = 0

    def to_text(self) -> bytes:
        """Return the manifest in stored form."""
        return json.dumps(asdict(self), indent=2).encode()


def parse_manifest(data: bytes) -> ArchiveManifest:
    """Parse a stored manifest. Raises BackupFailed."""
    try:
        found = json.loads(data)
        manifest = ArchiveManifest(**{**found, "databases": tuple(found["databases"])})
    except (ValueError, TypeError, KeyError) as error:
        raise BackupFailed("the manifest of the archive is unreadable; the archive may be damaged") from error
    if manifest.format not in KNOWN:
        raise BackupFailed(f"the archive was created by Roebot {manifest.version} in an unsupported format")
    return manifest


def is_excluded(path: PurePosixPath) -> bool:
    """Return whether a file is excluded from archives; `path` is relative to the data directory."""
    first = path.parts[0]
    if first in EXCLUDED or is_copy(first):
        return True
    return path.name.endswith(EXCLUDED_SUFFIXES) or str(path) in DATABASES
