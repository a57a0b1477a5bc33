"""Logging setup: one line per event with names and fields, secrets masked."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from agent.shared.safe_logging import configure_safe_logging
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
    level = getattr(logging, config.logging.level.upper(), logging.INFO)
    configure_safe_logging(steps, level, output)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
