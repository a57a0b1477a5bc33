"""The data directory, and the grammar of identifiers, file names and virtual paths."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
import unicodedata
from contextlib import suppress
from pathlib import Path, PurePosixPath

from agent.errors import BadIdentifier

HOME_VARIABLE = "ROEBOT_HOME"
DEFAULT_HOME = ".roebot"
FOLDER_MODE = 0o700


def home_from_environment() -> Path:
    """Return `ROEBOT_HOME`, or `.roebot` in the current directory."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME)


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, accessible only by the owner. Blocking.

    The mode of an existing folder stays unchanged.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


STALE_SECONDS = 3_600
"""Age from which a folder of unfinished work is taken for a remain of a killed process."""


def make_staging_path(folder: Path, prefix: str) -> Path:
    """Return an unused path in the folder for unfinished work, and delete remains of killed processes.

    Blocking.
    """
    for path in folder.glob(f"{prefix}*"):
        # Another process may delete it at the same time.
        with suppress(FileNotFoundError):
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and time.time() - found.st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
    return folder / f"{prefix}{secrets.token_hex(8)}"


MAX_NAME_BYTES = 200
VIRTUAL_ROOT = "/mnt/user-data"
AREAS = ("workspace", "uploads", "outputs")
_THREAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]')
_SPACES = re.compile(r"\s+")


def check_thread_id(thread_id: str) -> str:
    """Return the id if it consists of 1 to 64 letters, digits, `-` and `_`. Raises BadIdentifier."""
    if not _THREAD_ID.fullmatch(thread_id):
        raise BadIdentifier("Invalid thread id.")
    return thread_id


def safe_name(name: str) -> str:
    """Return a name safe on any file system: no folders, control or bidi characters, or leading dot."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    clean = _SPACES.sub(" ", _UNSAFE.sub("", last)).strip(" .")
    return _shortened(clean or "file", MAX_NAME_BYTES)


def numbered(name: str, number: int) -> str:
    """Return the `number`-th alternative of a file name: `a.txt`, `a-2.txt`, `a-3.txt`."""
    if number == 1:
        return name
    path = PurePosixPath(name)
    suffix = f"-{number}{path.suffix}"
    return _cut(path.stem, MAX_NAME_BYTES - len(suffix.encode())) + suffix


def check_name(name: str) -> str:
    """Return the file name if `safe_name` would not change it. Raises BadIdentifier."""
    if safe_name(name) != name:
        raise BadIdentifier("Invalid file name.")
    return name


def split_virtual(path: str) -> tuple[str, tuple[str, ...]]:
    """Split `/mnt/user-data/outputs/a/b` (or `outputs/a/b`) into its area and the segments below.

    Raises BadIdentifier for other roots, empty or dotted segments and control characters.
    """
    plain = path.removeprefix("/")
    root = VIRTUAL_ROOT.removeprefix("/") + "/"
    area, *below = plain.removeprefix(root).split("/")
    if area not in AREAS or not below:
        raise BadIdentifier("The path is outside the thread's files.")
    for segment in below:
        if segment in {"", ".", ".."} or "\\" in segment or any(ord(c) < 32 for c in segment):
            raise BadIdentifier("The path is not allowed.")
    return area, tuple(below)


def _shortened(name: str, limit: int) -> str:
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= 20 else ""
    stem = name.removesuffix(suffix)
    return _cut(stem, limit - len(suffix.encode())) + suffix


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
