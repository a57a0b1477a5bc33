"""Commands in containers of docker, podman or Apple's container; files in the thread's own folders.

A thread's container is started with its first command and stays warm for the next ones, also over a restart
of the service. It is removed when it was idle for long; when the service dies, it ends by itself.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.core.interfaces import CommandResult, SandboxUnavailable
from agent.sandbox import engine
from agent.sandbox.disk_and_memory_usage import Held, companions
from agent.sandbox.engine import Command
from agent.sandbox.folder import HELD, FolderProvider, FolderSandbox
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.options import ContainerOptions, Surroundings, read_options
from agent.sandbox.resource_watch import Watch
from agent.sandbox.running import run
from agent.sandbox.warm_container import Box, Setup
from agent.shared.process import ProgramStart, run_to_end

if TYPE_CHECKING:
    from agent.core.state import ThreadData

LETTING_GO = 0.3


class ContainerSandbox(FolderSandbox):
    """A thread's container. See `agent.core.interfaces.Sandbox`. One command runs at a time."""

    def __init__(
        self,
        thread_id: str,
        folders: ThreadData,
        *,
        boxes: Boxes,
        limits: SandboxLimits,
        read_only: Mapping[str, Path],
    ) -> None:
        super().__init__(thread_id, folders, read_only=read_only, limits=limits)
        self._boxes = boxes

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """See `Sandbox`. Raises SandboxUnavailable."""
        self.check()
        await asyncio.to_thread(self.ready)
        async with self._boxes.lent(self) as box:
            held, room = await asyncio.to_thread(self._measured)
            start = ProgramStart(box.execution(command, room), engine.engine_environment(), box.folder)
            over = self._watch(box, held).over
            # What was left in the background holds the output until it is swept.
            result = await run(start, self.limits, seconds=seconds, over=over, letting_go=LETTING_GO)
        return self.mask_result(result, room)

    def _measured(self) -> tuple[Held, int]:
        held = self.ready()
        return held, self.room(held)

    def _watch(self, box: Box, held: Held) -> Watch:
        def inside(_: int) -> list[int]:
            return companions(box.pid) if box.pid else []

        return Watch(self.limits, self.own_folders, held=held, processes=inside)


class Boxes:
    """The containers that are warm, by thread, and the task that removes idle ones.

    `sleep` and `clock` are in seconds. The task ends with its loop, or when nothing is left to remove.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        idle_seconds: float,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._setup, self._idle, self._sleep = setup, idle_seconds, sleep
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._boxes: dict[str, Box] = {}
        self._reaper: asyncio.Task[None] | None = None

    def lent(self, sandbox: ContainerSandbox) -> _Lent:
        """The thread's container for one command, alone; nothing of the command is left in it after."""
        name = f"roebot-{self._setup.home}-{sha256(sandbox.thread_id.encode()).hexdigest()[:16]}"
        box = self._boxes.get(sandbox.thread_id)
        if box is None:
            box = self._boxes[sandbox.thread_id] = Box(name, self._setup, sandbox.paths.mounts, sandbox.user)
        return _Lent(self, box)

    def used(self, box: Box) -> None:
        """A command has begun or ended in it."""
        box.use.at = self._clock()
        if self._reaper is None or self._reaper.done():
            self._reaper = asyncio.create_task(self._reap(), name="sandbox-reaper")

    async def missing(self) -> str:
        """The image, where it was not made yet."""
        setup = self._setup
        answer = await engine.ask(setup.command, "image", "inspect", setup.image)
        if answer.good:
            return ""
        return f"There is no image {setup.image}: make setup-sandbox builds it, sandbox.image names another."

    async def close(self) -> None:
        """Remove all."""
        if self._reaper is not None:
            self._reaper.cancel()
        boxes, self._boxes = list(self._boxes.values()), {}
        await engine.remove(self._setup.command, [box.name for box in boxes])

    async def _reap(self) -> None:
        while self._boxes:
            first = min(box.use.at for box in self._boxes.values())
            await self._sleep(max(0.0, first + self._idle - self._clock()))
            for thread_id, box in list(self._boxes.items()):
                if box.use.at + self._idle <= self._clock() and not box.use.alone.locked():
                    async with box.use.alone:
                        del self._boxes[thread_id]
                        await engine.remove(self._setup.command, [box.name])


class _Lent:
    """A container for one command. See `Boxes.lent`."""

    def __init__(self, boxes: Boxes, box: Box) -> None:
        self._boxes, self._box = boxes, box

    async def __aenter__(self) -> Box:
        await self._box.use.alone.acquire()
        try:
            self._boxes.used(self._box)
            await self._box.start()
        except BaseException:
            self._box.use.alone.release()
            raise
        return self._box

    async def __aexit__(self, *_: object) -> None:
        try:
            await run_to_end(self._box.sweep())
        finally:
            self._boxes.used(self._box)
            self._box.use.alone.release()


class ContainerSandboxProvider(FolderProvider[ContainerSandbox]):
    """Sandboxes in containers. See `SandboxProvider`. After a release the container stays warm."""

    kind = "container"

    def __init__(
        self,
        folders: Callable[[str], ThreadData],
        boxes: Boxes,
        *,
        limits: SandboxLimits | None = None,
        read_only: Mapping[str, Path] | None = None,
        held: int = HELD,
    ) -> None:
        bounds, shared = limits or SandboxLimits(), read_only or {}

        def make(thread_id: str) -> ContainerSandbox:
            return ContainerSandbox(
                thread_id, folders(thread_id), boxes=boxes, limits=bounds, read_only=shared
            )

        super().__init__(make, held=held)
        self.boxes = boxes

    async def missing(self) -> str:
        """What keeps containers from being started: the engine or the image. Raises SandboxUnavailable."""
        return await self.boxes.missing()

    async def close(self) -> None:
        """Remove the containers."""
        await self.boxes.close()

    @classmethod
    def from_config(cls, around: Surroundings, **keys: Any) -> ContainerSandboxProvider:
        """By the further keys of the section `sandbox`. Raises SandboxUnavailable, naming a wrong one."""
        options = read_options(ContainerOptions, keys)
        command: Command = tuple(shlex.split(options.command)) if options.command else engine.find_engine()
        setup = Setup(command, options.image, around.home, options.limits(), options.network)
        boxes = Boxes(setup, idle_seconds=options.idle_seconds)
        return cls(around.folders, boxes, limits=options.limits(), read_only=around.read_only)


async def remove_all(home: Path | None = None) -> list[str]:
    """Remove our containers in every engine that is here or was used; of one home, or all. Their names."""
    commands = [(name,) for name in ("container", "docker", "podman")]
    remembered = await asyncio.to_thread(engine.used, home) if home else []
    removed: list[str] = []
    for command in dict.fromkeys([*remembered, *commands]):
        try:
            names = await engine.ours(command, engine.home_of(home) if home else None)
        except SandboxUnavailable:
            continue
        await engine.remove(command, names)
        removed += names
    return removed
