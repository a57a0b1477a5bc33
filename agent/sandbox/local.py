"""Commands on this host, each alone in a sandbox of bubblewrap; files in the thread's own folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.core.interfaces import CommandResult
from agent.sandbox import bubblewrap, seccomp
from agent.sandbox.disk_and_memory_usage import Held
from agent.sandbox.folder import HELD, FolderProvider, FolderSandbox
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.options import LocalOptions, Surroundings, read_options
from agent.sandbox.paths import WORKSPACE
from agent.sandbox.python import FOLDER, SandboxPython, find_python
from agent.sandbox.resource_watch import Watch
from agent.sandbox.running import run
from agent.shared.process import ProgramStart

if TYPE_CHECKING:
    from agent.core.state import ThreadData

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
Isolation = Literal["bubblewrap", "none"]


@dataclass(slots=True)
class Host:
    """How commands run on this host, for all threads alike. `python`: where its own environment may be.

    `isolation` none gives a command no protection at all: it can do what the service can.
    """

    isolation: Isolation = "bubblewrap"
    network: bool = False
    python: Path | None = None
    _works: bool = field(default=False, init=False)

    def check(self, job: bubblewrap.Job, env: Mapping[str, str]) -> None:
        """Once it works, it is not tried again. Raises SandboxUnavailable. Blocking."""
        if not self._works:
            bubblewrap.check(job, env)
            self._works = True

    def environment(self) -> SandboxPython | None:
        """The sandbox's own Python, where it was made. Blocking."""
        return find_python(self.python) if self.python else None


class LocalSandbox(FolderSandbox):
    """A thread's own folders. See `agent.core.interfaces.Sandbox`."""

    def __init__(
        self,
        thread_id: str,
        folders: ThreadData,
        *,
        host: Host,
        limits: SandboxLimits,
        read_only: Mapping[str, Path],
    ) -> None:
        super().__init__(thread_id, folders, read_only=read_only, limits=limits)
        self._host = host

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """See `Sandbox`. The shell gets no variable of the service. Raises SandboxUnavailable."""
        self.check()
        with ExitStack() as stack:
            prepared = await asyncio.to_thread(self._prepared, command, stack)
            watch = Watch(self.limits, self.own_folders, held=prepared.held)
            result = await run(prepared.start, self.limits, seconds=seconds, over=watch.over)
        return self.mask_result(result, prepared.room)

    def _prepared(self, command: str, stack: ExitStack) -> _Prepared:
        held = self.ready()
        room = self.room(held)
        if self._host.isolation == "none":
            start = ProgramStart(
                ["/bin/sh", "-c", self.paths.to_host(command)], self._plain_environment(), self.own_folders[0]
            )
            return _Prepared(start, held, room)
        python = self._host.environment()
        env = {"PATH": os.environ.get("PATH", os.defpath)}
        with self._job(room, python) as job:
            self._host.check(job, env)
        job = stack.enter_context(self._job(room, python))
        fds = [fd for fd in (job.filter_fd, job.passwd_fd) if fd is not None]
        argv = bubblewrap.arguments(job, [_SHELL, "-c", command])
        return _Prepared(ProgramStart(argv, env, fds=fds), held, room)

    @contextmanager
    def _job(self, room: int, python: SandboxPython | None) -> Iterator[bubblewrap.Job]:
        inside = self.user if os.geteuid() == 0 else bubblewrap.INSIDE_USER
        account = f"agent:x:{inside}:{inside}::{WORKSPACE}:{_SHELL}\n"
        with _content(seccomp.program()) as filter_fd, _content(account.encode()) as passwd_fd:
            yield bubblewrap.Job(
                mounts=self.paths.mounts,
                user=self.user,
                limits=self.limits,
                file_bytes=room,
                network=self._host.network,
                filter_fd=filter_fd,
                passwd_fd=passwd_fd,
                python=python,
            )

    def _plain_environment(self) -> dict[str, str]:
        given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {**given, "HOME": str(self.own_folders[0])}


@dataclass(frozen=True, slots=True)
class _Prepared:
    start: ProgramStart
    held: Held
    room: int


class LocalSandboxProvider(FolderProvider[LocalSandbox]):
    """Sandboxes in the folders that `folders` names for a thread. See `SandboxProvider`.

    `read_only`: folders that every thread sees, by their virtual path. Of more than `held` that nobody
    released, the ones acquired longest ago are given up.
    """

    kind = "local"

    def __init__(
        self,
        folders: Callable[[str], ThreadData],
        *,
        host: Host | None = None,
        limits: SandboxLimits | None = None,
        read_only: Mapping[str, Path] | None = None,
        held: int = HELD,
    ) -> None:
        how, bounds, shared = host or Host(), limits or SandboxLimits(), read_only or {}

        def make(thread_id: str) -> LocalSandbox:
            return LocalSandbox(thread_id, folders(thread_id), host=how, limits=bounds, read_only=shared)

        super().__init__(make, held=held)

    async def missing(self) -> str:
        """What keeps commands from running here; "" where one ran. Raises SandboxUnavailable."""
        await self._make("check").execute_command("true")
        return ""

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> LocalSandboxProvider:
        """By the further keys of the section `sandbox`. Raises SandboxUnavailable, naming a wrong one."""
        options = read_options(LocalOptions, keys)
        python = Path(options.python) if options.python else around.home / FOLDER
        return cls(
            around.folders,
            host=Host(isolation=options.isolation, network=options.network, python=python),
            limits=options.limits(),
            read_only=around.read_only,
        )


_SHELL = next((shell for shell in ("/bin/bash", "/bin/sh") if Path(shell).exists()), "/bin/sh")


@contextmanager
def _content(data: bytes | None) -> Iterator[int | None]:
    """A descriptor from which a program can read these bytes; None for None."""
    if data is None:
        yield None
        return
    descriptor = os.memfd_create("roebot")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
