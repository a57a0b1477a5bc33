"""HTTP API of the sandbox service: sandboxes by name, in `/v1/sandboxes`.

Answers are ASCII JSON, since file names need not be UTF-8. Every caller needs the token, and no web page may
call.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, Final

import anyio
import structlog
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Send

from agent.core.interfaces import SandboxError, SandboxUnavailable
from agent.sandbox.remote_station import JSON_BYTES
from agent.sandbox.variables import check_variable
from agent.shared.failure_limit import FailureLimiter
from agent.shared.http_guard import HttpGuard, no_origin, token_required
from agent.shared.json_routes import JsonRequest, JsonRoute, make_router
from agent.shared.live_token import LiveToken
from roebot_provisioner.station_pool import Station, StationPool

log = structlog.get_logger(__name__)
COMMAND_BYTES: Final = 1_000_000
"""Bytes of a request body that holds no file names."""
HEARTBEAT_SECONDS = 2.0
"""Seconds between two lines while a command runs."""
OPEN_PATHS = frozenset({"/health"})
Command = asyncio.Task[dict[str, Any]]
"""A running command; its result is the last line of the response."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
_BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


class SandboxRequest(JsonRequest):
    """A JSON request whose text may contain lone surrogates, like file names; an empty body is `{}`."""

    @property
    def headers(self) -> Headers:
        """Headers without the content type, since every body is read as JSON."""
        return Headers(raw=[header for header in self.scope["headers"] if header[0] != b"content-type"])

    async def body(self) -> bytes:
        return await super().body() or b"{}"

    async def json(self) -> Any:
        """Return the parsed body. Raises `HTTPException` (400)."""
        try:
            return json.loads(await self.body())
        except (ValueError, RecursionError):
            raise HTTPException(400, "The request is not valid JSON.") from None

    @staticmethod
    def too_large(limit: int) -> HTTPException:
        return HTTPException(400, f"The request is larger than {limit:,} bytes.")


class SandboxRoute(JsonRoute):
    """A route with small bodies."""

    largest_body = COMMAND_BYTES
    request_class = SandboxRequest


class PullRoute(SandboxRoute):
    """A route whose body contains file names."""

    largest_body = JSON_BYTES


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OpenRequest(_Body):
    """The requested sandbox: paths of its read-only folders."""

    read_only: list[str] = Field(default_factory=list, max_length=100)


class PullRequest(_Body):
    """Paths of the files to send."""

    paths: list[str]


def _check_command(value: str) -> str:
    if "\x00" in value:
        raise ValueError("it contains a NUL character")
    os.fsencode(value)
    return value


def _check_variables(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        check_variable(name, text)
        os.fsencode(text)
    return value


class CommandRequest(_Body):
    """A shell command, its time limit in seconds (null: the sandbox's own), and environment variables."""

    command: Annotated[str, AfterValidator(_check_command)]
    seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    variables: Annotated[dict[str, str], AfterValidator(_check_variables)] = Field(
        default_factory=dict, repr=False
    )


class FileTreeBody(BaseModel):
    """Entries as `[path, kind, size, changed, runs]`; `cut` is true if there are more."""

    entries: list[list[str | int | bool]]
    cut: bool


class PushResult(BaseModel):
    """Paths that could not be written."""

    refused: list[str]


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise SandboxError("This is not a valid sandbox name.")
    return name


async def _get_pool(request: Request) -> StationPool:
    pool: StationPool = request.app.state.pool
    return pool


Name = Annotated[str, AfterValidator(_check_name)]
Pool = Annotated[StationPool, Depends(_get_pool)]


async def _borrow_station(name: Name, pool: Pool) -> AsyncIterator[Station]:
    """Hold the sandbox until the response has been sent."""
    async with pool.borrow(name) as station:
        yield station


Borrowed = Annotated[Station, Depends(_borrow_station)]
router = make_router("sandboxes", prefix="/v1/sandboxes/{name}", route_class=SandboxRoute)
pull_router = make_router("sandboxes", prefix="/v1/sandboxes/{name}", route_class=PullRoute)
health_router = make_router("service")


@health_router.get("/health")
async def check_health() -> Response:
    """Check that the service responds."""
    return _json_response({"ok": True})


@router.put("")
async def open_sandbox(name: Name, body: OpenRequest, pool: Pool) -> Response:
    """Create a sandbox unless it exists, and respond once it is ready."""
    await pool.open(name, body.read_only)
    return _json_response({})


@router.delete("")
async def close_sandbox(name: Name, pool: Pool) -> Response:
    """Remove a sandbox and its files, ignoring an unknown one."""
    await pool.close(name)
    return _json_response({})


@router.get("/tree", response_model=FileTreeBody)
async def list_files(station: Borrowed) -> Response:
    """List the files of a sandbox."""
    tree = await station.tree()
    return await asyncio.to_thread(lambda: _json_response(tree.as_json()))


@router.post("/push", response_model=PushResult, openapi_extra={"requestBody": _BYTES})
async def write_files(request: Request, station: Borrowed) -> Response:
    """Apply a stream of file entries: for each, one line of JSON, then the content."""
    return _json_response({"refused": list(await station.push(request.stream()))})


@pull_router.post("/pull", responses={200: _BYTES | {"description": "A stream of entries."}})
async def read_files(body: PullRequest, station: Borrowed) -> Response:
    """Send files as a stream of entries, skipping unreadable ones."""
    return SandboxStream(station.pull(body.paths), "application/octet-stream")


@router.post("/commands", responses={200: {"content": {"application/x-ndjson": {}}}})
async def run_command(request: Request, name: Name, body: CommandRequest, pool: Pool) -> Response:
    """Run a command, cancelling it if the caller disconnects.

    While it runs, a line `{"running": true}` comes every 2 s; the last line is its result or `error`.
    """
    lines = _command_lines(pool, name, body, request.app.state.commands)
    return SandboxStream(lines, "application/x-ndjson")


async def _command_lines(
    pool: StationPool, name: str, body: CommandRequest, commands: set[Command]
) -> AsyncGenerator[bytes]:
    # Starlette cancels the response repeatedly when the caller leaves, which must not reach the sandbox's
    # cleanup.
    command = asyncio.create_task(_run_command(pool, name, body))
    commands.add(command)
    command.add_done_callback(commands.discard)
    try:
        while not (await asyncio.wait({command}, timeout=HEARTBEAT_SECONDS))[0]:
            yield b'{"running": true}\n'
        yield json.dumps(command.result()).encode() + b"\n"
    finally:
        with anyio.CancelScope(shield=True):
            await _end_commands({command})


async def _end_commands(commands: Collection[Command]) -> None:
    """Cancel each command once, because a second cancellation would interrupt its cleanup, and wait for
    all.
    """
    for command in commands:
        if not command.cancelling():
            command.cancel()
    if commands:
        await asyncio.wait(commands)


async def _run_command(pool: StationPool, name: str, body: CommandRequest) -> dict[str, Any]:
    try:
        async with pool.borrow(name) as station:
            return asdict(await station.run(body.command, body.seconds, body.variables))
    except SandboxError as error:
        return {"error": str(error), "unavailable": isinstance(error, SandboxUnavailable)}


class SandboxStream(StreamingResponse):
    """A response from a generator, which is closed even if the caller disconnects.

    If a file can't be read to its end, the response is cut before its last chunk.
    """

    def __init__(self, chunks: AsyncGenerator[bytes], media_type: str) -> None:
        super().__init__(chunks, media_type=media_type)
        self._chunks = chunks

    async def stream_response(self, send: Send) -> None:
        """Send all chunks, and close the generator in any case."""
        try:
            async with aclosing(self._chunks):
                await super().stream_response(send)
        except SandboxError as error:
            log.warning("files_not_sent", detail=str(error))


async def _on_sandbox_error(_request: Request, error: Exception) -> Response:
    return _error_response(503 if isinstance(error, SandboxUnavailable) else 400, str(error))


async def _on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error_response(error.status_code, error.detail)


async def _on_invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return _error_response(422, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    return _error_response(400, "The request was interrupted.")


def create_app(pool: StationPool, token: str | None) -> ASGIApp:
    """Create the service for callers with `token`; without a token all local callers are served."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            await pool.adopt()
        except SandboxError as error:
            # The next caller that needs a sandbox gets the same error.
            log.warning("sandboxes_not_adopted", detail=str(error))
        reaper = asyncio.create_task(pool.reap(), name="sandbox-reaper")
        try:
            yield
        finally:
            reaper.cancel()
            await asyncio.gather(reaper, return_exceptions=True)
            await _end_commands(set(app.state.commands))
            await pool.close_all()

    app = FastAPI(
        title="Roebot sandbox service",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers={
            SandboxError: _on_sandbox_error,
            HTTPException: _on_http_error,
            RequestValidationError: _on_invalid_request,
            ClientDisconnect: _on_disconnect,
        },
    )
    app.state.pool = pool
    app.state.commands = set[Command]()
    for part in (health_router, router, pull_router):
        app.include_router(part)
    checks = [no_origin()]
    if token:
        detail = "The token is wrong or missing."
        checks.append(
            token_required(
                LiveToken(token), FailureLimiter(time.monotonic), open_paths=OPEN_PATHS, detail=detail
            )
        )
    return HttpGuard(app, checks)


def _error_response(status: int, detail: str) -> Response:
    return _json_response({"detail": detail}, status)


def _json_response(body: Any, status: int = 200) -> Response:
    return Response(json.dumps(body).encode(), status, media_type="application/json")
