"""The station in a pod: the pod is the sandbox, and a command is a process in it, with limits.

A pod serves one thread. The network, rights and root file system of its commands are those of the pod. This
service is its first process, so that it can end all others.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.interfaces import CommandResult, SandboxUnavailable
from agent.core.paths import AREAS, VIRTUAL_ROOT
from agent.sandbox.bubblewrap import PATHS, environment
from agent.sandbox.egress.gate import proxy_environment
from agent.sandbox.folder import FolderSandbox
from agent.sandbox.options import MEGABYTE, SandboxLimits
from agent.sandbox.resource_watch import ResourceWatch, child_processes
from agent.sandbox.running import run
from agent.shared.process import ProgramStart, run_to_end
from roebot_provisioner.local_stations import FolderStation, check_read_only

if TYPE_CHECKING:
    from agent.core.state import ThreadData

_NUMBER = re.compile(r"[0-9]+")
_NOT_DUMPABLE = 4
KILL_ROUNDS, ROUND_SECONDS = 100, 0.02
PIPE_SECONDS = 0.3
"""Seconds to wait for the end of the output, which background processes hold until they are killed."""


@dataclass(eq=False, kw_only=True, repr=False)
class PodSandbox(FolderSandbox):
    """The single sandbox of a pod.

    `first`: this process is the pod's first one, so all others are killed after a command. `proxy` is the URL
    of the egress proxy.
    """

    first: bool
    proxy: str | None = None

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        self.check()
        held, room = await asyncio.to_thread(self.measure)
        watch = ResourceWatch(
            self.limits,
            self.own_folders,
            held=held,
            processes=_list_others if self.first else child_processes,
        )
        try:
            start = self._make_start(command, room)
            result = await run(start, self.limits, seconds=seconds, over=watch.over, letting_go=PIPE_SECONDS)
        finally:
            if self.first:
                await run_to_end(_kill_others())
        return self.mask_result(result, room)

    def _make_start(self, command: str, room: int) -> ProgramStart:
        limits = self.limits
        words = ["env", "--ignore-signal=XFSZ", "prlimit", f"--fsize={room}", "--core=0"]
        words += [f"--nofile={limits.open_files}", f"--data={limits.memory_mb * MEGABYTE}"]
        # The kernel counts the processes of the user, whose id no other pod has.
        words += [f"--nproc={limits.processes}"] if self.first else []
        workspace = self.own_folders[0]
        proxy = proxy_environment(self.proxy) if self.proxy else {}
        variables = self.select_variables(command)
        env = {**variables, **environment(None), **proxy, "PATH": PATHS, "HOME": str(workspace)}
        return ProgramStart([*words, "--", "bash", "-c", self.paths.to_host(command)], env, workspace)


class PodBackend:
    """A `Backend` with the single station of a pod, whose folders are in `root`."""

    def __init__(
        self,
        limits: SandboxLimits,
        *,
        root: Path = Path("/"),
        first: bool = False,
        proxy: str | None = None,
    ) -> None:
        self._limits, self._root, self._first, self._proxy = limits, root, first, proxy
        self._name: str | None = None

    async def open(self, name: str, read_only: Sequence[str]) -> FolderStation:
        """Open the station. Raises SandboxUnavailable if the pod serves another one."""
        if self._name not in {None, name}:
            raise SandboxUnavailable("This pod serves another sandbox.")
        self._name = name
        top = self._root / VIRTUAL_ROOT.removeprefix("/")
        folders: ThreadData = {f"{area}_path": str(top / area) for area in AREAS}  # type: ignore[assignment]
        shared = {path: self._root / path.removeprefix("/") for path in check_read_only(read_only)}
        sandbox = PodSandbox(
            thread_id=name,
            folders=folders,
            limits=self._limits,
            read_only=shared,
            first=self._first,
            proxy=self._proxy,
        )
        return await asyncio.to_thread(FolderStation, sandbox, sandbox)

    async def close(self, name: str) -> None:
        """Do nothing: the files are deleted with the pod, which the cluster removes."""

    async def list_names(self) -> Sequence[str]:
        return []


def first_process() -> bool:
    """Return whether this is the first process of its namespace, so that all others belong to commands."""
    return os.getpid() == 1


def hide_process() -> None:
    """Prevent other processes of this user from reading this process's memory and environment. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)


def _list_others(_: int) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if _NUMBER.fullmatch(name) and int(name) != 1]  # noqa: PTH208


async def _kill_others() -> None:
    """Kill and reap all other processes, since the first process inherits all orphans.

    Nothing else of this service runs in the meantime, since a station has one user at a time.
    """
    if not first_process():
        return
    for _ in range(KILL_ROUNDS):
        with suppress(ProcessLookupError):
            # -1: every process but the first one and the caller, which are the same here.
            os.kill(-1, signal.SIGKILL)
        if not _reap_children():
            return
        await asyncio.sleep(ROUND_SECONDS)


def _reap_children() -> bool:
    """Reap exited children without waiting; return whether any are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
