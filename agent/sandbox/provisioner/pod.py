"""The station inside a pod: the pod is the sandbox, a command is a process in it, with limits.

One pod serves one thread. What the kernel and the cluster take from the pod (network, rights, the root file
system) they take from its commands. This service is its first process there, so that it can end all others.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.interfaces import CommandResult, SandboxUnavailable
from agent.core.virtual_paths import AREAS, VIRTUAL_ROOT
from agent.sandbox.bubblewrap import PATHS, environment
from agent.sandbox.disk_and_memory_usage import Held, descendants
from agent.sandbox.folder import FolderSandbox
from agent.sandbox.limits import MEGABYTE, SandboxLimits
from agent.sandbox.provisioner.local_stations import FolderStation, checked
from agent.sandbox.resource_watch import Watch
from agent.sandbox.running import run
from agent.shared.process import ProgramStart, run_to_end

if TYPE_CHECKING:
    from agent.core.state import ThreadData

_NUMBER = re.compile(r"[0-9]+")
_NOT_DUMPABLE = 4
BURIALS, PAUSE = 100, 0.02
LETTING_GO = 0.3


class PodSandbox(FolderSandbox):
    """The pod's only sandbox. See `agent.core.interfaces.Sandbox`.

    `first`: this process is the pod's first one, and all others may be ended after a command.
    """

    def __init__(
        self,
        thread_id: str,
        folders: ThreadData,
        *,
        limits: SandboxLimits,
        read_only: Mapping[str, Path],
        first: bool,
    ) -> None:
        super().__init__(thread_id, folders, read_only=read_only, limits=limits)
        self._first = first

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """See `Sandbox`."""
        self.check()
        held, room = await asyncio.to_thread(self._measured)
        watch = Watch(
            self.limits, self.own_folders, held=held, processes=_others if self._first else descendants
        )
        try:
            # What was left in the background holds the output until it is buried.
            start, letting_go = self._start(command, room), LETTING_GO
            result = await run(start, self.limits, seconds=seconds, over=watch.over, letting_go=letting_go)
        finally:
            if self._first:
                await run_to_end(_bury())
        return self.mask_result(result, room)

    def _measured(self) -> tuple[Held, int]:
        held = self.ready()
        return held, self.room(held)

    def _start(self, command: str, room: int) -> ProgramStart:
        limits = self.limits
        words = ["env", "--ignore-signal=XFSZ", "prlimit", f"--fsize={room}", "--core=0"]
        words += [f"--nofile={limits.open_files}", f"--data={limits.memory_mb * MEGABYTE}"]
        # Counted for the user, whose number no other pod has.
        words += [f"--nproc={limits.processes}"] if self._first else []
        workspace = self.own_folders[0]
        given = {**environment(None), "PATH": PATHS, "HOME": str(workspace)}
        return ProgramStart([*words, "--", "bash", "-c", self.paths.to_host(command)], given, workspace)


class PodBackend:
    """The one station of a pod, whose folders are below `root`. See `Backend`."""

    def __init__(self, limits: SandboxLimits, *, root: Path = Path("/"), first: bool = False) -> None:
        self._limits, self._root, self._first = limits, root, first
        self._name: str | None = None

    async def open(self, name: str, read_only: Sequence[str]) -> FolderStation:
        """See `Backend`. Raises SandboxUnavailable where it is another's already."""
        if self._name not in {None, name}:
            raise SandboxUnavailable("This pod serves another sandbox.")
        self._name = name
        top = self._root / VIRTUAL_ROOT.removeprefix("/")
        folders: ThreadData = {f"{area}_path": str(top / area) for area in AREAS}  # type: ignore[assignment]
        shared = {path: self._root / path.removeprefix("/") for path in checked(read_only)}
        sandbox = PodSandbox(name, folders, limits=self._limits, read_only=shared, first=self._first)
        return await asyncio.to_thread(FolderStation, sandbox, sandbox)

    async def close(self, name: str) -> None:
        """Nothing: the files go with the pod, and the pod is not its own to end."""

    async def known(self) -> Sequence[str]:
        """See `Backend`."""
        return []


def first_process() -> bool:
    """Whether this is the first process of its namespace: then all others here are commands'."""
    return os.getpid() == 1


def hide() -> None:
    """Keep other processes of the same user from this one's memory and environment. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)


def _others(_: int) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if _NUMBER.fullmatch(name) and int(name) != 1]  # noqa: PTH208


async def _bury() -> None:
    """End every process but this one, and take note of their ends: the first process is everybody's heir.

    Nothing else of ours runs meanwhile: a station is used by one at a time.
    """
    if not first_process():
        return
    for _ in range(BURIALS):
        with suppress(ProcessLookupError):
            # All but the first process and who calls, which is the same one.
            os.kill(-1, signal.SIGKILL)
        if not _buried():
            return
        await asyncio.sleep(PAUSE)


def _buried() -> bool:
    """Whether children are left after those that ended were noted. Does not wait."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
