"""Error messages for missing files that list the folder's content."""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.interfaces import DirEntry, Sandbox, SandboxError, SandboxGone, SandboxUnavailable
from agent.sandbox.paths import WORKSPACE

SHOWN = 20
"""Names of a folder that an error lists."""
NAME = 100
"""Characters of a name that are shown."""


async def read_existing(sandbox: Sandbox, path: str) -> bytes:
    """Return a file's content. Raises SandboxError, which for a missing file lists its folder's content."""
    try:
        return await sandbox.read_file(path)
    except (SandboxGone, SandboxUnavailable):
        raise
    except SandboxError as error:
        raise await _explain_missing(sandbox, path) or error from error


async def list_existing(sandbox: Sandbox, folder: str) -> Sequence[DirEntry]:
    """Return a folder's entries. Raises SandboxError, which for a missing folder lists its surroundings."""
    try:
        return await sandbox.list_dir(folder)
    except (SandboxGone, SandboxUnavailable):
        raise
    except SandboxError as error:
        raise await _explain_missing(sandbox, folder) or error from error


def no_such_file(path: str, entries: Sequence[DirEntry]) -> SandboxError:
    """Return the error for a file missing from its folder, which contains these entries."""
    whole = _absolute(path).rstrip("/")
    return _missing("file", whole, whole.rpartition("/")[0], entries)


def _missing(kind: str, path: str, folder: str, entries: Sequence[DirEntry]) -> SandboxError:
    names = _describe_names(entries)
    return SandboxError(f"no such {kind}: {path}; {folder} {f'has: {names}' if names else 'is empty'}")


def _describe_names(entries: Sequence[DirEntry]) -> str:
    """Return the names of entries on one line, or "" if `ls` would list none."""
    names = [f"{entry.name[:NAME]}/" if entry.is_dir else entry.name[:NAME] for entry in entries]
    names = [" ".join(name.split()) for name in names if not name.startswith(".")]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more])


async def _explain_missing(sandbox: Sandbox, path: str) -> SandboxError | None:
    """Return the error for a path that does not exist; None if it exists, or leads outside the sandbox."""
    missing = whole = _absolute(path).rstrip("/")
    while missing.count("/") > 1 and ".." not in whole.split("/"):
        folder, _, name = missing.rpartition("/")
        try:
            entries = await sandbox.list_dir(folder)
        except SandboxError:
            missing = folder
            continue
        if any(entry.name == name for entry in entries):
            return None
        return _missing("file or folder", whole, folder, entries)
    return None


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{WORKSPACE}/{path.removeprefix('./')}"
