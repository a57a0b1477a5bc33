"""Backup of the data directory to an archive, also while the service runs. Blocking."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import stat
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from bot.errors import BackupFailed
from bot.features.backup.archive import (
    DATABASES,
    FIRST_COPIES,
    FORMAT,
    INSIDE,
    MANIFEST,
    ArchiveManifest,
    is_excluded,
)
from bot.features.backup.copies import record_backup

PAGES = 2_000
"""Number of database pages copied at once; between batches, writers can proceed."""


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A created archive; `skipped` is the number of links and special files, which are not included."""

    path: Path
    manifest: ArchiveManifest
    skipped: int


def back_up(
    home: Path, archive: Path, tell: Callable[[str], None], *, on_postgres: bool = False
) -> BackupResult:
    """Write an archive of `home`; `tell` receives progress messages. Raises BackupFailed.

    Each database is copied as of one moment; on PostgreSQL none is, and SQLite files that are left from
    before are excluded. The archive is readable by its owner only, and gets its name once it is complete.
    """
    if not (home / ("service.lock" if on_postgres else "bot.db")).is_file():
        if on_postgres:
            raise BackupFailed(f"no service has used the data directory {home}. Set it with --home.")
        raise BackupFailed(f"{home} is not a data directory: it has no bot.db. Set it with --home.")
    if archive.exists():
        raise BackupFailed(f"{archive} already exists; choose another name, or remove it first")
    try:
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".roebot-backup-") as folder:
            databases = () if on_postgres else DATABASES
            result = _write_archive(home, archive, Path(folder), databases, tell)
        record_backup(home, archive, result.manifest.made_at)
        return result
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BackupFailed(f"the archive could not be written: {reason}") from error


def _write_archive(
    home: Path, archive: Path, folder: Path, databases: Sequence[str], tell: Callable[[str], None]
) -> BackupResult:
    copies: list[str] = []
    early = [name for name in FIRST_COPIES if (home / name).is_file()]
    for name in early:
        shutil.copyfile(home / name, folder / name)
    for name in databases:
        if (home / name).is_file():
            _copy_database(home / name, folder / name)
            tell(f"{name}: {(folder / name).stat().st_size / 1e6:.1f} MB")
            copies.append(name)
    files, folders, skipped = _collect_files(home)
    files = [(path, size) for path, size in files if str(path) not in early]
    sizes = [(folder / name).stat().st_size for name in (*copies, *early)] + [size for _, size in files]
    manifest = ArchiveManifest(
        FORMAT, version("roebot"), time.time(), len(sizes), sum(sizes), tuple(copies), len(folders)
    )
    waiting = folder / "archive"
    with waiting.open("xb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as tar:
        waiting.chmod(0o600)
        _add_member(tar, MANIFEST, io.BytesIO(manifest.to_text()), len(manifest.to_text()))
        for name in (*copies, *early):
            with (folder / name).open("rb") as file:
                _add_member(tar, f"{INSIDE}/{name}", file, (folder / name).stat().st_size)
        for path in folders:
            _add_folder(tar, f"{INSIDE}/{path}")
        tell(f"{len(files)} other files")
        for path, _ in files:
            skipped += not _add_file(tar, home, path)
    os.link(waiting, archive)
    return BackupResult(archive, manifest, skipped)


def _copy_database(database: Path, copy: Path) -> None:
    """Copy the database as of a single moment, despite concurrent writers."""
    with (
        closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        copy.chmod(0o600)
        source.backup(target, pages=PAGES)


def _collect_files(home: Path) -> tuple[list[tuple[PurePosixPath, int]], list[PurePosixPath], int]:
    """Return the included files with their sizes, the empty folders, and the number of skipped entries."""
    files: list[tuple[PurePosixPath, int]] = []
    folders: list[PurePosixPath] = []
    skipped = 0
    for path, status in _walk_home(home, PurePosixPath()):
        if stat.S_ISDIR(status.st_mode):
            folders.append(path)
        elif stat.S_ISREG(status.st_mode):
            files.append((path, status.st_size))
        else:
            skipped += 1
    filled = {folder for path, _ in files for folder in path.parents}
    return files, [folder for folder in folders if folder not in filled], skipped


def _walk_home(home: Path, folder: PurePosixPath) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
    for entry in sorted(os.scandir(home / folder), key=lambda entry: entry.name):
        path = folder / entry.name
        if is_excluded(path):
            continue
        yield path, entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_home(home, path)


def _add_folder(tar: tarfile.TarFile, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.mtime = tarfile.DIRTYPE, 0o700, time.time()
    tar.addfile(member)


def _add_file(tar: tarfile.TarFile, home: Path, path: PurePosixPath) -> bool:
    """Add a file in its current state; return False if it was deleted or is not a regular file."""
    try:
        descriptor = os.open(home / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return False
        _add_member(tar, f"{INSIDE}/{path}", file, status.st_size, status.st_mtime)
    return True


def _add_member(
    tar: tarfile.TarFile, name: str, content: io.BufferedIOBase, size: int, at: float = 0.0
) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, at or time.time()
    tar.addfile(member, _PaddedReader(content, size))


class _PaddedReader:
    """Reader that returns exactly `size` bytes, padding a file that has become shorter with zeros."""

    def __init__(self, content: io.BufferedIOBase, size: int) -> None:
        self._content, self._left = content, size

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        count = self._left if size < 0 else min(size, self._left)
        data = self._content.read(count)
        self._left -= count
        return data + b"\0" * (count - len(data))
