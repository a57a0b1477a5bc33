"""Replace a file atomically: readers see the old or the new content, never a part."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

PRIVATE_MODE = 0o600


def replace_file(
    path: Path, content: bytes | str, *, mode: int | None = PRIVATE_MODE, owner: os.stat_result | None = None
) -> None:
    """Write `content` to a new file in the same folder, sync it to disk and rename it to `path`.

    Text is encoded as UTF-8. With `mode` None the umask decides who may read the file. A link at `path` is
    replaced; to write to its target, resolve the path first. The new file gets the user and group of `owner`
    if the process may change them. An error leaves no file behind. Blocking. Raises OSError.
    """
    data = content.encode() if isinstance(content, str) else content
    part = path.parent / f".{secrets.token_hex(8)}.part"
    created = 0o666 if mode is None else PRIVATE_MODE
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, created)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        if owner is not None:
            with suppress(PermissionError):
                os.chown(part, owner.st_uid, owner.st_gid)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def mode_of(path: Path, default: int = PRIVATE_MODE) -> int:
    """Return the permission bits of a file, or `default` if there is none. Blocking. Raises OSError."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return default
