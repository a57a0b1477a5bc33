"""The bundled agent runtime as a child process: started, watched, started again, and never left behind.

It listens on a Unix socket in a folder of its own with a token made at this start, so that nothing but this
service can reach it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import httpx
import structlog

from bot.clock import Clock

log = structlog.get_logger(__name__)

TOKEN_VARIABLE = "ROEBOT_RUNTIME_TOKEN"  # noqa: S105 - a variable's name
# Seconds between starts of a runtime that dies; one that lasted starts again at once.
BACKOFF = (0.0, 0.5, 2.0, 5.0, 15.0)
LASTED = 30.0
STOP_GRACE = 1.5
LOG_LIMIT = 10 * 1024 * 1024
BASE_URL = "http://127.0.0.1"


class RuntimeChild:
    """Owns the child process. `run` keeps it alive until cancelled, then ends it."""

    def __init__(self, home: Path, config: Path | None, clock: Clock, *, extra: Sequence[str] = ()) -> None:
        self._home = home
        self._config = config
        self._clock = clock
        self._extra = tuple(extra)
        self._token = secrets.token_urlsafe(32)
        self._folder = Path(tempfile.mkdtemp(prefix="roebot-"))
        self._process: asyncio.subprocess.Process | None = None
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def headers(self) -> dict[str, str]:
        """What a request to the child carries."""
        return {"Authorization": f"Bearer {self._token}"}

    def client(self, *, timeout: httpx.Timeout) -> httpx.AsyncClient:
        """A client of the child; it stays valid over restarts of the process."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        transport = httpx.AsyncHTTPTransport(uds=str(self._socket), limits=limits)
        return httpx.AsyncClient(
            transport=transport, base_url=BASE_URL, headers=self.headers, timeout=timeout
        )

    async def run(self) -> None:
        """Keep the process alive until cancelled."""
        failures = 0
        try:
            while True:
                started = self._clock.now()
                code = await self._once()
                failures = 0 if self._clock.now() - started > LASTED else failures + 1
                pause = BACKOFF[min(failures, len(BACKOFF) - 1)]
                log.error("runtime_ended", code=code, again_in=pause, log=str(self._log))
                await self._clock.sleep(pause)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _socket(self) -> Path:
        return self._folder / "agent.sock"

    @property
    def _log(self) -> Path:
        return self._home / "logs" / "agent.log"

    async def _once(self) -> int:
        """One life of the process: its exit code."""
        self._socket.unlink(missing_ok=True)
        with self._open_log() as output:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**os.environ, TOKEN_VARIABLE: self._token, "ROEBOT_HOME": str(self._home)},
            )
        self.starts += 1
        log.info("runtime_started", pid=process.pid)
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                await self._end(process)

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "agent.serve", "--uds", str(self._socket), "--home", str(self._home)]
        if self._config is not None:
            command += ["--config", str(self._config)]
        return [*command, "--until-stdin-closes", "--parent-pid", str(os.getpid()), *self._extra]

    def _open_log(self) -> BinaryIO:
        path = self._log
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), STOP_GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()
