"""Interface of the sandbox in which an agent's commands run and its files live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.errors import AgentError


class SandboxError(AgentError):
    """The sandbox cannot do what was requested; the text says why, without a host path."""


class SandboxGone(SandboxError):
    """The sandbox was released."""


class SandboxUnavailable(SandboxError):
    """Commands cannot be run here; the text says what is missing and how to fix it."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command's output (both streams) and exit code, which is None if it was stopped.

    `truncated` is true if the middle of a long output was omitted. `stopped` is a sentence that names the
    limit that ended it; None for the time limit.
    """

    output: str
    exit_code: int | None
    truncated: bool = False
    stopped: str | None = None

    @property
    def timed_out(self) -> bool:
        """True if the time limit stopped it."""
        return self.exit_code is None and self.stopped is None


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One entry of a folder: `size` in bytes, 0 for a folder."""

    name: str
    is_dir: bool
    size: int


class Sandbox(Protocol):
    """Paths are as the agent sees them: relative to the workspace, or under `/mnt/user-data`.

    All methods raise SandboxError: no such file, a path that leads outside, SandboxUnavailable if commands
    cannot be run, and SandboxGone after the release.
    """

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a shell command in the workspace for at most `seconds` (default: the sandbox's limit)."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write or append, creating missing folders."""
        ...

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """List the entries of a folder, sorted by name."""
        ...


class SandboxProvider(Protocol):
    """Provides sandboxes. A thread always gets the same id, also after a release or a restart.

    A provider must not keep unreleased sandboxes forever: it drops those that were unused for the longest or
    for a long time.
    """

    async def acquire(self, thread_id: str) -> str:
        """Return the id of the thread's ready sandbox. Acquiring twice counts once."""
        ...

    def get(self, sandbox_id: str) -> Sandbox | None:
        """Return the sandbox while it is acquired."""
        ...

    async def release(self, sandbox_id: str) -> None:
        """Release it; its files stay. Unknown ids are no error."""
        ...

    async def close(self) -> None:
        """Stop what runs for later commands; files stay, and the provider can be used again.

        Raises SandboxUnavailable if that fails.
        """
        ...
