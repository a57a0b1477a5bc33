"""One runtime process for all tests of a worker that only talk to it: starting one costs seconds."""

from __future__ import annotations

import atexit
import functools
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOKEN_VARIABLE = "ROEBOT_RUNTIME_TOKEN"
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Agent:
    """A runtime with the lead agent, until the tests end."""

    url: str
    token: str

    @property
    def section(self) -> str:
        """It as the section of a configuration."""
        return f"runtime: {{url: '{self.url}', api_key: {self.token}}}"


@functools.cache
def shared_agent(models: str) -> Agent:
    """The runtime whose configuration is `models`; the first call starts it. Blocking."""
    home = Path(tempfile.mkdtemp(prefix="roebot-agent-"))
    config, port = home / "config.yaml", home / "port"
    config.write_text(models)
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "agent.serve", "--port", "0", "--port-file", str(port)]
    command += ["--home", str(home), "--config", str(config), "--until-stdin-closes"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, TOKEN_VARIABLE: token},
        )
    atexit.register(_end, process, home)
    begun = time.monotonic()
    while not port.exists():
        said = (home / "log").read_text(errors="replace")
        assert process.poll() is None, said
        assert time.monotonic() - begun < SECONDS, said
        time.sleep(0.05)
    return Agent(f"http://127.0.0.1:{port.read_text().strip()}", token)


def _end(process: subprocess.Popen[bytes], home: Path) -> None:
    process.kill()
    process.wait()
    shutil.rmtree(home, ignore_errors=True)
