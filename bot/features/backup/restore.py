"""Restoration of the data directory from an archive. Blocking."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bot.app.home import lock_home, prepare_home
from bot.errors import BackupFailed
from bot.features.backup.archive import INSIDE, MANIFEST, ArchiveManifest, parse_manifest
from bot.features.backup.copies import REPLACED, RESTORING, is_copy
from bot.store.schema_version import REVISIONS

MOST_MANIFEST = 65_536
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A restored data directory; `before` is the new path of the replaced one (None if there was none).

    `conversations` is None if the archive has no database, because it is on PostgreSQL.
    """

    home: Path
    manifest: ArchiveManifest
    conversations: int | None
    before: Path | None


def restore(archive: Path, home: Path, *, replace: bool, tell: Callable[[str], None]) -> RestoreResult:
    """Restore `home` from the archive; `replace` moves an existing data directory aside.

    Nothing is changed before all checks have passed. Raises BackupFailed, and StartError if the service is
    running.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    occupied = home.exists() and any(home.iterdir())
    fixed = _is_fixed(home)
    if occupied and not replace:
        raise BackupFailed(
            f"{home} already exists. Move it aside with --replace, or choose another with --home."
        )
    try:
        with tempfile.TemporaryDirectory(dir=home if fixed else home.parent, prefix=RESTORING) as folder:
            new = Path(folder) / INSIDE
            manifest = _unpack(archive, new, tell)
            conversations = _count_conversations(new, manifest)
            put_in_place = _replace_content if fixed else _replace_home
            before = put_in_place(new, home, occupied=occupied)
    except (tarfile.TarError, EOFError, zlib.error, sqlite3.Error) as error:
        raise BackupFailed(f"{archive} is damaged, or not a backup archive ({error})") from error
    except OSError as error:
        raise BackupFailed(f"{error.filename or archive}: {error.strerror or error}") from error
    return RestoreResult(home, manifest, conversations, before)


def _unpack(archive: Path, new: Path, tell: Callable[[str], None]) -> ArchiveManifest:
    with tarfile.open(archive, "r:gz") as tar:
        first = tar.next()
        if first is None or first.name != MANIFEST or first.size > MOST_MANIFEST:
            raise BackupFailed(f"{archive} is not a backup archive; create one with `roebot backup`")
        opened = tar.extractfile(first)
        assert opened is not None
        manifest = parse_manifest(opened.read())
        tell(f"created by Roebot {manifest.version}: {manifest.files} files, {manifest.size / 1e6:.1f} MB")
        new.mkdir(mode=0o700)
        files = folders = size = 0
        while (member := tar.next()) is not None:
            size += member.size
            folders += member.isdir()
            files += not member.isdir()
            more = files > manifest.files or folders > manifest.folders
            if more or size > manifest.size + PIECE:
                raise BackupFailed(f"{archive} contains more than its manifest lists")
            _extract_member(tar, member, new)
        if files < len(manifest.databases):
            raise BackupFailed(f"{archive} contains less than its manifest lists")
    return manifest


def _extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, new: Path) -> None:
    """Extract a regular file or a folder into the new data directory. Any other member is an error."""
    path = PurePosixPath(member.name)
    inside = path.parts[:1] == (INSIDE,) and len(path.parts) > 1 and ".." not in path.parts
    if not (member.isreg() or member.isdir()) or not inside or path.is_absolute() or "\\" in member.name:
        raise BackupFailed(f"the archive contains {member.name!r}, which is not part of a backup")
    target = new.joinpath(*path.parts[1:])
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if member.isdir():
        target.mkdir(mode=0o700, exist_ok=True)
        return
    source = tar.extractfile(member)
    assert source is not None
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(source, file, PIECE)
    os.utime(target, (member.mtime, member.mtime))


def _count_conversations(new: Path, manifest: ArchiveManifest) -> int | None:
    """Check the databases and their versions, and count the conversations. None: there is no database."""
    for name in manifest.databases:
        with closing(sqlite3.connect(f"{(new / name).as_uri()}?mode=rw", uri=True)) as database:
            [status] = database.execute("PRAGMA quick_check(1)").fetchone()
            if status != "ok":
                raise BackupFailed(f"{name} in the archive is damaged: {status}")
    if not manifest.databases:
        return None
    with closing(sqlite3.connect(f"{(new / 'bot.db').as_uri()}?mode=rw", uri=True)) as database:
        found = database.execute("SELECT version_num FROM alembic_version").fetchone()
        if found is None or found[0] not in REVISIONS:
            raise BackupFailed(
                f"the archive needs Roebot {manifest.version}, which is newer; restore it with that version"
            )
        return int(database.execute("SELECT COUNT(*) FROM conversations").fetchone()[0])


def _is_fixed(home: Path) -> bool:
    """Return whether the data directory can't be renamed, such as the volume of a container."""
    return home.is_dir() and (os.path.ismount(home) or not os.access(home.parent, os.W_OK))


def _name_replaced() -> str:
    return f"{REPLACED}{time.strftime('%Y%m%d-%H%M%S')}"


def _replace_home(new: Path, home: Path, *, occupied: bool) -> Path | None:
    """Move the new data directory into place and the old one aside. Raises StartError if it is in use."""
    before = None
    if occupied:
        prepare_home(home)
        with lock_home(home):
            before = home.with_name(f"{home.name}{_name_replaced()}")
            home.rename(before)
    elif home.exists():
        home.rmdir()
    new.rename(home)
    return before


def _replace_content(new: Path, home: Path, *, occupied: bool) -> Path | None:
    """Move the old content of the data directory into a folder in it, and the new content into place. Raises
    StartError if it is in use.
    """
    before = home / _name_replaced()
    prepare_home(home)
    with lock_home(home):
        before.mkdir(mode=0o700)
        for entry in list(home.iterdir()):
            # The lock is held. lost+found belongs to the file system.
            if not is_copy(entry.name) and entry.name not in ("service.lock", "lost+found"):
                entry.rename(before / entry.name)
        for entry in list(new.iterdir()):
            entry.rename(home / entry.name)
    if occupied:
        return before
    shutil.rmtree(before)
    return None
