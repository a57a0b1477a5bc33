"""A provisioner that really runs, in a process of its own, and a home that uses it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from starlette.types import ASGIApp

from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.options import SandboxLimits, Surroundings
from agent.sandbox.remote import RemoteSandboxProvider, SandboxService
from agent.sandbox.remote_station import ServiceAddress
from roebot_provisioner.local_stations import LocalBackend
from roebot_provisioner.service import create_app
from roebot_provisioner.station_pool import Backend, StationPool
from tests.sandbox.sandbox_fixtures import folders

TOKEN = "a-token-for-tests-only"
START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Provisioner:
    """One that runs."""

    process: subprocess.Popen[bytes]
    port: int
    home: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def copies(self) -> Path:
        """Where it has the folders of its sandboxes."""
        return self.home / "sandbox" / "provisioner" / "threads"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def command(home: Path, *words: str) -> list[str]:
    """Its command line: any free port."""
    port_file = home / "port"
    home.mkdir(parents=True, exist_ok=True)
    port_file.unlink(missing_ok=True)
    line = [sys.executable, "-m", "roebot_provisioner", "--home", str(home), "--port", "0"]
    return [*line, "--port-file", str(port_file), *words]


def environment(token: str | None = TOKEN, **more: str) -> dict[str, str]:
    given = {key: value for key, value in os.environ.items() if not key.startswith("ROEBOT_")}
    return {**given, **more} | ({"ROEBOT_SANDBOX_TOKEN": token} if token else {})


@contextmanager
def provisioner(
    home: Path, *words: str, settings: dict[str, Any] | None = None, token: str | None = TOKEN
) -> Iterator[Provisioner]:
    """Run one. Blocking."""
    line = command(home, *words)
    if settings is not None:
        (home / "settings.yaml").write_text(yaml.safe_dump(settings))
        line += ["--config", str(home / "settings.yaml")]
    process = subprocess.Popen(line, env=environment(token))
    try:
        yield Provisioner(process, port_of(process, home / "port"), home)
    finally:
        process.terminate()
        process.wait(30)


def port_of(process: subprocess.Popen[bytes], file: Path) -> int:
    for _ in range(START_SECONDS * 50):
        if file.exists():
            return int(file.read_text())
        assert process.poll() is None, "the provisioner ended"
        time.sleep(0.02)
    raise AssertionError("the provisioner did not start")


def remote(
    home: Path, url: str, *, token: str = TOKEN, seconds: float = 30.0, limits: SandboxLimits | None = None
) -> RemoteSandboxProvider:
    """The provider of a home."""
    return RemoteSandboxProvider(
        folders(home),
        SandboxService(ServiceAddress(url, token, seconds), home),
        limits=limits or SandboxLimits(),
    )


@asynccontextmanager
async def listening(served: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """A server of any application, in this process: its address."""
    config = uvicorn.Config(
        served,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:
            assert not running.done(), "the server did not start"
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def serving(
    backend: Backend, *, token: str | None = TOKEN, port: int = 0, **given: Any
) -> AsyncIterator[tuple[str, StationPool]]:
    """A provisioner in this process, with any backend: its address, and what it keeps."""
    stations = StationPool(backend, **given)
    async with listening(create_app(stations, token), port) as url:
        yield url, stations


def bubblewrapped(root: Path, limits: SandboxLimits | None = None) -> LocalBackend:
    """This machine's own sandboxes."""

    def make(around: Surroundings) -> LocalSandboxProvider:
        return LocalSandboxProvider(
            around.folders, limits=limits or SandboxLimits(), read_only=around.read_only
        )

    return LocalBackend(root, make)
