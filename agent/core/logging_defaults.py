"""A library prints nothing of its own accord."""

from __future__ import annotations

import structlog


def route_logs_to_stdlib() -> None:
    """Where the program has not set structlog up, what there is to tell goes to `logging`, by module."""
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
