"""HTTP server tokens: private files in the data directory, rotation, and a strength check."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agent.shared.atomic_file import replace_file

SERVICE_TOKEN_FILE: Final = "service.token"  # noqa: S105 - a file name
"""Token of the service: web console, management API and `/api/langgraph`."""
AGENT_TOKEN_FILE: Final = "agent.token"  # noqa: S105 - a file name
"""Token of a runtime that `roebot agent serve` started."""
LEAST_CHARACTERS: Final = 24
"""Shortest token accepted on an address that other machines can reach."""
RANDOM_BYTES: Final = 32
MAX_BYTES: Final = 4096
PLACEHOLDERS: Final = re.compile(
    r"change|example|placeholder|insert|(?:secret|server|your|roebot)[-_ ]?token|long[-_ ]secret|"
    r"<.*>|\.\.\.|…|x{6,}|^abcdef|^0?123456",
    re.IGNORECASE,
)
"""Texts that appear in the examples of our documents, or that people write where a token belongs."""
LEAST_DISTINCT: Final = 8
"""Fewest different characters of a random token; `aaaa…` has one."""


class TokenFileError(Exception):
    """A token file can't be used; the message is for display and contains no secret."""


def read_token(path: Path) -> str | None:
    """Return the token in a file, or None if there is no file. Blocking.

    Raises TokenFileError if the file is a link, belongs neither to this user nor to the folder's owner, can
    be read by others, or holds no usable token.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise TokenFileError(f"{path}: is a symbolic link. {_ADVICE}") from error
        raise TokenFileError(f"{path}: can't be read: {error.strerror}") from error
    try:
        _check_file(path, os.fstat(descriptor))
        content = os.read(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    token = content.decode("ascii", errors="replace").strip()
    if not re.fullmatch(rf"[!-~]{{{LEAST_CHARACTERS},{MAX_BYTES}}}", token):
        raise TokenFileError(
            f"{path}: contains no token of at least {LEAST_CHARACTERS} characters. {_ADVICE}"
        )
    return token


_ADVICE = "Its value may be known to others: delete the file, and a new token is generated at the next start."


def _check_file(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise TokenFileError(f"{path}: not a regular file. {_ADVICE}")
    if about.st_uid not in {os.geteuid(), path.parent.stat().st_uid}:
        raise TokenFileError(f"{path}: belongs to another user (uid {about.st_uid}). {_ADVICE}")
    if about.st_mode & 0o077:
        mode = stat.S_IMODE(about.st_mode)
        raise TokenFileError(f"{path}: others can read it (mode {mode:04o}). {_ADVICE}")


def ensure_token(path: Path) -> str:
    """Return the token in a file, generating it if necessary. Blocking. Raises TokenFileError."""
    found = read_token(path)
    if found is not None:
        return found
    with _locked(path.parent):
        return read_token(path) or _write_token(path)


def rotate_token(path: Path) -> str:
    """Replace the token in a file with a new one and return it. Blocking. Raises TokenFileError."""
    with _locked(path.parent):
        return _write_token(path)


def _write_token(path: Path) -> str:
    token = secrets.token_urlsafe(RANDOM_BYTES)
    try:
        replace_file(path, f"{token}\n", owner=path.parent.stat())
    except OSError as error:
        raise TokenFileError(f"{path}: can't be written: {error.strerror}") from error
    return token


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that two processes that start simultaneously agree on one token."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TokenFileError(f"{folder}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find_weakness(token: str) -> str | None:
    """Return why a token must not protect an address reachable from other machines, or None if it may."""
    if len(token) < LEAST_CHARACTERS:
        return f"it is shorter than {LEAST_CHARACTERS} characters"
    if PLACEHOLDERS.search(token):
        return "it is copied from an example"
    if len(set(token)) < LEAST_DISTINCT:
        return "it repeats a few characters"
    return None
