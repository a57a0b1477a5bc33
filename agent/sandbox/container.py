"""Sandboxes in containers of docker, podman or Apple's container, with files in the thread's folders.

A thread's container starts with its first command and stays for the next ones, even if the service restarts.
It is removed after an idle time; if the service dies, it ends by itself.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from agent.core.interfaces import CommandResult, SandboxUnavailable
from agent.sandbox import engine
from agent.sandbox.engine import Command
from agent.sandbox.facts import describe_sandbox, with_image_python
from agent.sandbox.folder import FolderProvider, FolderSandbox, FolderSettings
from agent.sandbox.options import (
    IMAGE,
    ContainerOptions,
    Surroundings,
    make_proxy,
    read_options,
    read_variables,
)
from agent.sandbox.resource_watch import DiskUse, ResourceWatch, namespace_processes
from agent.sandbox.running import run
from agent.sandbox.warm_container import GATES, ContainerSetup, WarmContainer
from agent.shared.process import ProgramStart, run_to_end

PIPE_SECONDS = 0.3
"""Seconds to wait for the end of the output, which background processes hold until they are killed."""


@dataclass(eq=False, kw_only=True, repr=False)
class ContainerSandbox(FolderSandbox):
    """A `Sandbox` in a thread's container. One command runs at a time."""

    containers: ContainerPool

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a command. Raises SandboxUnavailable."""
        self.check()
        await asyncio.to_thread(self.ready)
        async with self.containers.borrow(self) as container, container.open_gate(self.thread_id):
            held, room = await asyncio.to_thread(self.measure)
            variables = self.select_variables(command)
            line = container.command_line(command, room, list(variables))
            start = ProgramStart(line, {**variables, **engine.engine_environment()}, container.folder)
            over = self._watch(container, held).over
            result = await run(start, self.limits, seconds=seconds, over=over, letting_go=PIPE_SECONDS)
        return self.mask_result(result, room)

    def _watch(self, container: WarmContainer, held: DiskUse) -> ResourceWatch:
        def inside(_: int) -> list[int]:
            return namespace_processes(container.pid) if container.pid else []

        return ResourceWatch(self.limits, self.own_folders, held=held, processes=inside)


class ContainerPool:
    """The warm containers by thread, and a task that removes idle ones and stops when none is left.

    `sleep` and `clock` are in seconds.
    """

    def __init__(
        self,
        setup: ContainerSetup,
        *,
        idle_seconds: float,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._setup, self._idle, self._sleep = setup, idle_seconds, sleep
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._containers: dict[str, WarmContainer] = {}
        self._reaper: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def borrow(self, sandbox: ContainerSandbox) -> AsyncIterator[WarmContainer]:
        """Use the thread's container exclusively for one command; its processes are killed afterwards."""
        name = f"roebot-{self._setup.home}-{sha256(sandbox.thread_id.encode()).hexdigest()[:16]}"
        container = self._containers.get(sandbox.thread_id)
        if container is None:
            container = self._containers[sandbox.thread_id] = WarmContainer(
                name, self._setup, sandbox.paths.mounts, sandbox.user
            )
        async with container.use.lock:
            self._mark_used(container)
            await container.start()
            try:
                yield container
            finally:
                try:
                    await run_to_end(container.sweep())
                finally:
                    self._mark_used(container)

    def _mark_used(self, container: WarmContainer) -> None:
        container.use.at = self._clock()
        if self._reaper is None or self._reaper.done():
            self._reaper = asyncio.create_task(self._reap(), name="sandbox-reaper")

    async def missing(self) -> str:
        """Return a sentence if the image has not been built yet, otherwise ""."""
        setup = self._setup
        answer = await engine.call_engine(setup.command, "image", "inspect", setup.image)
        if answer.ok:
            return ""
        return (
            f"The image {setup.image} does not exist. Build it with `make setup-sandbox`, or set another "
            "one in sandbox.image."
        )

    async def close(self) -> None:
        if self._reaper is not None:
            self._reaper.cancel()
        containers, self._containers = list(self._containers.values()), {}
        await engine.remove(self._setup.command, [container.name for container in containers])
        for container in containers:
            await container.remove_gate()

    async def _reap(self) -> None:
        while self._containers:
            first = min(container.use.at for container in self._containers.values())
            await self._sleep(max(0.0, first + self._idle - self._clock()))
            for thread_id, container in list(self._containers.items()):
                if container.use.at + self._idle <= self._clock() and not container.use.lock.locked():
                    async with container.use.lock:
                        del self._containers[thread_id]
                        await engine.remove(self._setup.command, [container.name])
                        await container.remove_gate()


@dataclass(eq=False, kw_only=True, repr=False)
class ContainerSandboxProvider(FolderProvider[ContainerSandbox]):
    """A `SandboxProvider` of containers. After a release the container stays warm."""

    kind = "container"
    containers: ContainerPool = field(kw_only=False)

    def _make(self, settings: FolderSettings) -> ContainerSandbox:
        return ContainerSandbox(containers=self.containers, **settings)

    async def missing(self) -> str:
        """Return a sentence about a missing image, or "" if it exists. Raises SandboxUnavailable."""
        return await self.containers.missing()

    async def close(self) -> None:
        await self.containers.close()

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> ContainerSandboxProvider:
        """Create the provider from the keys of the section `sandbox`. Raises SandboxUnavailable."""
        options = read_options(ContainerOptions, keys)
        command: Command = tuple(shlex.split(options.command)) if options.command else engine.find_engine()
        egress, limits = make_proxy(options.network), options.limits()
        setup = ContainerSetup(command, options.image, around.home, limits, egress)
        facts = describe_sandbox(limits, options.network)
        return cls(
            around.folders,
            ContainerPool(setup, idle_seconds=options.idle_seconds),
            limits=limits,
            read_only=around.read_only,
            variables=read_variables(options),
            facts=with_image_python(facts) if options.image == IMAGE else facts,
        )


async def remove_all(home: Path | None = None) -> list[str]:
    """Remove Roebot's containers for one data directory, or all, in every known engine, and return their
    names.
    """
    commands = [(name,) for name in ("container", "docker", "podman")]
    used = await asyncio.to_thread(engine.used_engines, home) if home else []
    removed: list[str] = []
    for command in dict.fromkeys([*used, *commands]):
        try:
            names = await engine.list_containers(command, engine.home_of(home) if home else None)
        except SandboxUnavailable:
            continue
        await engine.remove(command, names)
        removed += names
    if home:
        await asyncio.to_thread(shutil.rmtree, home / GATES, ignore_errors=True)
    return removed
