"""LangSmith's spans around every middleware, without a thread each where nothing is traced.

langchain wraps each hook of a middleware in such a span, and langsmith begins and ends it in a thread: two
dozen changes of threads for each call of a model, though there is nothing to do that could block.
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
    """See `langsmith.set_runtime_overrides`."""
    if tracing_is_enabled():
        return await in_thread(context, work, *args, **more)
    return context.run(work, *args, **more)


def trace_inline() -> None:
    """For the whole process: begin and end spans at once while tracing is off, else as langsmith does."""
    set_runtime_overrides(aio_to_thread=run_span_step)
