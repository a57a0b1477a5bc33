"""One warm container: how it is started, used and swept."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from weakref import WeakValueDictionary

from agent.core.home import make_private_folder
from agent.core.interfaces import SandboxUnavailable
from agent.sandbox import engine
from agent.sandbox.bubblewrap import environment
from agent.sandbox.engine import HOME_LABEL, LABEL, SETUP_LABEL, Command, ask
from agent.sandbox.limits import MEGABYTE, SandboxLimits
from agent.sandbox.paths import WORKSPACE, Mount
from agent.sandbox.seccomp import profile

FILTER = Path("sandbox", "seccomp.json")
"""Below the home."""
OLDEST = 12 * 3_600
SWEEP_SECONDS = 20.0
# The first process buries the orphans, outlives the sweep of its own kind and ends some day.
_FIRST = 'end=$(($(date +%s)+{seconds})); while [ "$(date +%s)" -lt "$end" ]; do sleep 60 & wait $!; done'


@dataclass(frozen=True, slots=True)
class Setup:
    """What all containers of a provider have in common. `command` is the engine, with its own options."""

    command: Command
    image: str
    home_folder: Path
    limits: SandboxLimits
    network: bool = False

    @property
    def home(self) -> str:
        """What their home is called in labels and names."""
        return engine.home_of(self.home_folder)


@dataclass(slots=True, weakref_slot=True)
class Use:
    """`alone` is held by who runs a command in a container; `at` is when it was used last, in seconds."""

    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    at: float = 0.0


_uses: WeakValueDictionary[tuple[int, str], Use] = WeakValueDictionary()


def use_of(name: str) -> Use:
    """The use of a container, the same for every provider of this loop: a configuration that is read again
    brings another one, while runs still hold the one before.
    """
    return _uses.setdefault((id(asyncio.get_running_loop()), name), Use())


class Box:
    """A thread's container. `pid` is its first process."""

    def __init__(self, name: str, setup: Setup, mounts: Sequence[Mount], user: int) -> None:
        self.name, self.use, self.pid = name, use_of(name), 0
        self._setup, self._mounts, self._user = setup, mounts, user

    async def start(self) -> None:
        """Make sure that it runs, as it should be. Raises SandboxUnavailable."""
        if await self._as_it_should_be():
            return
        command = self._setup.command
        await engine.remove(command, [self.name])
        await asyncio.to_thread(engine.remember, self._setup.home_folder, command)
        words = await asyncio.to_thread(self.creation)
        started = await ask(command, *words, folder=self.folder)
        if not started.good:
            raise SandboxUnavailable(self._why(started))
        if not await self._as_it_should_be():
            raise SandboxUnavailable("The container ended as soon as it was started.")

    @property
    def folder(self) -> Path:
        """Where the engine is called."""
        return self._setup.home_folder / FILTER.parent

    async def sweep(self) -> None:
        """End all that a command left; with the container, if it can't be done otherwise."""
        words = ("exec", self.name, "sh", "-c", "kill -9 -1")
        swept = await ask(self._setup.command, *words, seconds=SWEEP_SECONDS)
        # The shell kills itself where it is the last that is left of its kind, or there is nobody.
        if swept.code not in {0, 1, 137}:
            await engine.remove(self._setup.command, [self.name])

    def creation(self) -> list[str]:
        """The words that start it. Blocking."""
        setup = self._setup
        words = ["run", "--detach", "--rm", "--name", self.name, "--user", f"{self._user}:{self._user}"]
        words += ["--label", f"{LABEL}=1", "--label", f"{HOME_LABEL}={setup.home}"]
        words += ["--label", f"{SETUP_LABEL}={self._fingerprint()}", "--memory", f"{setup.limits.memory_mb}m"]
        words += [] if setup.network else ["--network", "none"]
        words += [] if engine.is_apple(setup.command) else self._hardened()
        for mount in self._mounts:
            if mount.host.exists():
                kind = "" if mount.writable else ",readonly"
                words += ["--mount", f"type=bind,source={mount.host},target={mount.virtual}{kind}"]
        return [*words, setup.image, "sh", "-c", _FIRST.format(seconds=OLDEST)]

    def _hardened(self) -> list[str]:
        """What a container needs that shares the host's kernel."""
        limits, size = self._setup.limits, self._setup.limits.scratch_mb * MEGABYTE
        # Its first process hears no polite signal, so nobody need wait for an answer.
        words = ["--hostname", "sandbox", "--read-only", "--stop-timeout", "0", *self._same_user()]
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        words += ["--security-opt", f"seccomp={self._filter()}"]
        words += ["--pids-limit", str(limits.processes), "--memory-swap", f"{limits.memory_mb}m"]
        words += ["--ulimit", f"nofile={limits.open_files}:{limits.open_files}", "--ulimit", "core=0:0"]
        words += ["--shm-size", str(size)]
        if os.geteuid() == 0:
            # Counted for each user, and the thread has one of its own then.
            words += ["--ulimit", f"nproc={limits.processes}:{limits.processes}"]
        for folder in ("/tmp", "/run", "/var/tmp"):  # noqa: S108 - the container's own
            words += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={size},mode=1777"]
        return words

    def _filter(self) -> Path:
        """The file with the filter of system calls: those of engines differ, and some allow namespaces."""
        file = self._setup.home_folder / FILTER
        make_private_folder(file.parent)
        file.write_text(json.dumps(profile()))
        return file

    def execution(self, command: str, file_bytes: int) -> list[str]:
        """The whole command line that runs a command in it."""
        limits = self._setup.limits
        line = [*self._setup.command, "exec", "--workdir", WORKSPACE]
        for name, value in environment(None).items():
            line += ["--env", f"{name}={value}"]
        line += [
            self.name,
            "env",
            "--ignore-signal=XFSZ",
            "prlimit",
            f"--fsize={file_bytes}",
            f"--data={limits.memory_mb * MEGABYTE}",
            "--",
        ]
        return [*line, "bash", "-c", command]

    async def _as_it_should_be(self) -> bool:
        state = await engine.state(self._setup.command, self.name)
        self.pid = state.pid
        return state.running and state.setup == await asyncio.to_thread(self._fingerprint)

    def _fingerprint(self) -> str:
        """Changes when a container would be started otherwise."""
        setup = self._setup
        told = (setup.image, setup.limits, setup.network, self._user)
        mounts = [mount for mount in self._mounts if mount.host.exists()]
        return sha256(repr((told, mounts)).encode()).hexdigest()[:16]

    def _same_user(self) -> list[str]:
        """Rootless podman would give the folders to somebody else."""
        rootless = Path(self._setup.command[0]).name == "podman" and os.geteuid() != 0
        return ["--userns", "keep-id"] if rootless else []

    def _why(self, started: engine.Answer) -> str:
        said = (started.errors.strip() or "it gave no reason").splitlines()[-1][:300]
        for mount in self._mounts:
            said = said.replace(str(mount.host), mount.virtual)
        return (
            f"No container of the image {self._setup.image} can be started: {said}. "
            "Build the image by make setup-sandbox, or name another by sandbox.image."
        )
