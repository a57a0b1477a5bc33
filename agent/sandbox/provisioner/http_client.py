"""A station somewhere else, over HTTP. What is there may be a stranger: nothing it says is believed."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.provisioner.file_listing import Tree

OPEN_SECONDS = 300.0
"""How long a station may take to come up."""
THERE_SECONDS = 5.0
JSON_BYTES = 64_000_000
LINE_BYTES = 8_000_000
SAID = 500
NOTHING_SAID = "it gave no reason"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is: `url` without a slash at the end, `token` that it wants, and how its certificate is
    checked. `seconds`: how long it may say nothing.
    """

    url: str
    token: str = field(default="", repr=False)
    seconds: float = 30.0
    verify: ssl.SSLContext | bool = True

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client of it. Raises SandboxUnavailable where the address is none."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        timeout = httpx.Timeout(self.seconds, pool=None)
        # Reading the authorities takes longer than a short command.
        verify = self.verify if self.url.startswith("https:") else False
        try:
            client = httpx.AsyncClient(
                base_url=self.url, headers=headers, timeout=timeout, verify=verify, trust_env=False
            )
        except httpx.InvalidURL:
            raise SandboxUnavailable(f"{self.url} is no address of a sandbox service.") from None
        async with client:
            yield client


class FarStation:
    """See `Station`. `name` is what the service calls it."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        self._client, self._path = client, f"/v1/sandboxes/{name}"

    async def open(self, read_only: Sequence[str]) -> None:
        """Have it made where it is not there. Raises SandboxUnavailable."""
        await self._json(
            "PUT", self._path, json={"read_only": list(read_only)}, timeout=_patient(self._client)
        )

    async def close(self) -> None:
        """Have it ended."""
        await self._json("DELETE", self._path)

    async def there(self) -> bool:
        """See `Station`."""
        try:
            await self._json("GET", "/health", timeout=THERE_SECONDS)
        except SandboxError:
            return False
        return True

    async def tree(self) -> Tree:
        """See `Station`."""
        body = await self._raw("GET", f"{self._path}/tree")
        return await asyncio.to_thread(lambda: Tree.from_json(_parsed(body)))

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        """See `Station`."""
        match await self._json("POST", f"{self._path}/push", content=frames):
            case {"refused": list(refused)}:
                return [str(path) for path in refused]
        raise _unknown()

    async def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """See `Station`."""
        # Names need not be of UTF-8, and httpx would write them so.
        asked = json.dumps({"paths": list(paths)}).encode()
        async with self._stream("POST", f"{self._path}/pull", content=asked) as response:
            async for piece in response.aiter_raw():
                yield piece

    async def run(self, command: str, seconds: float | None) -> CommandResult:
        """See `Station`."""
        asked = json.dumps({"command": command, "seconds": seconds}).encode()
        async with self._stream("POST", f"{self._path}/commands", begun=_broken, content=asked) as response:
            async for line in _lines(response):
                if (result := _result(line)) is not None:
                    return result
        raise _broken("it said no more")

    async def _json(self, method: str, path: str, **given: Any) -> Any:
        return _parsed(await self._raw(method, path, **given))

    async def _raw(self, method: str, path: str, **given: Any) -> bytes:
        async with self._stream(method, path, **given) as response:
            return await _body(response, JSON_BYTES)

    @asynccontextmanager
    async def _stream(
        self, method: str, path: str, *, begun: Callable[[str], SandboxError] | None = None, **given: Any
    ) -> AsyncIterator[httpx.Response]:
        """The answer, when it is a good one. `begun` makes the error of one that breaks off."""
        failed = _unreachable(str(self._client.base_url))
        try:
            async with self._client.stream(method, path, **given) as response:
                await _check(response)
                failed = begun or failed
                yield response
        except httpx.HTTPError as error:
            raise failed(_why(error)) from error


def _patient(client: httpx.AsyncClient) -> httpx.Timeout:
    return httpx.Timeout(client.timeout.connect, read=OPEN_SECONDS, pool=None)


async def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    said = _reason(await _body(response, LINE_BYTES))
    if response.status_code == 401:
        raise SandboxUnavailable("The sandbox service refused the token; see sandbox.token.")
    if response.status_code in {404, 405}:
        raise SandboxUnavailable(f"There is no sandbox service of ours at {response.url.host}: {said}")
    kind = SandboxUnavailable if response.status_code in {429, 502, 503, 504} else SandboxError
    raise kind(f"The sandbox service refused: {said}")


async def _body(response: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            raise SandboxError("The sandbox service said too much.")
    return bytes(body)


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    held = bytearray()
    async for piece in response.aiter_raw():
        held += piece
        while (end := held.find(b"\n")) >= 0:
            yield bytes(held[:end])
            del held[: end + 1]
        if len(held) > LINE_BYTES:
            raise SandboxError("The sandbox service said too much.")


def _result(line: bytes) -> CommandResult | None:
    """What a line says of the command; None where it still runs."""
    match _parsed(line):
        case {"running": True}:
            return None
        case {"error": str(error), "unavailable": bool(unavailable)}:
            raise (SandboxUnavailable if unavailable else SandboxError)(error[:SAID])
        case {
            "output": str(output),
            "exit_code": int() | None as code,
            "truncated": bool(truncated),
            "stopped": str() | None as stopped,
        }:
            return CommandResult(output, code, truncated, stopped[:SAID] if stopped else None)
    raise _unknown()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unknown() from None


def _reason(body: bytes) -> str:
    try:
        found = json.loads(body)["detail"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return NOTHING_SAID
    return found[:SAID] if isinstance(found, str) and found else NOTHING_SAID


def _why(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it does not answer"
    return str(error)[:SAID] or type(error).__name__


def _unreachable(url: str) -> Callable[[str], SandboxError]:
    return lambda why: SandboxUnavailable(f"The sandbox service at {url} can't be reached: {why}.")


def _unknown() -> SandboxError:
    return SandboxUnavailable("The sandbox service answers in a way that is not known here.")


def _broken(why: str) -> SandboxError:
    return SandboxError(f"The sandbox service broke off, and what the command did is lost: {why}.")
