"""The service's HTTP API: stations by name, below `/v1/sandboxes`.

PUT {name}             {"read_only": [path]}             have it made; its answer comes when it is ready
GET {name}/tree        → {"entries", "cut"}              what is in its folders
POST {name}/push       a stream of files → {"refused"}   make its folders so
POST {name}/pull       {"paths"} → a stream of files
POST {name}/commands   {"command", "seconds"} → a line every few seconds, the last one with the result
DELETE {name}                                            end it
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.provisioner.auth import guarded
from agent.sandbox.provisioner.commands import CommandResponse, FilesResponse
from agent.sandbox.provisioner.http_client import JSON_BYTES
from agent.sandbox.provisioner.station_pool import Stations

COMMAND_BYTES = 1_000_000
log = structlog.get_logger(__name__)
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Opening(_Body):
    read_only: list[str] = Field(default_factory=list, max_length=100)


class _Pulling(_Body):
    paths: list[str]


class _Running(_Body):
    command: str
    seconds: float | None = Field(None, gt=0, allow_inf_nan=False)

    @field_validator("command")
    @classmethod
    def _can_be_run(cls, value: str) -> str:
        if "\x00" in value:
            raise ValueError("it holds a NUL")
        os.fsencode(value)
        return value


Endpoint = Callable[[Request], Awaitable[Response]]


def application(stations: Stations, token: str | None) -> ASGIApp:
    """Build the service as an ASGI application for a server; `token` as in `auth.guarded`."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            await stations.adopt()
        except SandboxError as error:
            # Whoever wants a sandbox hears it too.
            log.warning("sandboxes_not_adopted", detail=str(error))
        reaper = asyncio.create_task(stations.reap(), name="sandbox-reaper")
        try:
            yield
        finally:
            reaper.cancel()
            await asyncio.gather(reaper, return_exceptions=True)
            await stations.close_all()

    return guarded(Starlette(routes=_Routes(stations).routes(), lifespan=lifespan), token)


class _Routes:
    def __init__(self, stations: Stations) -> None:
        self._stations = stations

    def routes(self) -> list[Route]:
        one = "/v1/sandboxes/{name}"
        return [
            Route("/health", _health),
            Route(one, _guarded(self.open), methods=["PUT"]),
            Route(one, _guarded(self.close), methods=["DELETE"]),
            Route(f"{one}/tree", _guarded(self.tree)),
            Route(f"{one}/push", _guarded(self.push), methods=["POST"]),
            Route(f"{one}/pull", _guarded(self.pull), methods=["POST"]),
            Route(f"{one}/commands", _guarded(self.run), methods=["POST"]),
        ]

    async def open(self, request: Request) -> Response:
        given = _Opening.model_validate(await _json(request, COMMAND_BYTES))
        await self._stations.open(_name(request), given.read_only)
        return _answer({})

    async def close(self, request: Request) -> Response:
        await self._stations.close(_name(request))
        return _answer({})

    async def tree(self, request: Request) -> Response:
        async with self._stations.lent(_name(request)) as station:
            found = await station.tree()
        return await asyncio.to_thread(lambda: _answer(found.as_json()))

    async def push(self, request: Request) -> Response:
        async with self._stations.lent(_name(request)) as station:
            refused = await station.push(request.stream())
        return _answer({"refused": list(refused)})

    async def pull(self, request: Request) -> Response:
        given = _Pulling.model_validate(await _json(request, JSON_BYTES))
        return FilesResponse(self._stations.lent(_name(request)), given.paths)

    async def run(self, request: Request) -> Response:
        given = _Running.model_validate(await _json(request, COMMAND_BYTES))
        name = _name(request)

        async def work() -> CommandResult:
            async with self._stations.lent(name) as station:
                return await station.run(given.command, given.seconds)

        return CommandResponse(work)


def _guarded(endpoint: Endpoint) -> Endpoint:
    """Its errors become answers."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ValidationError as error:
            first = error.errors()[0]
            return _refused(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except SandboxUnavailable as error:
            return _refused(503, str(error))
        except SandboxError as error:
            return _refused(400, str(error))
        except ClientDisconnect:
            return _refused(400, "The request broke off.")

    return answered


async def _health(_: Request) -> Response:
    return _answer({"ok": True})


async def _json(request: Request, limit: int) -> Any:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise SandboxError(f"The request is larger than {limit:,} bytes.")
    try:
        return json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise SandboxError("The request is no JSON.") from None


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    if not _NAME.fullmatch(name):
        raise SandboxError("This is no name of a sandbox.")
    return name


def _refused(status: int, detail: str) -> Response:
    return _answer({"detail": detail}, status)


def _answer(body: Any, status: int = 200) -> Response:
    """JSON in ASCII: the names of files need not be of UTF-8."""
    return Response(json.dumps(body).encode(), status, media_type="application/json")
