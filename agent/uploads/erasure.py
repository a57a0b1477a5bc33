"""Erase a person's files from a thread, and quotations of them from files that the agent wrote. Blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.core.schemas import ErasedFiles
from agent.errors import FileMissing
from agent.shared.text_masking import TextMask
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadReceipts, UploadStore

LARGEST_TEXT = 5_000_000
"""Files of more bytes are not searched for quotations."""
WRITTEN_BY_AGENT = ("user-data/workspace", "user-data/outputs", "acp-workspace")


def erase_files(
    folders: ThreadFolders, thread_id: str, upload_keys: Iterable[str], mask: TextMask
) -> ErasedFiles:
    """Delete the uploads of these idempotency keys, and mask quotations in the agent's text files.

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
    for area in WRITTEN_BY_AGENT if mask else ():
        for name, folder in _list_files(folders.thread(thread_id) / area):
            try:
                masked += _mask_file(name, folder, mask)
            except OSError:
                failed += 1
    return ErasedFiles(uploads=uploads, masked=masked, failed=failed)


def _list_files(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and folder descriptor of each file; links are not followed."""
    if root.is_symlink() or not root.is_dir():
        return
    for _, _, names, folder in os.fwalk(root, follow_symlinks=False):
        for name in names:
            yield name, folder


def _mask_file(name: str, folder: int, mask: TextMask) -> bool:
    """Mask the quotations in a text file and return whether there were any. Raises OSError."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
        return False
    with os.fdopen(os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "r+b") as file:
        try:
            text = file.read().decode()
        except UnicodeDecodeError:
            return False
        erased = mask.apply(text)
        if erased == text:
            return False
        file.seek(0)
        file.write(erased.encode())
        file.truncate()
    return True
