"""Building blocks of the management routes: errors, headers, body limits, list pages, multipart bodies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, TypeVar

import structlog
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from agent.errors import (
    ApiError,
    FileError,
    FileRefused,
    Invalid,
    ModelCallFailed,
    ModelUnknown,
    ProfileUnknown,
    SkillError,
)
from agent.runtime.http.base import error_response
from agent.shared.json_routes import LARGEST_BODY, JsonRoute, describe_invalid_request, make_router
from agent.shared.schemas import ListPage

log = structlog.get_logger(__name__)
GENERIC = "Internal error; see the log for details."
MAX_PAGE = 200
MAX_HEADER_BYTES = 8_192
_MALFORMED = "The multipart body is malformed."
_HEADERS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
FILES_SCHEMA: Final = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
}
"""Multipart form with files, for the OpenAPI document."""

L = TypeVar("L", bound=ListPage)
PageLimit = Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="Maximum number of items to return.")]
PageCursor = Annotated[str, Query(description="`next` of the previous page; omit it for the first page.")]


class ManagementRoute(JsonRoute):
    """A route that converts errors to responses and sets security headers."""

    largest_body = 64 * 1024

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Convert errors to `{"detail": …}`; an unexpected error is logged and becomes a generic 500."""
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                response = await handle(request)
            except Exception as error:  # noqa: BLE001 - supervisor of the routes: logged, answered with 500
                response = await _answer_error(request, error)
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return handle_errors


class ErasureRoute(ManagementRoute):
    """A route whose body holds everything that a person said in a chat."""

    largest_body = LARGEST_BODY


async def _answer_error(request: Request, error: Exception) -> Response:
    status, detail = _describe_error(error)
    if status >= 500:
        route = request.scope.get("path")
        # Formatting a traceback reads source files, which would block the event loop.
        await asyncio.to_thread(log.error, "request_failed", route=route, exc_info=error)
    return error_response(status, detail)


def _describe_error(error: Exception) -> tuple[int, str]:
    if isinstance(error, FileError | ApiError | SkillError):
        return error.status, str(error)
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, RequestValidationError):
        return 422, describe_invalid_request(error)
    if isinstance(error, ClientDisconnect):
        return 400, "The client disconnected before the request was complete."
    statuses = {ModelUnknown: 404, ProfileUnknown: 404, ModelCallFailed: 502}
    status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 500)
    return status, GENERIC if status == 500 else str(error)


def management_router(
    tag: str, *, prefix: str = "", route_class: type[ManagementRoute] = ManagementRoute
) -> APIRouter:
    """Create a router of management routes."""
    return make_router(tag, prefix=prefix, route_class=route_class)


def select_page(listing: L, field: str, limit: int | None, cursor: str, *, key: str = "name") -> L:
    """Return the page of a list after `cursor`, by default the whole list.

    The cursor is the `key` of the last item on the previous page; `next` of a page is the cursor of the next
    one. Raises Invalid for an unknown cursor.
    """
    items: list[Any] = getattr(listing, field)
    keys = [getattr(item, key) for item in items]
    if cursor and cursor not in keys:
        raise Invalid("cursor: not valid for this list")
    begin = keys.index(cursor) + 1 if cursor else 0
    page = items[begin:] if limit is None else items[begin : begin + limit]
    has_next = bool(page) and begin + len(page) < len(items)
    following = keys[begin + len(page) - 1] if has_next else None
    return listing.model_copy(update={field: page, "next": following})


@dataclass(frozen=True, slots=True)
class FileStart:
    """Start of a file, with the client's name for it."""

    filename: str


@dataclass(frozen=True, slots=True)
class FileData:
    """Next bytes of the file."""

    data: bytes


@dataclass(slots=True)
class _Reader:
    events: deque[FileStart | FileData] = field(default_factory=deque)
    finished: bool = False
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _name: bytes = b""
    _value: bytes = b""
    _in_file: bool = False

    def on_part_begin(self) -> None:
        self._headers, self._in_file = {}, False

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]
        self._check()

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check()

    def on_header_end(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        filename = options.get(b"filename")
        self._in_file = filename is not None
        if filename is not None:
            self.events.append(FileStart(filename.decode(errors="replace")))

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.events.append(FileData(data[start:end]))

    def on_end(self) -> None:
        self.finished = True

    def _check(self) -> None:
        if len(self._name) + len(self._value) > MAX_HEADER_BYTES:
            raise FileRefused(_MALFORMED)


async def read_files(content_type: str, body: AsyncIterator[bytes]) -> AsyncIterator[FileStart | FileData]:
    """Yield the files of a `multipart/form-data` body; other fields are ignored.

    Raises FileRefused for another content type (415) and for a malformed or incomplete body (400).
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise FileRefused("Send files as multipart/form-data.", status=415)
    reader = _Reader()
    callbacks = {name: getattr(reader, name) for name in dir(reader) if name.startswith("on_")}
    try:
        parser = MultipartParser(boundary, callbacks)  # type: ignore[arg-type]
        async for chunk in body:
            parser.write(chunk)
            while reader.events:
                yield reader.events.popleft()
    except MultipartParseError:
        raise FileRefused(_MALFORMED) from None
    if not reader.finished:
        raise FileRefused(_MALFORMED)
