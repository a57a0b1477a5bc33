"""Implementations of `roebot backup` and `roebot restore`, and the check of the newest backup."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.config.database import read_database_url
from agent.config.errors import ConfigErrors, UnsetVariable
from bot.app.home import find_service
from bot.cli.common import home_folder
from bot.cli.doctor import Finding
from bot.errors import BackupFailed, StartError
from bot.features.backup.backup import back_up
from bot.features.backup.copies import last_backup
from bot.features.backup.restore import restore

DAY = 86_400.0
OLD_BACKUP = 7 * DAY


def backup_command(archive: Path | None, home: Path | None, file: Path | None) -> int:
    """Write an archive and return the exit code. A failure prints one line to stderr and returns 1.

    Raises ConfigErrors.
    """
    folder = home_folder(home)
    on_postgres = _uses_postgres(file, folder)
    target = archive or Path(f"roebot-backup-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    try:
        report = back_up(folder, target.resolve(), _tell, on_postgres=on_postgres)
    except BackupFailed as error:
        return _report_failure("backup", error)
    size = target.stat().st_size / 1e6
    print(f"{target}: {report.manifest.files} files, {size:.1f} MB")
    if report.skipped:
        print(f"Entries skipped because they are not regular files: {report.skipped}")
    if on_postgres:
        print("Not included: the database of database.url. Back it up with pg_dump at the same time.")
    print("Not included: config.yaml and environment variables, which contain the tokens.")
    return 0


def restore_command(archive: Path, home: Path | None, *, replace: bool) -> int:
    """Restore the data directory and return the exit code. A failure prints one line to stderr and returns
    1.
    """
    try:
        found = restore(archive, home_folder(home), replace=replace, tell=_tell)
    except (BackupFailed, StartError) as error:
        return _report_failure("restore", error)
    created = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.manifest.made_at))
    if found.conversations is None:
        print(f"Restored {found.home} as of {created}. Restore the PostgreSQL database with pg_restore.")
    else:
        print(f"Restored {found.home} as of {created}. Conversations: {found.conversations}.")
    if found.before is not None:
        print(f"The previous data directory is now {found.before}.")
    return 0


def find_missing_backup(folder: Path, now: float | None = None) -> Iterator[Finding]:
    """Report the age of the newest backup; yields nothing if there is nothing to back up yet."""
    now = time.time() if now is None else now
    made = last_backup(folder)
    if made is not None:
        age = (now - made) / DAY
        text = f"backup: the latest one is {age:.0f} days old"
        advice = "; create a new one with `roebot backup`"
        yield Finding(None, text + advice) if now - made > OLD_BACKUP else Finding(True, text)
        return
    with suppress(OSError):
        # The file is created at the first start and never written to.
        since = (folder / "service.lock").stat().st_mtime
        if now - since > OLD_BACKUP:
            yield Finding(
                None, "backup: none yet; `roebot backup` creates one, even while the service is running"
            )


def _uses_postgres(file: Path | None, home: Path) -> bool:
    """Return whether the data is on PostgreSQL, according to the file that is given or in use."""
    running = find_service(home)
    if file is None and running is not None and running.config:
        file = Path(running.config)
    try:
        return read_database_url(file, os.environ, Path.cwd(), home) is not None
    except ConfigErrors as errors:
        if all(isinstance(error, UnsetVariable) for error in errors.errors):
            return True  # the address is in an environment variable of the service
        raise


def _tell(line: str) -> None:
    print(f"· {line}", flush=True)


def _report_failure(what: str, error: Exception) -> int:
    print(f"roebot {what}: {error}", file=sys.stderr)
    return 1
