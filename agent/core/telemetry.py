"""Logging and tracing defaults.

A library logs nothing unless the program configures it. langchain wraps each middleware hook in a span that
langsmith starts and ends in a thread: two dozen thread switches per model call, although nothing blocks.
They are avoided while tracing is off.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

import structlog
from langsmith import set_runtime_overrides
from langsmith.utils import tracing_is_enabled


def route_logs_to_stdlib() -> None:
    """Send structlog events to `logging` by module, unless the program has configured structlog."""
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


async def run_span_step(
    in_thread: Callable[..., Awaitable[Any]],
    context: Context,
    work: Callable[..., Any],
    /,
    *args: Any,
    **more: Any,
) -> Any:
    """Run a span's start or end inline while tracing is off; see `langsmith.set_runtime_overrides`."""
    if tracing_is_enabled():
        return await in_thread(context, work, *args, **more)
    return context.run(work, *args, **more)


def trace_inline() -> None:
    """Start and end spans inline while tracing is off. Applies to the whole process."""
    set_runtime_overrides(aio_to_thread=run_span_step)
