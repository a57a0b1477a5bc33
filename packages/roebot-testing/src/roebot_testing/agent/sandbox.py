"""An in-memory sandbox: files in a mapping, and a shell that knows a few commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.core.interfaces import CommandResult, DirEntry, SandboxError, SandboxGone
from agent.core.paths import AREAS, VIRTUAL_ROOT
from agent.sandbox.running import GAP

SECONDS = 120.0
OUTPUT_BYTES = 100_000


class MemorySandbox:
    """Runs `echo`, `cat`, `exit`, `sleep` and `seq`, joined by `;`.

    Nothing waits: a `sleep` beyond the limit times out at once. `commands` records the calls.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.commands: list[str] = []
        self.released = False

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        self._check_held()
        self.commands.append(command)
        output, left = "", SECONDS if seconds is None else seconds
        for part in command.split(";"):
            word, _, rest = part.strip().partition(" ")
            if word == "exit":
                return _build_result(output, int(rest))
            if word == "sleep":
                left -= float(rest)
                if left < 0:
                    return _build_result(output, None)
            elif word == "echo":
                output += f"{rest}\n"
            elif word == "seq":
                output += "".join(f"{number}\n" for number in range(1, int(rest) + 1))
            elif word == "cat":
                output += (await self.read_file(rest)).decode()
            else:
                return _build_result(f"{output}{word}: not found\n", 127)
        return _build_result(output, 0)

    async def read_file(self, path: str) -> bytes:
        name = self._resolve_path(path)
        if name not in self.files:
            raise SandboxError("There is no such file.")
        return self.files[name]

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        name = self._resolve_path(path)
        if self._names_in(name):
            raise SandboxError("This is a folder.")
        self.files[name] = (self.files.get(name, b"") if append else b"") + content

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        folder = self._resolve_path(path)
        below = self._names_in(folder)
        if not below and folder not in AREAS:
            raise SandboxError("There is no such folder.")
        found: dict[str, DirEntry] = {}
        for name in below:
            first, _, more = name.removeprefix(f"{folder}/").partition("/")
            found[first] = DirEntry(first, bool(more), 0 if more else len(self.files[name]))
        return [found[name] for name in sorted(found)]

    def _names_in(self, folder: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{folder}/")]

    def _check_held(self) -> None:
        if self.released:
            raise SandboxGone("The sandbox was released.")

    def _resolve_path(self, path: str) -> str:
        self._check_held()
        parts = [part for part in PurePosixPath(path).parts if part != "."]
        if not path.startswith("/"):
            parts = [*PurePosixPath(VIRTUAL_ROOT).parts, "workspace", *parts]
        root = PurePosixPath(VIRTUAL_ROOT).parts
        inside = tuple(parts[: len(root)]) == root and len(parts) > len(root) and parts[len(root)] in AREAS
        if ".." in parts or not inside:
            raise SandboxError("This path leads outside the sandbox.")
        return "/".join(parts[len(root) :])


class MemorySandboxProvider:
    """Provides in-memory sandboxes. `held` lists the acquired ids, `log` records the calls."""

    def __init__(self, *, most: int = 1_000) -> None:
        self._most = most
        self._files: dict[str, dict[str, bytes]] = {}
        self._held: dict[str, MemorySandbox] = {}
        self.log: list[tuple[str, str]] = []

    @property
    def held(self) -> list[str]:
        """Return the ids of sandboxes that are not released, oldest first."""
        return list(self._held)

    async def acquire(self, thread_id: str) -> str:
        sandbox_id = f"memory-{thread_id}"
        if sandbox_id not in self._held:
            self.log.append(("acquired", sandbox_id))
        sandbox = self._held.pop(sandbox_id, None)
        self._held[sandbox_id] = sandbox or MemorySandbox(self._files.setdefault(sandbox_id, {}))
        while len(self._held) > self._most:
            await self.release(next(iter(self._held)))
        return sandbox_id

    def get(self, sandbox_id: str) -> MemorySandbox | None:
        return self._held.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        sandbox = self._held.pop(sandbox_id, None)
        if sandbox is not None:
            sandbox.released = True
            self.log.append(("released", sandbox_id))

    async def close(self) -> None:
        self.log.append(("closed", ""))


def _build_result(output: str, code: int | None) -> CommandResult:
    if len(output) <= OUTPUT_BYTES:
        return CommandResult(output, code)
    half = OUTPUT_BYTES // 2
    gap = GAP.format(count=len(output) - 2 * half)
    return CommandResult(f"{output[:half]}{gap}{output[-half:]}", code, truncated=True)
