"""The bundled agent runtime as a child process: started, supervised, restarted and never orphaned.

httpx runs over aiohttp: its own transport scans its whole pool whenever a request starts or ends, which was
half of the bot's work with 200 open streams.
"""

from __future__ import annotations

import asyncio
import subprocess

import aiohttp
import httpx
import structlog
from httpx_aiohttp import AiohttpTransport
from pydantic import SecretStr

from agent.shared.tls import tls_context
from bot.clock import Clock
from bot.errors import ConfigUnusable
from bot.runtime.signing import make_signer
from bot.runtime.spawn import RuntimeProcess

log = structlog.get_logger(__name__)


# Idle connections are closed after this time (seconds), long before the server closes them after its own 5.
# A busy machine delays both, and a request on a connection that the server is closing fails.
KEEP_ALIVE = 2.0
REMOTE_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=KEEP_ALIVE)
"""Limits of the connections to a runtime elsewhere."""


def remote_client(
    url: str, key: SecretStr | None, signing_key: SecretStr | None, *, timeout: httpx.Timeout
) -> httpx.AsyncClient:
    """Return a client of a remote runtime, using the environment's proxy, if any."""
    return httpx.AsyncClient(
        base_url=url,
        headers={"x-api-key": key.get_secret_value()} if key else {},
        timeout=timeout,
        limits=REMOTE_LIMITS,
        verify=tls_context(),
        auth=make_signer(signing_key.get_secret_value() if signing_key else None),
    )


def unix_transport(socket: str) -> httpx.AsyncBaseTransport:
    """Return a transport with unlimited connections to one Unix socket."""

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(socket, limit=0, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    # The TLS settings are never used on a socket, and the default ones take milliseconds to make.
    return AiohttpTransport(client=session, verify=False)


# Seconds between starts of a crashing runtime; one that ran for a while restarts immediately.
BACKOFF = (0.0, 0.5, 2.0, 5.0, 15.0)
LASTED = 30.0
STOP_GRACE = 1.5
BASE_URL = "http://127.0.0.1"
UNUSABLE = 2
"""Exit code of a runtime whose configuration is unusable: only a person can fix it."""


class RuntimeChild:
    """Owner of the child process. `run` keeps it alive until cancelled, then stops it."""

    def __init__(self, process: RuntimeProcess, clock: Clock) -> None:
        self._process = process
        self._clock = clock
        self.starts = 0
        self.failure = ""
        """Why the process ended the last time that it did so by itself; "" if it said nothing."""

    @property
    def pid(self) -> int | None:
        """The id of the running process, or None."""
        process = self._process.process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers of a request to the child."""
        return {"Authorization": f"Bearer {self._process.token}"}

    def client(self, *, timeout: httpx.Timeout) -> httpx.AsyncClient:
        """Return a client of the child, which remains valid across restarts of the process."""
        transport = unix_transport(str(self._process.socket))
        return httpx.AsyncClient(
            transport=transport,
            base_url=BASE_URL,
            headers=self.headers,
            timeout=timeout,
            auth=make_signer(self._process.signing_key),
        )

    async def run(self) -> None:
        """Keep the process alive until cancelled.

        Raises ConfigUnusable if its first life ended for that; later ones found the file good before.
        """
        failures = 0
        try:
            while True:
                started = self._clock.now()
                code = await self._run_once()
                failures = 0 if self._clock.now() - started > LASTED else failures + 1
                pause = BACKOFF[min(failures, len(BACKOFF) - 1)]
                self.failure = await asyncio.to_thread(self._process.last_failure) if code else ""
                if code == UNUSABLE and self.starts == 1 and self.failure:
                    raise ConfigUnusable(self.failure)
                cause = {"cause": self.failure} if self.failure else {}
                log.error("runtime_ended", **cause, code=code, again_in=pause, log=str(self._process.log))
                await self._clock.sleep(pause)
        finally:
            await asyncio.to_thread(self._process.kill)

    async def _run_once(self) -> int:
        """Run the process once and return its exit code."""
        process = await asyncio.to_thread(self._process.start)
        self.starts += 1
        log.info("runtime_started", pid=process.pid)
        try:
            return await asyncio.to_thread(process.wait)
        except asyncio.CancelledError:
            process.terminate()
            await asyncio.to_thread(_end_process, process)
            raise


def _end_process(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
