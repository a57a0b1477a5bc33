"""FastAPI routes that read JSON bodies up to a limit, described by their docstrings."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

from agent.shared.connection_limits import LARGEST_BODY
from agent.shared.json_text import parse_json


class JsonRequest(Request):
    """A request whose body is read up to a limit and parsed by orjson."""

    def __init__(self, request: Request, largest_body: int) -> None:
        super().__init__(request.scope, request.receive)
        self._largest_body = largest_body

    async def body(self) -> bytes:
        """Return the body. Raises the exception of `too_large` if it is larger than the limit."""
        if not hasattr(self, "_body"):
            chunks, size = [], 0
            async for chunk in self.stream():
                size += len(chunk)
                if size > self._largest_body:
                    raise self.too_large(self._largest_body)
                chunks.append(chunk)
            self._body = b"".join(chunks)
        return self._body

    async def json(self) -> Any:
        """Return the parsed body. Raises `HTTPException` (422)."""
        try:
            return parse_json(await self.body())
        except orjson.JSONDecodeError as error:
            raise HTTPException(422, f"The body is not valid JSON. {error}") from error

    @staticmethod
    def too_large(_limit: int) -> HTTPException:
        """Return the exception for a body of more than `_limit` bytes."""
        return HTTPException(422, "The body is too large.")


class JsonRoute(APIRoute):
    """A route that reads bodies as `request_class`; its OpenAPI summary is the docstring's first line."""

    largest_body = LARGEST_BODY
    request_class = JsonRequest

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        summary, _, description = self.description.partition("\n")
        self.summary, self.description = summary.removesuffix("."), description.strip()

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle requests as `request_class`."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(self.request_class(request, self.largest_body))

        return handle_json


class ErrorDetail(BaseModel):
    """Why a request failed."""

    detail: str


def make_router(
    tag: str, *, prefix: str = "", route_class: type[JsonRoute] = JsonRoute, **options: Any
) -> APIRouter:
    """Create a router whose operations have the name of their endpoint and describe the error response."""
    return APIRouter(
        tags=[tag],
        prefix=prefix,
        route_class=route_class,
        strict_content_type=False,
        responses={"default": {"description": "The request failed.", "model": ErrorDetail}},
        generate_unique_id_function=lambda route: route.name,
        **options,
    )


def describe_invalid_request(error: RequestValidationError) -> str:
    """Name each field of a request that is invalid, and why."""
    problems = []
    for problem in error.errors():
        if problem["type"] == "missing" and problem["loc"] == ("body",):
            return "The body is not valid JSON. It is empty."
        place = ".".join(map(str, problem["loc"][1:])) or str(problem["loc"][0])
        problems.append(f"{place}: {problem['msg']}")
    return "; ".join(problems)
