"""`roebot backup` and `roebot restore`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bot.backup.backup import back_up
from bot.backup.restore import restore
from bot.cli.common import home_folder
from bot.errors import BackupFailed, StartError


def backup_command(archive: Path | None, home: Path | None) -> int:
    """Write the archive; exit code 1 with one line on stderr if it fails."""
    target = archive or Path(f"roebot-backup-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    try:
        made = back_up(home_folder(home), target.resolve(), _tell)
    except BackupFailed as error:
        return _failed("backup", error)
    size = target.stat().st_size / 1e6
    print(f"{target}: {made.manifest.files} files, {size:.1f} MB")
    if made.skipped:
        print(f"{made.skipped} links and the like were left out")
    print("config.yaml and the environment with its tokens are not in it.")
    return 0


def restore_command(archive: Path, home: Path | None, *, replace: bool) -> int:
    """Restore the data directory; exit code 1 with one line on stderr if it fails."""
    try:
        found = restore(archive, home_folder(home), replace=replace, tell=_tell)
    except (BackupFailed, StartError) as error:
        return _failed("restore", error)
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.manifest.made_at))
    print(f"{found.home} is as it was on {made}, with {found.conversations} conversations.")
    if found.before is not None:
        print(f"What was there is in {found.before} now.")
    return 0


def _tell(line: str) -> None:
    print(f"· {line}", flush=True)


def _failed(what: str, error: Exception) -> int:
    print(f"roebot {what}: {error}", file=sys.stderr)
    return 1
