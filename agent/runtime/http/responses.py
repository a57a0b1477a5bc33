"""Answers: JSON fast, errors as `{"detail": …}`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import ApiError, Invalid
from agent.runtime.encode import dumps

JSON: Final = "application/json"
LARGEST_BODY: Final = 64 * 1024 * 1024
"""Bytes of a request body."""

Endpoint = Callable[[Request], Awaitable[Response]]
Body = TypeVar("Body", bound=BaseModel)


def answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(dumps(value), status, headers, JSON)


def refusal(status: int, detail: str) -> Response:
    """An error answer."""
    return answer({"detail": detail}, status=status)


async def on_api_error(_request: Request, error: Exception) -> Response:
    """Starlette's handler for `ApiError`."""
    assert isinstance(error, ApiError)
    return refusal(error.status, str(error))


async def read_json(request: Request) -> Any:
    """The body as JSON; None when there is none. Raises `Invalid`."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > LARGEST_BODY:
        raise Invalid("The body is too large")
    body = await request.body()
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The body is not JSON: {error}") from error


async def read_body(request: Request, model: type[Body]) -> Body:
    """The body as a model; an empty one is `{}`. Raises `Invalid`."""
    return validate(model, await read_json(request))


def validate(model: type[Body], data: Any) -> Body:
    """`data` as a model. Raises `Invalid` that names each field."""
    try:
        return model.model_validate({} if data is None else data)
    except ValidationError as error:
        raise Invalid(_told(error)) from error


def _told(error: ValidationError) -> str:
    found = [f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors()]
    return "; ".join(found)


def integer(request: Request, name: str, default: int, *, least: int = 0, most: int = 1000) -> int:
    """An integer of the query. Raises `Invalid`."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError as error:
        raise Invalid(f"{name} must be an integer") from error
    if not least <= value <= most:
        raise Invalid(f"{name} must be from {least} to {most}")
    return value


def several(request: Request, name: str) -> list[str] | None:
    """A repeated query parameter, also as a JSON array or separated by commas."""
    found = [text for text in request.query_params.getlist(name) if text]
    if len(found) == 1 and found[0].startswith("["):
        try:
            return [str(item) for item in orjson.loads(found[0])]
        except orjson.JSONDecodeError as error:
            raise Invalid(f"{name} is no JSON array") from error
    if len(found) == 1 and "," in found[0]:
        return found[0].split(",")
    return found or None


def truth(request: Request, name: str) -> bool:
    """A boolean of the query; absent is false."""
    return request.query_params.get(name, "").lower() in {"1", "true", "yes"}


def pages(total: int, *, offset: int, limit: int) -> dict[str, str]:
    """The `X-Pagination-*` headers of a list."""
    headers = {"X-Pagination-Total": str(total)}
    if offset + limit < total:
        headers["X-Pagination-Next"] = str(offset + limit)
    return headers
