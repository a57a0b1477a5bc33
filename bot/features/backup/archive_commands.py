"""Implementations of `roebot backup` and `roebot restore`, and the check of the newest backup."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bot.cli.common import home_folder
from bot.cli.doctor import Finding
from bot.errors import BackupFailed, StartError
from bot.features.backup.backup import back_up
from bot.features.backup.copies import last_backup
from bot.features.backup.restore import restore

DAY = 86_400.0
OLD_BACKUP = 7 * DAY


def backup_command(archive: Path | None, home: Path | None) -> int:
    """Write an archive and return the exit code. A failure prints one line to stderr and returns 1."""
    target = archive or Path(f"roebot-backup-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    try:
        report = back_up(home_folder(home), target.resolve(), _tell)
    except BackupFailed as error:
        return _report_failure("backup", error)
    size = target.stat().st_size / 1e6
    print(f"{target}: {report.manifest.files} files, {size:.1f} MB")
    if report.skipped:
        print(f"Entries skipped because they are not regular files: {report.skipped}")
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


def _tell(line: str) -> None:
    print(f"· {line}", flush=True)


def _report_failure(what: str, error: Exception) -> int:
    print(f"roebot {what}: {error}", file=sys.stderr)
    return 1
