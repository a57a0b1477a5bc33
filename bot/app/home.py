"""The data directory: its location, checks, lock, and the file that contains its service's address."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from agent.shared.atomic_file import replace_file
from agent.shared.install_hints import STOP
from bot.errors import HomeUnusable, StartError

VARIABLE = "ROEBOT_HOME"
PROBE_SECONDS = 0.05
"""Longest time for which `is_locked` in another process holds the lock (s)."""
FOLDERS = ("logs", "inbox", "threads")


@dataclass(frozen=True, slots=True)
class RunningService:
    """Address and configuration file of the service that owns a data directory ("": defaults, without a file;
    None: unknown). Contains no secrets.
    """

    pid: int
    url: str
    config: str | None = None


def find_home(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Return the data directory: `--home`, then ROEBOT_HOME, then `.roebot` in the working directory."""
    if explicit is not None:
        return explicit.expanduser().resolve()
    named = env.get(VARIABLE)
    return Path(named).expanduser().resolve() if named else (cwd / ".roebot").resolve()


def prepare_home(home: Path) -> None:
    """Create the data directory, accessible only by its owner. Raises HomeUnusable."""
    try:
        for folder in (home, *(home / name for name in FOLDERS)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home / ".write-probe"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "it, or a folder above it, is a file"
        raise HomeUnusable(
            str(home), f"{reason}. Choose another folder with --home, or make this one writable."
        ) from error


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Lock the data directory for this process. Raises StartError if another service owns it."""
    with (home / "service.lock").open("a+") as lock:
        try:
            _take_lock(lock)
        except OSError as error:
            found = find_service(home)
            where = f" (process {found.pid}, {found.url})" if found else ""
            raise StartError(
                f"another service uses {home} already{where}. Stop it with `{STOP}`,"
                " or start this one with another --home."
            ) from error
        try:
            yield
        finally:
            (home / "service.json").unlink(missing_ok=True)


def _take_lock(lock: IO[str]) -> None:
    """Lock a data directory. Raises OSError if another process holds the lock for longer than `is_locked`."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        time.sleep(PROBE_SECONDS)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(home: Path) -> bool:
    """Return whether a service uses the data directory, including one that is still starting."""
    try:
        with (home / "service.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the data directory does not exist
        return False
    return False


def write_service_file(home: Path, url: str, config: Path | None) -> None:
    """Write the service's URL and configuration file to service.json. Blocking.

    Commands read it meanwhile, so it is replaced as a whole.
    """
    followed = str(config.resolve()) if config else ""
    text = json.dumps(asdict(RunningService(os.getpid(), url, followed)))
    replace_file(home / "service.json", text, mode=0o600)


def find_service(home: Path) -> RunningService | None:
    """Return the service that owns a data directory, or None if none is running."""
    try:
        found = RunningService(**json.loads((home / "service.json").read_text()))
        os.kill(found.pid, 0)
    except (OSError, ValueError, TypeError):
        return None
    return found
