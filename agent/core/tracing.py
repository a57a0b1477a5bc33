"""Run LangSmith's middleware spans without a thread hop while tracing is off.

langchain wraps each middleware hook in a span that langsmith starts and ends in a thread: two dozen thread
switches per model call, although nothing in it blocks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

from langsmith import set_runtime_overrides
from langsmith.utils import tracing_is_enabled


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
