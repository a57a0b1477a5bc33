"""What the service stands on: a place for one thread's commands, and what makes such places."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from agent.core.interfaces import CommandResult
from agent.sandbox.provisioner.file_listing import Tree


class Station(Protocol):
    """The sandbox of one thread, near or far. All raise SandboxError; paths are as the agent sees them.

    Nobody calls two of them at once.
    """

    async def there(self) -> bool:
        """Whether it still answers; raises nothing."""
        ...

    async def tree(self) -> Tree:
        """What is in its folders."""
        ...

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        """Make its folders as `frames` says; the paths where that could not be done."""
        ...

    def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """The files and links at these paths, as frames; those that can't be read are left out."""
        ...

    async def run(self, command: str, seconds: float | None) -> CommandResult:
        """Run a command. Cancelling ends it, with all that it started."""
        ...


class Backend(Protocol):
    """Makes stations, and ends them. A name is of small letters, digits and `-`, at most 48."""

    async def open(self, name: str, read_only: Sequence[str]) -> Station:
        """The station of this name, made where it is not there; `read_only` are further folders that it has.

        Raises SandboxUnavailable.
        """
        ...

    async def close(self, name: str) -> None:
        """End it and delete its files. One that is not there is no error."""
        ...

    async def known(self) -> Sequence[str]:
        """The names of the stations that a service before this one left."""
        ...
