"""The data directory: its location, checks, lock, and the file that contains its service's address."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from platform import node
from typing import IO

from agent.shared.atomic_file import replace_file
from agent.shared.install_hints import STOP
from agent.shared.replica_folder import replica_folder
from bot.errors import HomeUnusable, StartError

VARIABLE = "ROEBOT_HOME"
PROBE_SECONDS = 0.05
"""Longest time for which `is_locked` in another process holds the lock (s)."""
REPLICA_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
FOLDERS = ("logs", "inbox", "threads")


@dataclass(frozen=True, slots=True)
class RunningService:
    """Address and configuration file of the service that owns a data directory ("": defaults, without a file;
    None: unknown), and its machine. Contains no secrets.
    """

    pid: int
    url: str
    config: str | None = None
    host: str = ""


def find_home(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Return the data directory: `--home`, then ROEBOT_HOME, then `.roebot` in the working directory."""
    if explicit is not None:
        return explicit.expanduser().resolve()
    named = env.get(VARIABLE)
    return Path(named).expanduser().resolve() if named else (cwd / ".roebot").resolve()


def prepare_home(home: Path, replica: str = "") -> None:
    """Create the data directory, accessible only by its owner. Raises HomeUnusable."""
    try:
        for folder in (home, *(home / name for name in FOLDERS), replica_folder(home, replica)):
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


def check_replica(name: str, *, has_database: bool) -> None:
    """Raise StartError unless a replica can have this name, and there is a database for it."""
    if not REPLICA_NAME.fullmatch(name):
        raise StartError(
            f"--replica: {name!r} is not a name. Use up to 32 lower-case letters, digits and hyphens."
        )
    if not has_database:
        raise StartError("--replica: replicas share a PostgreSQL database. Set database.url in config.yaml.")


@contextmanager
def lock_home(home: Path, replica: str = "") -> Iterator[None]:
    """Lock the data directory for this process, or the folder of a replica, which shares the directory with
    other replicas. Raises StartError if another service owns it.
    """
    own = replica_folder(home, replica)
    with ExitStack() as locks:
        try:
            if replica:
                _take_lock(locks.enter_context((home / "service.lock").open("a+")), fcntl.LOCK_SH)
            _take_lock(locks.enter_context((own / "service.lock").open("a+")), fcntl.LOCK_EX)
        except OSError as error:
            found = find_service(home)
            where = f" (process {found.pid}, {found.url})" if found else ""
            raise StartError(
                f"another service uses {own} already{where}. Stop it with `{STOP}`,"
                " or start this one with another --home"
                + (" or another --replica." if replica else ". Replicas share one with --replica.")
            ) from error
        try:
            yield
        finally:
            (own / "service.json").unlink(missing_ok=True)


def _take_lock(lock: IO[str], kind: int) -> None:
    """Lock a data directory. Raises OSError if another process holds the lock for longer than `is_locked`."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        time.sleep(PROBE_SECONDS)
        fcntl.flock(lock, kind | fcntl.LOCK_NB)


def is_locked(home: Path) -> bool:
    """Return whether a service uses the folder, including one that is still starting."""
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
    text = json.dumps(asdict(RunningService(os.getpid(), url, followed, node())))
    replace_file(home / "service.json", text, mode=0o600)


def find_service(home: Path) -> RunningService | None:
    """Return the service that uses a data directory on this machine, or None if none is running."""
    for folder in (home, *sorted((home / "replicas").glob("*"))):
        with suppress(OSError, ValueError, TypeError):
            found = RunningService(**json.loads((folder / "service.json").read_text()))
            if found.host in ("", node()):
                os.kill(found.pid, 0)
                return found
    return None
