"""Logging setup: one line per event with names and fields, secrets masked."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog
from structlog.typing import Processor

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

    def mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for key, value in event.items():
            if isinstance(value, str):
                event[key] = masked(value, secrets)
        return event

    steps: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.format_exc_info,
        mask,
        structlog.processors.JSONRenderer()
        if config.logging.format == "json"
        else structlog.dev.ConsoleRenderer(colors=output.isatty()),
    ]
    structlog.configure(
        processors=[render_safely(steps, output.encoding or "utf-8")],
        wrapper_class=structlog.make_filtering_bound_logger(
            getattr(logging, config.logging.level.upper(), logging.INFO)
        ),
        logger_factory=lambda *_: SafeLogger(output),
        cache_logger_on_first_use=True,
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def render_safely(steps: Sequence[Processor], encoding: str) -> Processor:
    """Return a processor that renders an event by these steps as a line that the encoding can represent, also
    if one of them raises because of a value.
    """

    def render(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
        name, line = event.get("event"), cast(Any, event)
        try:
            for step in steps:
                line = step(logger, method, line)
        except Exception:  # noqa: BLE001 - whatever a value raises
            line = f"{method} {name}: its values could not be rendered"
        return str(line).encode(encoding, "backslashreplace").decode(encoding)

    return render


class SafeLogger(structlog.PrintLogger):
    """Prints lines, and loses those that can't be written: a full disk is no failure of the code that
    logs.
    """

    def msg(self, message: str) -> None:
        """Print a line."""
        with suppress(Exception):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg
