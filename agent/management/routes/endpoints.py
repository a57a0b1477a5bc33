"""How every management route answers: JSON from result models, errors as `{"detail": …}`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson
import structlog
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from agent.core.schemas import ErrorBody
from agent.errors import (
    ApiError,
    FileError,
    Invalid,
    ModelCallFailed,
    ModelUnknown,
    ProfileUnknown,
    SkillError,
)

log = structlog.get_logger(__name__)
Endpoint = Callable[[Request], Awaitable[Response]]
GENERIC = "Something went wrong; the log has more."
LARGEST_BODY = 64 * 1024
"""Bytes of a JSON body where nothing else is said."""
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def answer(result: BaseModel, status: int = 200) -> Response:
    """A result as JSON."""
    return Response(result.model_dump_json(), status, _HEADERS, "application/json")


def refusal(status: int, detail: str) -> Response:
    """An error as JSON."""
    return answer(ErrorBody(detail=detail), status)


async def body_of(request: Request, most: int = LARGEST_BODY) -> object:
    """The JSON body. Raises Invalid for what is none, or is too large."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise Invalid("The body is too large.")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Invalid("The body is not JSON.") from None


def guarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint with its errors answered; what nobody expected is logged and answers a generic 500."""

    async def guard(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001 - supervisor of the routes: it logs and answers a generic 500
            status, detail = _expected(error)
            if status >= 500:
                route = request.scope.get("path")
                # a traceback is made by reading source files, which must not hold up the loop
                await asyncio.to_thread(log.error, "request_failed", route=route, exc_info=error)
            return refusal(status, detail)

    return guard


def _expected(error: Exception) -> tuple[int, str]:
    """Status and detail of an error that the routes know; a generic 500 for any other."""
    if isinstance(error, FileError | ApiError | SkillError):
        return error.status, str(error)
    if isinstance(error, ModelUnknown | ProfileUnknown):
        return 404, str(error)
    if isinstance(error, ModelCallFailed):
        return 502, str(error)
    if isinstance(error, ClientDisconnect):
        return 400, "The request was broken off."
    return 500, GENERIC
