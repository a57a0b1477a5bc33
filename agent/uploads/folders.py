"""Folders of a thread in the data directory: `threads/{thread_id}/user-data/{workspace,uploads,outputs}`.

All functions block.
"""

from __future__ import annotations

import mimetypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agent.core.interfaces import SandboxError
from agent.core.paths import (
    VIRTUAL_ROOT,
    check_thread_id,
    make_private_folder,
    numbered,
    safe_name,
    split_virtual,
)
from agent.errors import BadIdentifier, FileMissing
from agent.sandbox.safe_files import open_file
from agent.shared.atomic_file import replace_file

FOLDER_MODE = 0o700
FILE_MODE = 0o600
UPLOADS = f"{VIRTUAL_ROOT}/uploads"
OUTPUTS = f"{VIRTUAL_ROOT}/outputs"
BINARY = "application/octet-stream"
_INLINE = frozenset({"application/pdf", "application/json", "text/plain", "text/markdown", "text/csv"})
_INLINE_FAMILIES = ("image/", "audio/", "video/")
_ACTIVE = frozenset({"image/svg+xml"})


class ThreadFolders:
    """The folders of all threads. Every method raises BadIdentifier for an invalid thread id."""

    def __init__(self, home: Path) -> None:
        self.home = home
        """The data directory."""
        self._threads = home / "threads"

    def thread(self, thread_id: str) -> Path:
        """Return a thread's folder, which need not exist."""
        return self._threads / check_thread_id(thread_id)

    def area(self, thread_id: str, area: str) -> Path:
        """Return the folder `workspace`, `uploads` or `outputs`, which need not exist."""
        return self.thread(thread_id) / "user-data" / area

    def make(self, thread_id: str, area: str) -> Path:
        """Create an area and its missing parents with mode 0700.

        Raises BadIdentifier if a part of its path is a symbolic link.
        """
        return self._create(self.area(thread_id, area))

    def make_acp_workspace(self, thread_id: str) -> Path:
        """Create the folder for external (ACP) agents working on the thread, like `make`."""
        return self._create(self.thread(thread_id) / "acp-workspace")

    def _create(self, path: Path) -> Path:
        make_private_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if path.resolve() != self._threads.resolve() / path.relative_to(self._threads):
            raise BadIdentifier("The thread's folder is a link.")
        return path

    def find(self, thread_id: str, virtual_path: str) -> Path:
        """Return the host path of a regular file. Raises BadIdentifier (outside) or FileMissing.

        A command may replace the file at any moment; read it with `open_file`.
        """
        area, below = split_virtual(virtual_path)
        root = self.area(thread_id, area)
        path = root.joinpath(*below)
        try:
            real = path.resolve(strict=True)
            expected_root = self._threads.resolve(strict=True) / root.relative_to(self._threads)
        except OSError as error:
            raise FileMissing("There is no such file.") from error
        if not real.is_relative_to(expected_root):
            raise BadIdentifier("This path leads outside the thread's files.")
        if not real.is_file():
            raise FileMissing("There is no such file.")
        return real

    @contextmanager
    def open_file(self, thread_id: str, virtual_path: str) -> Iterator[int]:
        """Open a regular file without following links, and yield its descriptor.

        Raises BadIdentifier (a link, or outside) or FileMissing.
        """
        found = self.find(thread_id, virtual_path)
        area, below = split_virtual(virtual_path)
        try:
            with open_file(self.area(thread_id, area), below) as descriptor:
                yield descriptor
        except SandboxError as error:
            if found.is_file():
                raise BadIdentifier(str(error)) from None
            raise FileMissing("There is no such file.") from None

    def files(self, thread_id: str, area: str) -> Iterator[Path]:
        """Yield the regular files directly in an area by name, except links and hidden files."""
        folder = self.area(thread_id, area)
        if not folder.is_dir() or folder.is_symlink():
            return
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                yield path

    def write_output(self, thread_id: str, name: str, content: bytes) -> Path:
        """Write a new file to `outputs` under a safe, unused name, and return its path."""
        folder = self.make(thread_id, "outputs")
        path, descriptor = create_unique(folder, safe_name(name))
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return path

    def remove(self, thread_id: str) -> bool:
        """Delete all local data of a thread without following links; return False if there was none."""
        path = self.thread(thread_id)
        if path.is_symlink():
            path.unlink()
            return True
        if not path.exists():
            return False
        shutil.rmtree(path)
        return True


def create_unique(folder: Path, name: str) -> tuple[Path, int]:
    """Create an empty file under the first unused variant of `name`; return its path and descriptor."""
    number = 1
    while True:
        path = folder / numbered(name, number)
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        except FileExistsError:
            number += 1


class ThreadRecords:
    """JSON files by name, in a folder of each thread that is out of reach of sandboxes. Methods block."""

    folder: ClassVar[str]

    def __init__(self, folders: ThreadFolders) -> None:
        self._folders = folders

    def remove(self, thread_id: str, name: str) -> None:
        """Delete a record if it exists."""
        self._path(thread_id, name).unlink(missing_ok=True)

    def _put(self, thread_id: str, name: str, text: str) -> None:
        """Replace a record, creating its folder if it is missing. Raises OSError."""
        path = self._path(thread_id, name)
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        replace_file(path, text)

    def _path(self, thread_id: str, name: str) -> Path:
        return self._folders.thread(thread_id) / self.folder / f"{name}.json"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file for download; `inline` is true if a browser may display it because it has no active content."""

    path: Path
    filename: str
    mime_type: str
    inline: bool


def open_artifact(folders: ThreadFolders, thread_id: str, path: str) -> Artifact:
    """Return the artifact at a virtual path. Raises BadIdentifier or FileMissing."""
    real = folders.find(thread_id, path)
    mime_type = mime_type_of(real.name)
    inline = mime_type not in _ACTIVE and (mime_type in _INLINE or mime_type.startswith(_INLINE_FAMILIES))
    return Artifact(real, real.name, mime_type, inline)


def mime_type_of(name: str) -> str:
    """Return the media type of a file name; compressed and unknown files are plain bytes."""
    known = {".md": "text/markdown", ".svg": "image/svg+xml"}
    if kind := known.get(Path(name).suffix.lower()):
        return kind
    guessed, encoding = mimetypes.guess_type(name)
    return BINARY if guessed is None or encoding else guessed
