"""Errors in the responses of an agent runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bot.errors import RunMissing, RuntimeRefused, RuntimeTimedOut, RuntimeUnreachable


def raise_for_status(response: httpx.Response) -> None:
    """Raise RuntimeRefused for an error response."""
    if response.is_error:
        raise RuntimeRefused(response.status_code, read_error_detail(response))


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
        raise RuntimeRefused(error.response.status_code, read_error_detail(error.response)) from error
    except httpx.ReadTimeout as error:
        raise RuntimeTimedOut(f"{type(error).__name__}: {error}") from error
    except httpx.HTTPError as error:
        raise RuntimeUnreachable(f"{type(error).__name__}: {error}") from error
