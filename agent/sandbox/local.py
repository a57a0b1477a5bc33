"""Sandboxes on this machine: bubblewrap isolates each command; files are in the thread's folders."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agent.core.interfaces import CommandResult
from agent.sandbox import bubblewrap, seccomp
from agent.sandbox.bubblewrap import PYTHON_FOLDER, SandboxPython, find_python
from agent.sandbox.egress.gate import make_pair, open_gate
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.facts import describe_sandbox, with_python
from agent.sandbox.folder import FolderProvider, FolderSandbox, FolderSettings
from agent.sandbox.options import (
    LocalOptions,
    Surroundings,
    make_proxy,
    read_options,
    read_variables,
)
from agent.sandbox.paths import WORKSPACE
from agent.sandbox.resource_watch import DiskUse, ResourceWatch
from agent.sandbox.running import run
from agent.shared.process import ProgramStart

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
Isolation = Literal["bubblewrap", "none"]


@dataclass(slots=True)
class Host:
    """Settings for all threads' commands. `python` is the folder of the sandbox's Python environment.

    Without `egress` commands have no network. With `isolation` "none", commands can do everything that the
    service can.
    """

    isolation: Isolation = "bubblewrap"
    egress: EgressProxy | None = None
    python: Path | None = None
    _works: bool = field(default=False, init=False)

    def check(self, job: bubblewrap.Job, env: Mapping[str, str]) -> None:
        """Check isolation unless it has worked before. Raises SandboxUnavailable. Blocks."""
        if not self._works:
            bubblewrap.check(job, env)
            self._works = True

    def environment(self) -> SandboxPython | None:
        """Return the sandbox's Python, or None if there is none. Blocks."""
        return find_python(self.python) if self.python else None


@dataclass(eq=False, kw_only=True, repr=False)
class LocalSandbox(FolderSandbox):
    """A `Sandbox` in a thread's folders."""

    host: Host

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a command, without the service's environment variables. Raises SandboxUnavailable."""
        self.check()
        async with AsyncExitStack() as stack:
            gate = await self._open_gate(stack)
            prepared = await asyncio.to_thread(self._prepare, command, stack, gate)
            watch = ResourceWatch(self.limits, self.own_folders, held=prepared.held)
            result = await run(prepared.start, self.limits, seconds=seconds, over=watch.over)
        return self.mask_result(result, prepared.room)

    async def _open_gate(self, stack: AsyncExitStack) -> socket.socket | None:
        """Return the socket by which the command opens its gate to the proxy, or None without network."""
        if self.host.egress is None or self.host.isolation == "none":
            return None
        ours, theirs = make_pair()
        stack.callback(theirs.close)
        await stack.enter_async_context(open_gate(self.host.egress, self.thread_id, ours))
        return theirs

    def _prepare(self, command: str, stack: AsyncExitStack, gate: socket.socket | None) -> _Prepared:
        held, room = self.measure()
        if self.host.isolation == "none":
            start = ProgramStart(
                ["/bin/sh", "-c", self.paths.to_host(command)],
                self._plain_environment(command),
                self.own_folders[0],
            )
            return _Prepared(start, held, room)
        python = self.host.environment()
        env = {"PATH": os.environ.get("PATH", os.defpath)}
        with self._job(room, python) as job:
            self.host.check(job, env)
        job = stack.enter_context(self._job(room, python))
        job = replace(job, gate_fd=gate.fileno() if gate else None)
        fds = [fd for fd in (job.filter_fd, job.passwd_fd, job.gate_fd) if fd is not None]
        argv = bubblewrap.arguments(job, [_SHELL, "-c", command])
        # Arguments could be read by every user of this machine, the environment of a process only by its own.
        return _Prepared(ProgramStart(argv, {**self.select_variables(command), **env}, fds=fds), held, room)

    @contextmanager
    def _job(self, room: int, python: SandboxPython | None) -> Iterator[bubblewrap.Job]:
        inside = self.user if os.geteuid() == 0 else bubblewrap.INSIDE_USER
        account = f"agent:x:{inside}:{inside}::{WORKSPACE}:{_SHELL}\n"
        with _memory_file(seccomp.program()) as filter_fd, _memory_file(account.encode()) as passwd_fd:
            yield bubblewrap.Job(
                mounts=self.paths.mounts,
                user=self.user,
                limits=self.limits,
                file_bytes=room,
                filter_fd=filter_fd,
                passwd_fd=passwd_fd,
                python=python,
            )

    def _plain_environment(self, command: str) -> dict[str, str]:
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {**env, **self.select_variables(command), "HOME": str(self.own_folders[0])}


@dataclass(frozen=True, slots=True)
class _Prepared:
    start: ProgramStart
    held: DiskUse
    room: int


@dataclass(eq=False, kw_only=True, repr=False)
class LocalSandboxProvider(FolderProvider[LocalSandbox]):
    """A `SandboxProvider` whose commands run on this machine, as `host` says."""

    kind = "local"
    host: Host = field(default_factory=Host)

    def _make(self, settings: FolderSettings) -> LocalSandbox:
        return LocalSandbox(host=self.host, **settings)

    async def missing(self) -> str:
        """Run a command as a check, and return "". Raises SandboxUnavailable."""
        await self.make("check").execute_command("true")
        return ""

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> LocalSandboxProvider:
        """Create the provider from the keys of the section `sandbox`. Blocks. Raises SandboxUnavailable."""
        options = read_options(LocalOptions, keys)
        python = Path(options.python) if options.python else around.home / PYTHON_FOLDER
        facts = describe_sandbox(options.limits(), options.network)
        is_isolated = options.isolation != "none"
        return cls(
            around.folders,
            host=Host(options.isolation, make_proxy(options.network), python),
            limits=options.limits(),
            read_only=around.read_only,
            variables=read_variables(options),
            facts=with_python(facts, python) if is_isolated else replace(facts, network=None),
        )


_SHELL = next((shell for shell in ("/bin/bash", "/bin/sh") if Path(shell).exists()), "/bin/sh")


@contextmanager
def _memory_file(data: bytes | None) -> Iterator[int | None]:
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
