"""Erase a person's files from a thread, and quotations of them from files that the agent wrote. Blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.core.schemas import ErasedFiles
from agent.errors import FileMissing
from agent.runtime.message_erasure import ErasureTarget
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadReceipts, UploadStore
from agent.uploads.transcripts import FOLDER, erase_from_transcript

LARGEST_TEXT = 5_000_000
"""Files of more bytes are not searched for quotations."""
WRITTEN_BY_AGENT = ("user-data/workspace", "user-data/outputs", "acp-workspace")


def erase_files(
    folders: ThreadFolders, thread_id: str, upload_keys: Iterable[str], target: ErasureTarget
) -> ErasedFiles:
    """Delete the uploads of these idempotency keys, mask quotations in the agent's text files, and erase the
    person's messages from transcripts.

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
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
        return False
    with os.fdopen(os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "r+b") as file:
        try:
            text = file.read().decode()
        except UnicodeDecodeError:
            return False
        erased = erase_from_transcript(text, target) if is_transcript else target.mask.apply(text)
        if erased == text:
            return False
        file.seek(0)
        file.write(erased.encode())
        file.truncate()
    return True
