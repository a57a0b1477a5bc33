"""Support for middleware with blocking hooks in asynchronous runs.

langchain calls `awrap_model_call` in an asynchronous run and refuses a middleware that has only
`wrap_model_call`; blocking `before_*` and `after_*` hooks would hold up the event loop. Here such hooks run
in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from types import new_class
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware

T = TypeVar("T")
AnyMiddleware = AgentMiddleware[Any, Any]
_WRAPPING = ("wrap_model_call", "wrap_tool_call")
_STEPS = ("before_agent", "before_model", "after_model", "after_agent")


def with_async_hooks(one: AnyMiddleware) -> AnyMiddleware:
    """Return the middleware with an asynchronous version of each hook that has only a blocking one.

    It is the same object if there is none, else another view of it: both share their attributes.
    """
    kind = type(one)
    added: dict[str, Any] = {}
    for names, convert in ((_WRAPPING, _convert_wrapping_hook), (_STEPS, _convert_step)):
        added.update({f"a{name}": convert(getattr(one, name)) for name in names if _is_blocking(kind, name)})
    if not added:
        return one
    added |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    view_kind = new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(added))
    view: AnyMiddleware = object.__new__(view_kind)
    view.__dict__ = one.__dict__
    return view


def _is_blocking(kind: type[AnyMiddleware], name: str) -> bool:
    """Return whether the class implements the hook, but not its asynchronous version."""

    def implements(hook: str) -> bool:
        return getattr(kind, hook) is not getattr(AgentMiddleware, hook)

    return implements(name) and not implements(f"a{name}")


def _convert_step(hook: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def run_step(_: Any, state: Any, **parameters: Any) -> Any:
        # langgraph passes what the parameters of the blocking hook are named after, such as `runtime`.
        return await _run_in_thread(partial(hook, state, **parameters))

    return run_step


def _convert_wrapping_hook(hook: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def run_hook(_: Any, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        loop = asyncio.get_running_loop()
        calls: list[Future[Any]] = []

        def call_handler(inner: Any) -> Any:
            calls.append(asyncio.run_coroutine_threadsafe(_await(handler(inner)), loop))
            return calls[-1].result()

        try:
            return await _run_in_thread(partial(hook, request, call_handler))
        finally:
            # After a cancellation the thread would otherwise wait for the model or tool.
            for call in calls:
                call.cancel()

    return run_hook


async def _await(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def _run_in_thread(work: Callable[[], T]) -> T:
    """Run the work in a thread with the caller's context.

    It gets its own thread: those of a pool could all be waiting for a model call that needs one of them.
    """
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="roebot-hook")
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
    finally:
        pool.shutdown(wait=False)
