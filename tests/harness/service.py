"""The whole service as a process of its own, against an emulator that outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from agent.shared.replica_folder import replica_folder
from bot.app.home import RunningService, find_service
from bot.faults import VARIABLE
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.credentials import give_token
from tests.harness.forks import Program, start_process
from tests.harness.machine import Deadline

# The scripted model echoes; asked to keep a memory it would only be asked again.
MODEL = """models: [{name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}]
memory: {enabled: false}"""
PERSON = 1001


def config_text(
    emulator: TelegramEmulator, *, extra: str = "", model: str = MODEL, scale: float = 1.0
) -> str:
    """A configuration with one Telegram account at the emulator, open to everybody."""
    return f"""
config_version: 1
{model}
server: {{port: 0}}
channels:
  telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}", rate_scale: {scale}}}
access: {{default: allow}}
{extra}
"""


@dataclass
class ServiceProcess:
    """`roebot run` as a child of the test."""

    home: Path
    config: str
    env: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    has_token: bool = True
    """False: the first start generates one."""
    program: str = "bot.cli"
    """The module with the command line."""
    python: str = sys.executable
    replica: str = ""
    """Its name among those that share the data directory."""
    is_forked: bool = False
    """Fork it from a process that has the modules, for tests that are not about the start."""

    def start(self, **env: str) -> None:
        """Start it; `env` adds to the environment of this life only."""
        self.home.mkdir(parents=True, exist_ok=True)
        if self.has_token:
            give_token(self.home)
        path = self.home / "config.yaml"
        path.write_text(self.config)
        self.folder.mkdir(parents=True, exist_ok=True)
        log = (self.folder / "service.log").open("ab")
        options = ["run", "--home", str(self.home), "--config", str(path)]
        options += ["--replica", self.replica] if self.replica else []
        clean = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
        env = {**clean, **self.env, **env}
        # The step at which it dies is read when a module is imported.
        if self.is_forked and VARIABLE not in env:
            with Path(os.devnull).open("rb") as stdin:
                self.process = start_process(Program(self.program, options, env=env), stdin, log)
        else:
            command = [self.python, "-m", self.program, *options]
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env
            )
        log.close()

    @property
    def folder(self) -> Path:
        """The folder with its own files."""
        return replica_folder(self.home, self.replica)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def agent(self) -> psutil.Process | None:
        """The runtime's process."""
        for child in psutil.Process(self.pid).children():
            with suppress(psutil.NoSuchProcess):  # one that was killed and is not yet reaped has no command
                if "agent.serve" in " ".join([child.name(), *child.cmdline()]):
                    return child
        return None

    async def died(self, seconds: float = 30.0) -> int:
        """Wait until the process has ended by itself; its exit code."""
        assert self.process is not None
        deadline = Deadline(seconds, self.pid)
        while self.process.poll() is None:
            if deadline.passed:
                raise TimeoutError(self.log())
            await asyncio.sleep(0.02)
        return self.process.returncode

    async def ready(self, seconds: float = 30.0) -> RunningService:
        """Wait until the service answers on its port."""
        deadline = Deadline(seconds, self.pid)
        while (found := find_service(self.folder)) is None or found.pid != self.pid:
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            assert not deadline.passed, self.log()
            await asyncio.sleep(0.02)
        return found

    def deadline(self, seconds: float) -> Deadline:
        """A deadline after `seconds` in which the running process was not starved."""
        return Deadline(seconds, self.pid)

    def kill(self) -> None:
        """End it without a word."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def log(self) -> str:
        """What it printed."""
        parts = [self.folder / "service.log", self.folder / "logs" / "agent.log"]
        return "\n".join(part.read_text(errors="replace")[-6000:] for part in parts if part.exists())
