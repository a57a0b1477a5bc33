"""Erase a person's files from a thread, and quotations of them from files that the agent wrote. Blocking."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import structlog

from agent.core.schemas import ErasedFiles
from agent.errors import FileMissing
from agent.runtime.message_erasure import ErasureTarget
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadReceipts, UploadStore
from agent.uploads.transcripts import FOLDER, erase_from_transcript

log = structlog.get_logger(__name__)

LARGEST_TEXT = 5_000_000
"""Files of more bytes are not searched for quotations; a transcript of more is deleted."""
WRITTEN_BY_AGENT = ("user-data/workspace", "user-data/outputs", "acp-workspace")


def erase_files(
    folders: ThreadFolders, thread_id: str, upload_keys: Iterable[str], target: ErasureTarget
) -> ErasedFiles:
    """Delete the uploads of these idempotency keys, mask quotations in the agent's text files, and erase the
    person's messages from transcripts. A transcript that is not readable text is deleted.

    Raises BadIdentifier. A file that can't be written is counted in `failed`.
    """
    receipts, store = UploadReceipts(folders), UploadStore(folders)
    uploads = masked = failed = 0
    for key in upload_keys:
        for name in receipts.names(thread_id, key):
            try:
                store.delete_now(thread_id, name)
                uploads += 1
            except FileMissing:
                continue
        receipts.remove(thread_id, key)
    for area in WRITTEN_BY_AGENT:
        root = folders.thread(thread_id) / area
        for path, name, folder in _list_files(root):
            is_transcript = Path(path) == root / FOLDER
            try:
                masked += _erase_from_file(name, folder, target, is_transcript=is_transcript)
            except OSError:
                failed += 1
    return ErasedFiles(uploads=uploads, masked=masked, failed=failed)


def _list_files(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the folder, the name and the folder's descriptor of each file; links are not followed."""
    if root.is_symlink() or not root.is_dir():
        return
    for path, _, names, folder in os.fwalk(root, follow_symlinks=False):
        for name in names:
            yield path, name, folder


def _erase_from_file(name: str, folder: int, target: ErasureTarget, *, is_transcript: bool) -> bool:
    """Erase the person from a text file and return whether it has changed. Raises OSError."""
    if not target.mask and not is_transcript:
        return False
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return False
    text = _read_text(name, folder) if status.st_size <= LARGEST_TEXT else None
    if text is None:
        return is_transcript and _delete_transcript(name, folder, status.st_size)
    erased = erase_from_transcript(text, target) if is_transcript else target.mask.apply(text)
    if erased == text:
        return False
    _replace_file(name, folder, erased.encode(), status)
    return True


def _read_text(name: str, folder: int) -> str | None:
    """Return the text of a file, None if it is not UTF-8."""
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError:
            return None


def _delete_transcript(name: str, folder: int, size: int) -> bool:
    """Delete a transcript that can't be rewritten, and return True. The service writes none: a command has
    changed it, and whom its words belong to is unknown.
    """
    log.warning("transcript_deleted", name=name, size=size)
    os.unlink(name, dir_fd=folder)
    return True


def _replace_file(name: str, folder: int, content: bytes, status: os.stat_result) -> None:
    """Put a file with this content in the place of another one, with its owner and mode. A crash leaves one
    of them whole. The name until then is a new one: any other may be that of a file of the agent.
    """
    unfinished = f".erasing-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(unfinished, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            with suppress(PermissionError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            os.fsync(file.fileno())
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(unfinished, dir_fd=folder)
        raise
