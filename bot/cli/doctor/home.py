"""Check that the data directory is usable and unlocked, with free space."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from bot.app.home import prepare_home
from bot.cli.doctor import Finding
from bot.errors import HomeUnusable, RoebotError
from bot.store.database import DAMAGED

DATABASES = ("bot.db", "agent.db", "checkpoints.db")
# Free space (bytes) below which the databases may soon fail, and below which they will.
LITTLE_ROOM, NO_ROOM = 1_000_000_000, 100_000_000


def usable(folder: Path) -> Iterator[Finding]:
    """Check that the directory is writable and private and that its databases can be opened."""
    if not folder.exists():
        parent = next(above for above in folder.parents if above.exists())
        if os.access(parent, os.W_OK | os.X_OK) and parent.is_dir():
            yield Finding(True, f"home: {folder} (will be created at the first start)")
        else:
            yield Finding(
                False, f"home: {folder} cannot be created in {parent}; choose another directory with --home"
            )
        return
    try:
        prepare_home(folder)
        for name in DATABASES:
            _readable(folder / name)
    except RoebotError as error:
        yield Finding(False, f"home: {error}")
        return
    yield Finding(True, f"home: {folder}")


def room(folder: Path) -> Finding:
    """Check the free space on the data directory's disk."""
    there = next(above for above in (folder, *folder.parents) if above.exists())
    free = shutil.disk_usage(there).free
    text = f"free space for the data directory: {free / 1e9:.1f} GB"
    if free < NO_ROOM:
        return Finding(
            False, f"{text}; free up space, or move the directory (see docs/howto/back-up-and-restore.md)"
        )
    return Finding(None if free < LITTLE_ROOM else True, text)


def held(folder: Path) -> Iterator[Finding]:
    """Check for a process that has locked the directory but not published its address."""
    with suppress(OSError), (folder / "service.lock").open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            yield Finding(
                False,
                f"home: a process holds {folder}/service.lock but does not respond. It is starting, "
                "stopping or stuck. If this persists, find it (run `fuser` on that file) and stop it, "
                "or choose another directory with --home",
            )


def _readable(path: Path) -> None:
    """Open a database read-only. Raises HomeUnusable."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        raise HomeUnusable(str(path), f"{error}. {DAMAGED}") from error
