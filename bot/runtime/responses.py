"""Errors in the responses of an agent runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeTimedOut, RuntimeUnreachable

_PERMANENT = frozenset({httpx.codes.NOT_IMPLEMENTED, httpx.codes.HTTP_VERSION_NOT_SUPPORTED})
"""Server errors that a repeated request would get again."""


def raise_for_status(response: httpx.Response) -> None:
    """Raise RuntimeUnreachable for a server error, and RuntimeRefused for any other error response."""
    if response.is_error:
        raise _describe_refusal(response)


def _describe_refusal(response: httpx.Response) -> RuntimeProblem:
    """Return the error for an error response.

    Server errors come from a proxy without its server, a process that is starting or ending, or a full disk,
    so most of them are temporary.
    """
    status, detail = response.status_code, read_error_detail(response)
    if response.is_server_error and status not in _PERMANENT:
        return RuntimeUnreachable(f"status {status}: {detail}")
    return RuntimeRefused(status, detail)


def read_error_detail(response: httpx.Response) -> str:
    """Return the reason in an error response, or "" if it contains none."""
    try:
        body = response.json()
    except (ValueError, httpx.ResponseNotRead):
        return response.reason_phrase
    return str(body.get("detail") or "") if isinstance(body, dict) else ""


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate HTTP client errors to RunMissing, RuntimeRefused or RuntimeUnreachable."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code == httpx.codes.NOT_FOUND:
            raise RunMissing(read_error_detail(error.response) or "not found") from error
        raise _describe_refusal(error.response) from error
    except httpx.ReadTimeout as error:
        raise RuntimeTimedOut(f"{type(error).__name__}: {error}") from error
    except httpx.HTTPError as error:
        raise RuntimeUnreachable(f"{type(error).__name__}: {error}") from error
