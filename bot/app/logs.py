"""Logging setup: one line per event with names and fields, secrets masked."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, TextIO

import structlog

from bot.config import Config, masked, secrets_of

# Libraries that log secrets (URLs that contain a token), or log too much.
QUIET = (
    "alembic",
    "httpcore",
    "httpx",
    "uvicorn",
    "uvicorn.access",
    "uvicorn.error",
)


def configure_logging(config: Config, stream: TextIO | None = None) -> None:
    """Write all events to `stream` (default: stderr): readable on a terminal, JSON otherwise."""
    output = stream or sys.stderr
    secrets = secrets_of(config)
    encoding = output.encoding or "utf-8"

    def mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for key, value in event.items():
            if isinstance(value, str):
                event[key] = masked(value, secrets)
        return event

    def encode(_logger: Any, _method: str, line: str) -> str:
        return line.encode(encoding, "backslashreplace").decode(encoding)

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            mask,
            structlog.processors.JSONRenderer()
            if config.logging.format == "json"
            else structlog.dev.ConsoleRenderer(colors=output.isatty()),
            encode,
        ],
        wrapper_class=make_safe_logger(getattr(logging, config.logging.level.upper(), logging.INFO)),
        logger_factory=structlog.PrintLoggerFactory(output),
        cache_logger_on_first_use=True,
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def make_safe_logger(level: int) -> type[Any]:
    """Return a logger class that never raises: neither a full disk nor a value that can't be rendered is a
    failure of the code that logs.
    """
    base: type[Any] = structlog.make_filtering_bound_logger(level)

    class SafeLogger(base):
        def _proxy_to_logger(self, method_name: str, event: Any = None, **values: Any) -> Any:
            try:
                return super()._proxy_to_logger(method_name, event, **values)
            except structlog.DropEvent:
                return None
            except Exception:  # noqa: BLE001 - whatever a value or the stream raises
                with suppress(Exception):
                    self._logger.error(f"{event!r}, which could not be logged in full")

    return SafeLogger
