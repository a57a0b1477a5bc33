"""Logging and tracing defaults.

A library logs nothing unless the program configures it. langchain wraps each middleware hook in a span, even
while tracing is off. That costs a task and two thread switches per hook, with two dozen hooks per model call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeAlias

import structlog
from langsmith import traceable
from langsmith.utils import tracing_is_enabled

Hook: TypeAlias = Callable[..., Any]


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


def trace_on_demand(**options: Any) -> Callable[[Hook], Hook]:
    """Return a decorator like `langsmith.traceable`, whose calls have spans only while tracing is on."""

    def decorate(hook: Hook) -> Hook:
        find_traced = cache(lambda: traceable(**options)(hook))

        @wraps(hook)
        def call_hook(*args: Any, **more: Any) -> Any:
            return (find_traced() if tracing_is_enabled() else hook)(*args, **more)

        return call_hook

    return decorate


def trace_hooks_on_demand() -> None:
    """Avoid spans of middleware hooks while tracing is off, for agents created later in this process."""
    from langchain.agents import factory

    vars(factory)["traceable"] = trace_on_demand
