"""What the service finds wrong with itself: its log's errors, with where they came from."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

EXPECTED = frozenset({"account_failed"})
"""Errors that say what was done to the service."""


@contextmanager
def listening() -> Iterator[list[dict[str, Any]]]:
    """The errors that are logged within the block; nothing else is, and nothing is printed."""
    found: list[dict[str, Any]] = []

    def keep(_logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
        if method in {"error", "exception", "critical"} and event["event"] not in EXPECTED:
            if event.pop("exc_info", None):
                event["exception"] = traceback.format_exc()
            found.append(event)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[keep], cache_logger_on_first_use=False)
    try:
        yield found
    finally:
        structlog.configure(**before)
