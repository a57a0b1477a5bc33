"""Start of the bundled runtime's process. Imports almost nothing, so that it can start before the rest is
loaded.

It listens on a Unix socket in a folder of its own, with a token and a signing key made at this start, so that
nothing but this service can reach it or say whom a run works for; it ends when this process does.
"""

from __future__ import annotations

import os
import secrets
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.shared.replica_folder import replica_folder
from agent.shared.service_address import ADDRESS_VARIABLE

KEY_VARIABLE = "ROEBOT_RUNTIME_SIGNING_KEY"
TOKEN_VARIABLE = "ROEBOT_RUNTIME_TOKEN"  # noqa: S105 - a variable's name
NICE = 5
"""Added to the nice value of this process: agent work yields to the chat loop, which answers commands while
every core is busy.
"""
LOG_LIMIT = 10 * 1024 * 1024
LAST_WORDS_LIMIT = 64 * 1024
FAILURE_PREFIX = "roebot agent: "
"""Prefix of the line in which the process reports why it exits."""


def socket_folder() -> Path:
    """Return this user's folder for sockets, after removing stale sockets.

    It is below the temporary folder because a socket's path may have 107 characters at most (sun_path).
    """
    folder = Path(tempfile.gettempdir()) / f"roebot-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="roebot-"))
    for socket in folder.glob("*.sock"):
        try:
            os.kill(int(socket.stem), 0)
        except (ValueError, ProcessLookupError):
            socket.unlink(missing_ok=True)
        except PermissionError:
            continue
    return folder


@dataclass(slots=True)
class RuntimeProcess:
    """Start options of the runtime's process; `process` is the current one (None before the first start)."""

    home: Path
    config: Path | None
    max_runs: int = 256
    replica: str = ""
    """Name of the replica ("": none)."""
    address: str = ""
    """Address where browsers reach the service."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    signing_key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    folder: Path = field(default_factory=socket_folder)
    process: subprocess.Popen[bytes] | None = None
    _log_began: int = 0

    @property
    def socket(self) -> Path:
        """Path of the Unix socket on which the process listens."""
        return self.folder / f"{os.getpid()}.sock"

    @property
    def log(self) -> Path:
        """Log file of the process."""
        return replica_folder(self.home, self.replica) / "logs" / "agent.log"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process unless it is running."""
        if self.process is not None and self.process.poll() is None:
            return self.process
        self._close_stdin()
        self.socket.unlink(missing_ok=True)
        with self._open_log() as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                self._command_line(),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=self.environment(),
            )
        os.setpriority(os.PRIO_PROCESS, self.process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
        return self.process

    def last_failure(self) -> str:
        """Return the last error line for display in the process's log, or "" if there is none. Blocking."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(self._log_began, self.log.stat().st_size - LAST_WORDS_LIMIT))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        said = [line.removeprefix(FAILURE_PREFIX) for line in lines if line.startswith(FAILURE_PREFIX)]
        return said[-1] if said else ""

    def kill(self) -> None:
        """Kill the process and remove its socket."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._close_stdin()
        self.socket.unlink(missing_ok=True)

    def _close_stdin(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    def environment(self) -> dict[str, str]:
        """Return the environment of the process."""
        # The token of the service opens everything; nothing that the agent starts may inherit it.
        inherited = {name: value for name, value in os.environ.items() if name != "ROEBOT_TOKEN"}
        secrets_of_start = {TOKEN_VARIABLE: self.token, KEY_VARIABLE: self.signing_key}
        place = {ADDRESS_VARIABLE: self.address} if self.address else {}
        return {**inherited, **secrets_of_start, **place, "ROEBOT_HOME": str(self.home)}

    def _command_line(self) -> list[str]:
        command = [sys.executable, "-P", "-m", "agent.serve", "--uds", str(self.socket)]
        command += ["--home", str(self.home)]
        command += ["--replica", self.replica] if self.replica else []
        if self.config is not None:
            command += ["--config", str(self.config)]
        command += ["--max-runs", str(self.max_runs)]
        return [*command, "--until-stdin-closes", "--parent-pid", str(os.getpid())]

    def _open_log(self) -> BinaryIO:
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.log.touch(mode=0o600)
        output = self.log.open("ab")
        self._log_began = output.tell()
        return output
