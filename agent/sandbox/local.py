"""The plain sandbox: folders of the host, and its shell. It keeps order; it is no security boundary."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from agent.ports.sandbox import CommandResult, DirEntry, SandboxError, SandboxGone
from agent.state import ThreadData
from agent.uploads.names import AREAS, VIRTUAL_ROOT

SECONDS = 120.0
OUTPUT_BYTES = 100_000
FILE_BYTES = 10_000_000
HELD = 1_000
FOLDER_MODE = 0o700
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")


class LocalSandbox:
    """A thread's own folders. See `agent.ports.sandbox.Sandbox`."""

    def __init__(self, folders: ThreadData, *, seconds: float, output_bytes: int) -> None:
        self._roots = {area: Path(folders[f"{area}_path"]) for area in AREAS}  # type: ignore[literal-required]
        self._seconds = seconds
        self._output_bytes = output_bytes
        self.released = False

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """See `Sandbox`. The shell gets no variable of the service but its search path and language."""
        self._check()
        workspace = self._roots["workspace"]
        await asyncio.to_thread(_make, workspace)
        given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        transport, watched = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Watched(self._output_bytes),
            "/bin/sh",
            "-c",
            command,
            cwd=workspace,
            env={**given, "HOME": str(workspace)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._seconds if seconds is None else min(seconds, self._seconds)):
                await watched.exited.wait()
            code = transport.get_returncode()
        except TimeoutError:
            code = None
        finally:
            _kill(transport.get_pid())
            await asyncio.shield(watched.closed.wait())
            transport.close()
        return CommandResult(watched.text, code, watched.truncated)

    async def read_file(self, path: str) -> bytes:
        """See `Sandbox`; at most 10 MB."""
        return await asyncio.to_thread(_read, self._at(path))

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """See `Sandbox`."""
        await asyncio.to_thread(_write, self._at(path), content, append)

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """See `Sandbox`."""
        return await asyncio.to_thread(lambda: list(_entries(self._at(path))))

    def _check(self) -> None:
        if self.released:
            raise SandboxGone("The sandbox was released.")

    def _at(self, path: str) -> _Place:
        self._check()
        area, below = _split(path)
        return _Place(self._roots[area], below)


class _Place:
    """A path below a root; `real` leads there without leaving it."""

    def __init__(self, root: Path, below: tuple[str, ...]) -> None:
        self._root, self._below = root, below

    def real(self) -> Path:
        """The host path. Raises SandboxError where a link leads outside. Blocking."""
        _make(self._root)
        path = self._root.joinpath(*self._below).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise SandboxError("This path leads outside the sandbox.")
        return path


class _Watched(asyncio.SubprocessProtocol):
    """A command at work, and what it prints: the first and the last half of what may be kept.

    `exited`: it is over itself; `closed`: and so is everything that it started.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head, self._tail = bytearray(), bytearray()
        self.truncated = False
        self.exited, self.closed = asyncio.Event(), asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._half:
            self.truncated = True
            del self._tail[: -self._half]

    def process_exited(self) -> None:
        """The shell ended."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody holds its output any more."""
        self.closed.set()

    @property
    def text(self) -> str:
        gap = b"\n[...]\n" if self.truncated else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode(errors="replace")


class LocalSandboxProvider:
    """Sandboxes in the folders that `folders` names for a thread. See `SandboxProvider`.

    `seconds` bounds a command, `output_bytes` what is kept of its output. Of more than `held` that nobody
    released, the ones acquired longest ago are given up.
    """

    def __init__(
        self,
        folders: Callable[[str], ThreadData],
        *,
        seconds: float = SECONDS,
        output_bytes: int = OUTPUT_BYTES,
        held: int = HELD,
    ) -> None:
        self._folders = folders
        self._seconds, self._output_bytes, self._held = seconds, output_bytes, held
        self._sandboxes: OrderedDict[str, LocalSandbox] = OrderedDict()

    async def acquire(self, thread_id: str) -> str:
        """See `SandboxProvider`. Raises BadIdentifier. Touches no disk."""
        sandbox_id = f"local-{thread_id}"
        if sandbox_id not in self._sandboxes:
            self._sandboxes[sandbox_id] = LocalSandbox(
                self._folders(thread_id), seconds=self._seconds, output_bytes=self._output_bytes
            )
        self._sandboxes.move_to_end(sandbox_id)
        while len(self._sandboxes) > self._held:
            _, oldest = self._sandboxes.popitem(last=False)
            oldest.released = True
        return sandbox_id

    def get(self, sandbox_id: str) -> LocalSandbox | None:
        """See `SandboxProvider`."""
        return self._sandboxes.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        """See `SandboxProvider`."""
        if (sandbox := self._sandboxes.pop(sandbox_id, None)) is not None:
            sandbox.released = True


def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """The area of a path and what is below. Raises SandboxError."""
    if "\x00" in path or "\\" in path:
        raise SandboxError("This path is not allowed.")
    parts = [part for part in PurePosixPath(path).parts if part != "."]
    if ".." in parts:
        raise SandboxError("This path leads outside the sandbox.")
    if not path.startswith("/"):
        return "workspace", tuple(parts)
    root = PurePosixPath(VIRTUAL_ROOT).parts
    if tuple(parts[: len(root)]) != root or len(parts) == len(root) or parts[len(root)] not in AREAS:
        raise SandboxError(f"This path is outside the sandbox, which is {VIRTUAL_ROOT}.")
    return parts[len(root)], tuple(parts[len(root) + 1 :])


def _make(folder: Path) -> None:
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def _read(place: _Place) -> bytes:
    path = place.real()
    if not path.is_file():
        raise SandboxError("There is no such file.")
    if path.stat().st_size > FILE_BYTES:
        raise SandboxError(
            f"The file is larger than {FILE_BYTES // 1_000_000} MB; read a part of it by a command."
        )
    return path.read_bytes()


def _write(place: _Place, content: bytes, append: bool) -> None:
    path = place.real()
    if path.is_dir():
        raise SandboxError("This is a folder.")
    try:
        _make(path.parent)
        with path.open("ab" if append else "wb") as file:
            file.write(content)
    except OSError as error:
        raise SandboxError(f"The file can't be written: {error.strerror}.") from None


def _entries(place: _Place) -> Iterator[DirEntry]:
    path = place.real()
    if not path.is_dir():
        raise SandboxError("There is no such folder.")
    for entry in sorted(path.iterdir()):
        is_dir = entry.is_dir()
        yield DirEntry(entry.name, is_dir, 0 if is_dir else entry.lstat().st_size)


def _kill(pid: int) -> None:
    """End the command and whatever it left in the background."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
