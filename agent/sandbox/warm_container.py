"""A single container: start and use it, and kill processes that a command leaves in it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from weakref import WeakValueDictionary

from agent.core.interfaces import SandboxUnavailable
from agent.core.paths import make_private_folder
from agent.sandbox import engine
from agent.sandbox.bubblewrap import environment
from agent.sandbox.egress.gate import SOCKET_NAME, bind_in_folder, open_gate, opening_words, proxy_environment
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.engine import HOME_LABEL, LABEL, SETUP_LABEL, Command, call_engine
from agent.sandbox.options import MEGABYTE, SandboxLimits
from agent.sandbox.paths import WORKSPACE, Mount
from agent.sandbox.seccomp import profile

FILTER = Path("sandbox", "seccomp.json")
"""Path in the data directory."""
GATES = Path("sandbox", "egress")
"""Folder in the data directory with a folder for each container that has network access."""
OLDEST = 12 * 3_600
SWEEP_SECONDS = 20.0
_GATE = "/opt/roebot-egress"
# The first process reaps orphans, survives `kill -1`, and ends after some hours.
_FIRST = 'end=$(($(date +%s)+{seconds})); while [ "$(date +%s)" -lt "$end" ]; do sleep 60 & wait $!; done'


@dataclass(frozen=True, slots=True)
class ContainerSetup:
    """Settings shared by a provider's containers. `command` is the engine with its options."""

    command: Command
    image: str
    home_folder: Path
    limits: SandboxLimits
    egress: EgressProxy | None = None

    @property
    def home(self) -> str:
        """Short name of the data directory for labels and container names."""
        return engine.home_of(self.home_folder)


@dataclass(slots=True, weakref_slot=True)
class ContainerUse:
    """`lock` is held while a command runs in a container; `at` is the time of its last use in seconds."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    at: float = 0.0


_uses: WeakValueDictionary[tuple[int, str], ContainerUse] = WeakValueDictionary()


def use_of(name: str) -> ContainerUse:
    """Return a container's use, shared by all providers of this loop.

    Reloading the configuration creates another provider while runs still use the old one.
    """
    return _uses.setdefault((id(asyncio.get_running_loop()), name), ContainerUse())


class WarmContainer:
    """A thread's container. `pid` is its first process."""

    def __init__(self, name: str, setup: ContainerSetup, mounts: Sequence[Mount], user: int) -> None:
        self.name, self.use, self.pid = name, use_of(name), 0
        self._setup, self._mounts, self._user = setup, mounts, user

    async def start(self) -> None:
        """Start the container unless it runs with this setup. Raises SandboxUnavailable."""
        if await self._is_current():
            return
        command = self._setup.command
        await engine.remove(command, [self.name])
        await asyncio.to_thread(engine.remember, self._setup.home_folder, command)
        words = await asyncio.to_thread(self.start_arguments)
        started = await call_engine(command, *words, folder=self.folder)
        if not started.ok:
            raise SandboxUnavailable(self._describe_failure(started))
        if not await self._is_current():
            raise SandboxUnavailable("The container exited right after it was started.")

    @property
    def folder(self) -> Path:
        """Working folder for engine calls."""
        return self._setup.home_folder / FILTER.parent

    @property
    def gate_folder(self) -> Path:
        """Folder for the socket by which a command opens its gate to the egress proxy."""
        return self._setup.home_folder.absolute() / GATES / self.name

    @asynccontextmanager
    async def open_gate(self, thread_id: str) -> AsyncIterator[None]:
        """Allow the next command to open its gate to the egress proxy, if there is one."""
        if self._setup.egress is None:
            yield
            return
        receiver = await asyncio.to_thread(bind_in_folder, self.gate_folder)
        async with open_gate(self._setup.egress, thread_id, receiver):
            yield

    async def remove_gate(self) -> None:
        """Delete the socket's folder after removal of the container."""
        await asyncio.to_thread(shutil.rmtree, self.gate_folder, ignore_errors=True)

    async def sweep(self) -> None:
        """Kill all processes of a command, or remove the container if that fails."""
        words = ("exec", self.name, "sh", "-c", "kill -9 -1")
        swept = await call_engine(self._setup.command, *words, seconds=SWEEP_SECONDS)
        # The shell exits with 137 if it killed itself, with 1 if there was nothing to kill.
        if swept.code not in {0, 1, 137}:
            await engine.remove(self._setup.command, [self.name])

    def start_arguments(self) -> list[str]:
        """Return the arguments that start the container. Blocks."""
        setup = self._setup
        words = ["run", "--detach", "--rm", "--name", self.name, "--user", f"{self._user}:{self._user}"]
        words += ["--label", f"{LABEL}=1", "--label", f"{HOME_LABEL}={setup.home}"]
        words += ["--label", f"{SETUP_LABEL}={self._fingerprint()}", "--memory", f"{setup.limits.memory_mb}m"]
        words += ["--network", "none"]
        words += [] if engine.is_apple(setup.command) else self._hardening_options()
        if setup.egress:
            make_private_folder(self.gate_folder.parent)
            self.gate_folder.mkdir(exist_ok=True)
            words += ["--mount", f"type=bind,source={self.gate_folder},target={_GATE},readonly"]
        for mount in self._mounts:
            if mount.host.exists():
                kind = "" if mount.writable else ",readonly"
                words += ["--mount", f"type=bind,source={mount.host},target={mount.virtual}{kind}"]
        return [*words, setup.image, "sh", "-c", _FIRST.format(seconds=OLDEST)]

    def _hardening_options(self) -> list[str]:
        """Return the options for a container that shares the host's kernel."""
        limits, size = self._setup.limits, self._setup.limits.scratch_mb * MEGABYTE
        # The first process ignores SIGTERM, so waiting for it would be useless.
        words = ["--hostname", "sandbox", "--read-only", "--stop-timeout", "0", *self._same_user()]
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        words += ["--security-opt", f"seccomp={self._filter()}"]
        words += ["--pids-limit", str(limits.processes), "--memory-swap", f"{limits.memory_mb}m"]
        words += ["--ulimit", f"nofile={limits.open_files}:{limits.open_files}", "--ulimit", "core=0:0"]
        words += ["--shm-size", str(size)]
        if os.geteuid() == 0:
            # The kernel counts processes per user, and each thread has its own user here.
            words += ["--ulimit", f"nproc={limits.processes}:{limits.processes}"]
        for folder in ("/tmp", "/run", "/var/tmp"):  # noqa: S108 - the container's own
            words += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={size},mode=1777"]
        return words

    def _filter(self) -> Path:
        """Write the system call filter; the engines' own filters differ, and some allow namespaces."""
        file = self._setup.home_folder / FILTER
        make_private_folder(file.parent)
        file.write_text(json.dumps(profile()))
        return file

    def command_line(self, command: str, file_bytes: int, variables: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs a command, with named variables, in the container."""
        setup, limits = self._setup, self._setup.limits
        line = [*setup.command, "exec", "--workdir", WORKSPACE]
        gate, proxy = [], {}
        if self._setup.egress:
            gate, proxy = opening_words("python3", f"{_GATE}/{SOCKET_NAME}"), proxy_environment()
        for name, value in {**environment(None), **proxy}.items():
            line += ["--env", f"{name}={value}"]
        # The engine takes the values from its own environment, which other users can't read.
        for name in variables:
            line += ["--env", name]
        line += [
            self.name,
            "env",
            "--ignore-signal=XFSZ",
            "prlimit",
            f"--fsize={file_bytes}",
            f"--data={limits.memory_mb * MEGABYTE}",
            "--",
        ]
        return [*line, *gate, "bash", "-c", command]

    async def _is_current(self) -> bool:
        state = await engine.inspect_container(self._setup.command, self.name)
        self.pid = state.pid
        return state.running and state.setup == await asyncio.to_thread(self._fingerprint)

    def _fingerprint(self) -> str:
        """Return a hash of all start parameters of the container."""
        setup = self._setup
        settings = (setup.image, setup.limits, setup.egress is not None, self._user)
        mounts = [mount for mount in self._mounts if mount.host.exists()]
        return sha256(repr((settings, mounts)).encode()).hexdigest()[:16]

    def _same_user(self) -> list[str]:
        """Return the options for rootless podman, which would otherwise change the folders' owner.

        With `--remote` or `--url`, podman's service runs the container, like Docker's does.
        """
        command = self._setup.command
        remote = any(word.partition("=")[0] in {"--remote", "--url"} for word in command)
        rootless = Path(command[0]).name == "podman" and os.geteuid() != 0 and not remote
        return ["--userns", "keep-id"] if rootless else []

    def _describe_failure(self, started: engine.Answer) -> str:
        reason = (started.errors.strip() or "no reason was given").splitlines()[-1][:300]
        for mount in self._mounts:
            reason = reason.replace(str(mount.host), mount.virtual)
        return (
            f"A container with the image {self._setup.image} can't be started: {reason}. "
            "Build the image with `make setup-sandbox`, or name another one in sandbox.image."
        )
