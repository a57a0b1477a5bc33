"""The folders of a thread below the home: `threads/{thread_id}/user-data/{workspace,uploads,outputs}`.

Blocking file work; call it through `asyncio.to_thread`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.core.home import make_private_folder
from agent.core.interfaces import SandboxError
from agent.core.virtual_paths import VIRTUAL_ROOT, check_thread_id, numbered, safe_name, split_virtual
from agent.errors import BadIdentifier, FileMissing
from agent.sandbox.safe_files import open_file
from agent.shared.atomic_file import replace_file

FOLDER_MODE = 0o700
FILE_MODE = 0o600
UPLOADS = f"{VIRTUAL_ROOT}/uploads"
OUTPUTS = f"{VIRTUAL_ROOT}/outputs"


class ThreadFolders:
    """Where the files of threads are. Every method checks the thread id first and raises BadIdentifier."""

    def __init__(self, home: Path) -> None:
        self._threads = home / "threads"

    def thread(self, thread_id: str) -> Path:
        """The thread's own folder; it need not exist."""
        return self._threads / check_thread_id(thread_id)

    def area(self, thread_id: str, area: str) -> Path:
        """The `workspace`, `uploads` or `outputs` folder; it need not exist."""
        return self.thread(thread_id) / "user-data" / area

    def make(self, thread_id: str, area: str) -> Path:
        """The area, made with mode 0700 (as is every folder above it that is missing).

        Raises BadIdentifier when a part of it is a symbolic link.
        """
        return self._made(self.area(thread_id, area))

    def make_acp_workspace(self, thread_id: str) -> Path:
        """The folder in which agents of other makers work for the thread, made as `make` does."""
        return self._made(self.thread(thread_id) / "acp-workspace")

    def _made(self, path: Path) -> Path:
        make_private_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if path.resolve() != self._threads.resolve() / path.relative_to(self._threads):
            raise BadIdentifier("The thread's folder is a link.")
        return path

    def find(self, thread_id: str, virtual_path: str) -> Path:
        """Where the regular file behind a virtual path is. Raises BadIdentifier (outside) or FileMissing.

        A command of the agent may put another in its place at any moment: read it by `opened`.
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
        """The descriptor of the regular file behind a virtual path, reached through no link.

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
        """The regular files at the top of an area, by name; links and hidden files are left out."""
        folder = self.area(thread_id, area)
        if not folder.is_dir() or folder.is_symlink():
            return
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                yield path

    def write_output(self, thread_id: str, name: str, content: bytes) -> Path:
        """Write a new file into `outputs` under a safe, unused name."""
        folder = self.make(thread_id, "outputs")
        path, descriptor = create_unique(folder, safe_name(name))
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return path

    def remove(self, thread_id: str) -> bool:
        """Delete all local data of the thread; False when there was none. Links are removed, not followed."""
        path = self.thread(thread_id)
        if path.is_symlink():
            path.unlink()
            return True
        if not path.exists():
            return False
        shutil.rmtree(path)
        return True


def create_unique(folder: Path, name: str) -> tuple[Path, int]:
    """Create an empty file under the first free variant of `name`; its path and open descriptor."""
    number = 1
    while True:
        path = folder / numbered(name, number)
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        except FileExistsError:
            number += 1


def put_private(path: Path, text: str) -> None:
    """Replace a file, creating its folder if it is missing. Blocking. Raises OSError."""
    path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    replace_file(path, text)
