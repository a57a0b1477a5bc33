"""Logging defaults of a library: it prints nothing unless the program asks for it."""

from __future__ import annotations

import structlog


def route_logs_to_stdlib() -> None:
    """Send structlog events to `logging` by module, unless the program configured structlog."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
