"""Routes of the management operations: derived from their signatures, with errors, headers and list pages."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import structlog
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from agent.errors import Invalid, ModelCallFailed, ModelUnknown, ProfileUnknown, StatusError
from agent.runtime.http.base import error_response
from agent.shared.json_routes import JsonRoute, describe_invalid_request, make_router
from agent.shared.management import ManagementOperation, list_operations
from agent.shared.schemas import ListPage

log = structlog.get_logger(__name__)
GENERIC = "Internal error; see the log for details."
MAX_PAGE = 200
_HEADERS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store"}

L = TypeVar("L", bound=ListPage)
PageLimit = Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="Maximum number of items to return.")]
PageCursor = Annotated[str, Query(description="`next` of the previous page; omit it for the first page.")]
_PAGE = (
    Parameter("limit", Parameter.KEYWORD_ONLY, default=None, annotation=PageLimit),
    Parameter("cursor", Parameter.KEYWORD_ONLY, default="", annotation=PageCursor),
)


class ManagementRoute(JsonRoute):
    """A route that converts errors to responses and sets security headers."""

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


@cache
def _route_class(largest_body: int) -> type[ManagementRoute]:
    return type("SizedRoute", (ManagementRoute,), {"largest_body": largest_body})


def make_routes(tag: str, *services: object, **options: Any) -> APIRouter:
    """Return the routes of the operations of services. Methods with a `Request` are endpoints as they are.

    `options` are those of FastAPI for each operation.
    """
    router = make_router(tag, route_class=ManagementRoute)
    for service in services:
        for name, operation in list_operations(type(service)):
            method = getattr(service, name)
            router.add_api_route(
                operation.path,
                _make_endpoint(method, operation),
                methods=[operation.method],
                name=name,
                status_code=operation.status,
                description=inspect.getdoc(method),
                route_class_override=_route_class(operation.largest_body),
                **options.get(name, {}),
            )
    return router


def _make_endpoint(
    method: Callable[..., Awaitable[Any]], operation: ManagementOperation
) -> Callable[..., Any]:
    """Return an endpoint whose signature tells FastAPI where the parameters are."""
    hints = get_type_hints(method, include_extras=True)
    result = hints["return"]
    in_body = frozenset(operation.body.model_fields) if operation.body else frozenset()
    parameters = [
        Parameter(
            one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=_describe(hints[one.name])
        )
        for one in inspect.signature(method).parameters.values()
        if one.name not in in_body
    ]
    if operation.body:
        parameters.append(Parameter("body", Parameter.KEYWORD_ONLY, annotation=operation.body))
    is_list = isinstance(result, type) and issubclass(result, ListPage)
    more = list(_PAGE) if is_list else []
    if operation.location:
        more.append(Parameter("response", Parameter.KEYWORD_ONLY, annotation=Response))

    async def endpoint(**arguments: Any) -> Any:
        extra = {one.name: arguments.pop(one.name) for one in more}
        if operation.body:
            arguments |= dict(arguments.pop("body"))
        found = await method(**arguments)
        if operation.location:
            extra["response"].headers["location"] = operation.location.format_map(dict(found))
        return select_page(found, **extra) if is_list else found

    endpoint.__name__ = method.__name__
    signature = Signature([*parameters, *more], return_annotation=result)
    endpoint.__signature__ = signature  # type: ignore[attr-defined]
    return endpoint


def _describe(annotation: Any) -> Any:
    """Convert `Annotated[T, "text"]` to a described parameter of the query."""
    texts = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, str)]
    return Annotated[annotation.__origin__, Query(description=texts[0])] if texts else annotation


async def _answer_error(request: Request, error: Exception) -> Response:
    status, detail = _describe_error(error)
    if status >= 500:
        route = request.scope.get("path")
        # Formatting a traceback reads source files, which would block the event loop.
        await asyncio.to_thread(log.error, "request_failed", route=route, exc_info=error)
    return error_response(status, detail)


def _describe_error(error: Exception) -> tuple[int, str]:
    if isinstance(error, StatusError):
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


def select_page(listing: L, limit: int | None = None, cursor: str = "") -> L:
    """Return the page of a list after `cursor`, by default the whole list.

    The cursor is the key of the last item on the previous page; `next` of a page is the cursor of the next
    one. Raises Invalid for an unknown cursor.
    """
    field = next(name for name in type(listing).model_fields if name != "next")
    items: list[Any] = getattr(listing, field)
    keys = [getattr(item, listing.item_key) for item in items]
    if cursor and cursor not in keys:
        raise Invalid("cursor: not valid for this list")
    begin = keys.index(cursor) + 1 if cursor else 0
    page = items[begin:] if limit is None else items[begin : begin + limit]
    has_next = bool(page) and begin + len(page) < len(items)
    following = keys[begin + len(page) - 1] if has_next else None
    return listing.model_copy(update={field: page, "next": following})
