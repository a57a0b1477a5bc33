"""Error responses, which are always `{"detail": …}` without internal details."""

from __future__ import annotations

import structlog
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, Response

from bot.errors import AccountError, RuntimeProblem, RuntimeRefused, StoreError, StoreUnavailable

log = structlog.get_logger(__name__)
GENERIC = "Something went wrong; see the log for details."
UNREACHABLE = "The agent runtime is not responding."


def error_response(status: int, detail: str) -> JSONResponse:
    """Return an error response in the common format of all routes."""
    return JSONResponse({"detail": detail}, status)


def add_handlers(app: FastAPI) -> None:
    """Register the handlers for errors raised by routes."""
    app.add_exception_handler(StarletteHTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(AccountError, _on_account_error)
    app.add_exception_handler(RuntimeProblem, _on_runtime_error)
    app.add_exception_handler(StoreError, _on_store_error)


async def _on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    response = error_response(error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _on_invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"] if part != "body")
        lines.append(f"{place}: {problem['msg']}" if place else str(problem["msg"]))
    return error_response(422, "; ".join(lines))


async def _on_account_error(_request: Request, error: Exception) -> Response:
    return error_response(503, str(error))


async def _on_runtime_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, RuntimeRefused):
        return error_response(error.status, error.detail)
    return error_response(503, UNREACHABLE)


async def _on_store_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, StoreUnavailable):  # `StoreOutages` logs an outage once
        log.error("database_failed", problem=str(error))
    return error_response(503, "The database is not responding; see the log for details.")


def not_found(what: str) -> HTTPException:
    """Return a 404 for a missing resource."""
    return HTTPException(404, f"{what[:1].upper()}{what[1:]} not found.")
