"""Stations on another machine, over HTTP. The machine is not trusted, so its responses are bounded and
checked.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.file_transfer import FileTree
from agent.sandbox.variables import NO_VARIABLES

OPEN_SECONDS = 300.0
"""Seconds that a station may take to start."""
ALIVE_SECONDS = 5.0
JSON_BYTES = 64_000_000
LINE_BYTES = 8_000_000
MESSAGE_LENGTH = 500
"""Characters of an error message of the other machine that are kept."""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A sandbox service: `url` without a trailing slash, its token, and its certificate check.

    `seconds` is how long it may send nothing.
    """

    url: str
    token: str = field(default="", repr=False)
    seconds: float = 30.0
    verify: ssl.SSLContext | bool = True

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Open a client of the service. Raises SandboxUnavailable if the URL is invalid."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        timeout = httpx.Timeout(self.seconds, pool=None)
        # Loading the certificate authorities takes longer than a short command.
        verify = self.verify if self.url.startswith("https:") else False
        try:
            client = httpx.AsyncClient(
                base_url=self.url, headers=headers, timeout=timeout, verify=verify, trust_env=False
            )
        except httpx.InvalidURL:
            raise SandboxUnavailable(f"{self.url} is not a valid sandbox service URL.") from None
        async with client:
            yield client


class RemoteStation:
    """A `Station` with the service's `name` for it. `connect` opens a client for each call."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]], name: str
    ) -> None:
        self._connect, self._path = connect, f"/v1/sandboxes/{name}"

    async def open(self, read_only: Sequence[str]) -> None:
        """Create the station unless it exists. Raises SandboxUnavailable."""
        await self._json("PUT", self._path, seconds=OPEN_SECONDS, json={"read_only": list(read_only)})

    async def close(self) -> None:
        await self._json("DELETE", self._path)

    async def is_alive(self) -> bool:
        try:
            await self._json("GET", "/health", timeout=ALIVE_SECONDS)
        except SandboxError:
            return False
        return True

    async def tree(self) -> FileTree:
        body = await self._read("GET", f"{self._path}/tree")
        return await asyncio.to_thread(lambda: FileTree.from_json(_parse(body)))

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        match await self._json("POST", f"{self._path}/push", content=frames):
            case {"refused": list(refused)}:
                return [str(path) for path in refused]
        raise _unknown_answer()

    async def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        # httpx would encode JSON as UTF-8, which can't hold every file name.
        body = json.dumps({"paths": list(paths)}).encode()
        async with self._stream("POST", f"{self._path}/pull", content=body) as response:
            async for piece in response.aiter_raw():
                yield piece

    async def run(
        self, command: str, seconds: float | None, variables: Mapping[str, str] = NO_VARIABLES
    ) -> CommandResult:
        # Services of earlier versions know no variables.
        more = {"variables": dict(variables)} if variables else {}
        body = json.dumps({"command": command, "seconds": seconds, **more}).encode()
        path = f"{self._path}/commands"
        async with self._stream("POST", path, make_error=_command_lost, content=body) as response:
            async for line in _split_lines(response):
                if (result := _parse_result(line)) is not None:
                    return result
        raise _command_lost("the response ended early")

    async def _json(self, method: str, path: str, **options: Any) -> Any:
        return _parse(await self._read(method, path, **options))

    async def _read(self, method: str, path: str, **options: Any) -> bytes:
        async with self._stream(method, path, **options) as response:
            return await _read_body(response, JSON_BYTES)

    @asynccontextmanager
    async def _stream(
        self,
        method: str,
        path: str,
        *,
        make_error: Callable[[str], SandboxError] | None = None,
        seconds: float | None = None,
        **options: Any,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request and yield its successful response.

        `seconds` is how long the service may send nothing; `make_error` makes the error of a response that
        breaks off.
        """
        async with self._connect() as client:
            if seconds is not None:
                options["timeout"] = httpx.Timeout(client.timeout.connect, read=seconds, pool=None)
            failed = _unreachable(str(client.base_url))
            try:
                async with client.stream(method, path, **options) as response:
                    await _check_status(response)
                    failed = make_error or failed
                    yield response
            except httpx.HTTPError as error:
                raise failed(_describe_error(error)) from error


async def _check_status(response: httpx.Response) -> None:
    if response.is_success:
        return
    reason = _parse_reason(await _read_body(response, LINE_BYTES))
    if response.status_code == 401:
        raise SandboxUnavailable("The sandbox service rejected the token. Check sandbox.token.")
    if response.status_code in {404, 405}:
        raise SandboxUnavailable(f"There is no Roebot sandbox service at {response.url.host}: {reason}")
    kind = SandboxUnavailable if response.status_code in {429, 502, 503, 504} else SandboxError
    raise kind(f"The sandbox service rejected the request: {reason}")


async def _read_body(response: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            raise SandboxError("The sandbox service sent a response that is too large.")
    return bytes(body)


async def _split_lines(response: httpx.Response) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for piece in response.aiter_raw():
        buffer += piece
        while (end := buffer.find(b"\n")) >= 0:
            yield bytes(buffer[:end])
            del buffer[: end + 1]
        if len(buffer) > LINE_BYTES:
            raise SandboxError("The sandbox service sent a response that is too large.")


def _parse_result(line: bytes) -> CommandResult | None:
    """Parse a line about a command: its result, or None while it is running. Raises SandboxError."""
    match _parse(line):
        case {"running": True}:
            return None
        case {"error": str(error), "unavailable": bool(unavailable)}:
            raise (SandboxUnavailable if unavailable else SandboxError)(error[:MESSAGE_LENGTH])
        case {
            "output": str(output),
            "exit_code": int() | None as code,
            "truncated": bool(truncated),
            "stopped": str() | None as stopped,
        }:
            return CommandResult(output, code, truncated, stopped[:MESSAGE_LENGTH] if stopped else None)
    raise _unknown_answer()


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unknown_answer() from None


def _parse_reason(body: bytes) -> str:
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, LookupError, TypeError, RecursionError):
        detail = None
    return detail[:MESSAGE_LENGTH] if isinstance(detail, str) and detail else "no reason was given"


def _describe_error(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it is not responding"
    return str(error)[:MESSAGE_LENGTH] or type(error).__name__


def _unreachable(url: str) -> Callable[[str], SandboxError]:
    return lambda why: SandboxUnavailable(f"The sandbox service at {url} can't be reached: {why}.")


def _unknown_answer() -> SandboxError:
    return SandboxUnavailable("The sandbox service sent an unexpected response.")


def _command_lost(why: str) -> SandboxError:
    return SandboxError(
        f"The connection to the sandbox service was lost, and with it the command's result: {why}."
    )
