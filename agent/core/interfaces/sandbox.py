"""The port of the place where an agent's commands run and its files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.errors import AgentError


class SandboxError(AgentError):
    """The sandbox can't do what was asked; the text says why, without a host path."""


class SandboxGone(SandboxError):
    """The sandbox was released."""


class SandboxUnavailable(SandboxError):
    """No command can be run here; the text says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed (both streams) and its exit code; None where it was stopped.

    `truncated`: the middle of a longer output was left out. `stopped`: which limit ended it, as a sentence;
    None where that was its time.
    """

    output: str
    exit_code: int | None
    truncated: bool = False
    stopped: str | None = None

    @property
    def timed_out(self) -> bool:
        """Whether it was stopped by its time-out."""
        return self.exit_code is None and self.stopped is None


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One entry of a folder: `size` in bytes, 0 for a folder."""

    name: str
    is_dir: bool
    size: int


class Sandbox(Protocol):
    """Paths are as the agent sees them: relative to the workspace, or below `/mnt/user-data`.

    All raise SandboxError: no such file, a path that leads outside, SandboxUnavailable where commands can't
    be run, and SandboxGone after the release.
    """

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a shell command in the workspace, for at most `seconds` (the sandbox's own limit otherwise)."""
        ...

    async def read_file(self, path: str) -> bytes:
        """The content of a file."""
        ...

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write or append, making the folders that are missing."""
        ...

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """The entries of a folder, by name."""
        ...


class SandboxProvider(Protocol):
    """Hands out sandboxes. The same thread always gets the same id, also after a release or a restart.

    A sandbox that nobody releases must not stay for ever: a provider gives up the ones that were unused for
    longest, or for long.
    """

    async def acquire(self, thread_id: str) -> str:
        """The id of the thread's sandbox, which is ready. Acquiring twice is one acquisition."""
        ...

    def get(self, sandbox_id: str) -> Sandbox | None:
        """The sandbox, while it is acquired."""
        ...

    async def release(self, sandbox_id: str) -> None:
        """Give it up; its files stay. Unknown ones are no error."""
        ...

    async def close(self) -> None:
        """End what it keeps running for later commands; files stay, and it can be used again.

        Raises SandboxUnavailable where that can't be done.
        """
        ...
