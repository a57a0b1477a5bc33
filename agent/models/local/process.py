"""The local model's process: started on first use and restarted after a crash.

Blocking inside, behind a thread lock: graphs may run on several event loops of one process.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO

import structlog

from agent.errors import ModelUnavailable
from agent.models.local.bundled import SLOT_TOKENS, SLOTS, check_engine, find_weights, with_openmp

log = structlog.get_logger(__name__)
MAX_THREADS = 4
START_SECONDS = 60.0
MODULE = "agent.models.local.server"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and key of the server."""

    url: str
    key: str = field(repr=False)


def server_command() -> list[str]:
    """Return the server's command line. Raises ModelUnavailable."""
    check_engine()
    weights = find_weights()
    return [
        *(sys.executable, "-P", "-m", MODULE, "--model", str(weights)),
        *("--context", str(SLOTS * SLOT_TOKENS), "--slots", str(SLOTS), "--threads", str(thread_count())),
    ]


def thread_count(cores: int | None = None) -> int:
    """Return half of the cores, 1 to 4.

    Threads that wait for each other on busy cores are far slower than one: next to other work on two cores,
    two gave a sixth to a half of the tokens of one.
    """
    return max(1, min(MAX_THREADS, (cores or os.cpu_count() or 1) // 2))


class LocalServer:
    """One server process, shared by everything in this process."""

    def __init__(
        self, command: Callable[[], Sequence[str]] = server_command, *, start_seconds: float = START_SECONDS
    ) -> None:
        self._command = command
        self._start_seconds = start_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._endpoint: Endpoint | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running process, or None."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    async def ensure_running(self) -> Endpoint:
        """Return the endpoint of a running server; concurrent callers share one start.

        Raises ModelUnavailable if it cannot be started.
        """
        endpoint = self._endpoint
        if endpoint is not None and self.pid is not None:
            return endpoint
        return await asyncio.to_thread(self._ensure_locked)

    async def stop(self) -> None:
        """Stop the process, if there is one; `ensure_running` starts another."""
        await asyncio.to_thread(self._stop_locked)

    def _ensure_locked(self) -> Endpoint:
        with self._lock:
            if self._endpoint is not None and self.pid is not None:
                return self._endpoint
            self._end_process()
            return self._start_process()

    def _start_process(self) -> Endpoint:
        command = list(self._command())
        started = time.monotonic()
        log.info("local_model_starting")
        key = secrets.token_urlsafe(24)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(  # noqa: S603 - the command is ours
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                env=with_openmp(environment),
            )
            self._process = process
            url = _parse_url(self._read_announcement(process, key))
            if url is None:
                code = self._end_process()
                raise ModelUnavailable(
                    f"The local model did not start (exit code {code}){_last_line(complaints)}."
                )
        self._endpoint = Endpoint(url, key)
        log.info("local_model_ready", seconds=round(time.monotonic() - started, 2), pid=process.pid)
        return self._endpoint

    def _read_announcement(self, process: subprocess.Popen[str], key: str) -> str:
        """Return the line with the address, or "" if the process exits or takes too long."""
        assert process.stdin is not None
        assert process.stdout is not None
        guard = threading.Timer(self._start_seconds, process.kill)
        guard.start()
        try:
            process.stdin.write(key + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:
            return ""
        finally:
            guard.cancel()

    def _stop_locked(self) -> None:
        with self._lock:
            self._end_process()

    def _end_process(self) -> int | None:
        process, self._process, self._endpoint = self._process, None, None
        if process is None:
            return None
        process.kill()
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                _close_stream(stream)
        return code


def _close_stream(stream: object) -> None:
    try:
        stream.close()  # type: ignore[attr-defined]
    except OSError:
        return


def _parse_url(line: str) -> str | None:
    try:
        announced = json.loads(line)
    except ValueError:
        return None
    url = announced.get("url") if isinstance(announced, dict) else None
    return url if isinstance(url, str) else None


SHARED = LocalServer()
"""The one server of this process."""


def _last_line(complaints: IO[bytes]) -> str:
    """Return the last line of stderr as a suffix for an error; "" if there is none."""
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""
