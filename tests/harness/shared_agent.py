"""One runtime process for all tests of a worker that only talk to it: starting one costs seconds."""

from __future__ import annotations

import atexit
import functools
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.harness.forks import Program, start

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
    arguments = ["--port", "0", "--port-file", str(port), "--home", str(home), "--config", str(config)]
    env = {**os.environ, TOKEN_VARIABLE: token}
    read_end, held_open = os.pipe()
    with (home / "log").open("wb") as log, os.fdopen(read_end, "rb") as stdin:
        program = Program("agent.serve", (*arguments, "--until-stdin-closes"), env=env)
        process = start(program, stdin, log, log)
    atexit.register(_end, process, held_open, home)
    begun = time.monotonic()
    while not port.exists():
        said = (home / "log").read_text(errors="replace")
        assert process.is_alive(), said
        assert time.monotonic() - begun < SECONDS, said
        time.sleep(0.05)
    return Agent(f"http://127.0.0.1:{port.read_text().strip()}", token)


def _end(process: BaseProcess, held_open: int, home: Path) -> None:
    process.kill()
    process.join()
    os.close(held_open)
    shutil.rmtree(home, ignore_errors=True)
