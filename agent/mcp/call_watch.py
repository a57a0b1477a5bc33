"""Time limit of a running call, and display of progress reported by its server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

from langgraph.config import get_stream_writer

MAX_CALL_SECONDS = 3_600.0
"""Seconds after which a call ends, however much progress its server reports."""
EVENT_SECONDS = 0.5
"""Minimum time between two progress events of a call."""
_call_id: ContextVar[str] = ContextVar("roebot_mcp_call", default="")
Report = Callable[[float | None, float | None, str | None], None]
"""Gets the progress of a call, its total and a message; None for what is not known."""


class CallTimer:
    """A call's time limit. Progress restarts it; it is paused while a person is asked."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._seconds = self._last = 0.0
        self._stopped_at: float | None = None

    @contextmanager
    def attached(self, limit: asyncio.Timeout, seconds: float) -> Iterator[None]:
        """Control this limit of `seconds` within the context."""
        self._limit, self._seconds = limit, seconds
        self._last = asyncio.get_running_loop().time() + max(seconds, MAX_CALL_SECONDS)
        try:
            yield
        finally:
            self._limit = None

    def restart(self) -> None:
        """Restart the call's time limit, within `MAX_CALL_SECONDS`."""
        now = asyncio.get_running_loop().time()
        if self._stopped_at is not None:
            self._last += now - self._stopped_at
            self._stopped_at = None
        self._move(min(now + self._seconds, self._last))

    def stop(self) -> None:
        """Pause the time limit until `restart`."""
        self._stopped_at = asyncio.get_running_loop().time()
        self._move(None)

    def _move(self, when: float | None) -> None:
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(when)


@contextmanager
def in_call(call_id: str | None) -> Iterator[None]:
    """Identify the running tool call within the context."""
    token = _call_id.set(call_id or "")
    try:
        yield
    finally:
        _call_id.reset(token)


def progress_reporter(tool: str) -> Report:
    """Return a function that shows the progress of the current call of `tool`; it does nothing outside a
    run.
    """
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):
        return lambda *_: None
    call_id, context = _call_id.get(), copy_context()
    last = 0.0

    def report(progress: float | None, total: float | None, message: str | None) -> None:
        nonlocal last
        now = time.monotonic()
        if not call_id or now - last < EVENT_SECONDS:
            return
        last = now
        text = f"{tool}: {describe_progress(progress, total, message)}"
        event = {"type": "task_running", "task_id": call_id, "description": text}
        # The writer looks up its run in the current context, but reports arrive in the session's.
        context.copy().run(write, event)

    return report


def describe_progress(progress: Any, total: Any, message: str | None) -> str:
    """Return progress in readable form: `Reading (3 of 10)`."""
    words = " ".join(message.split()) if message else ""
    if progress is None:
        return words or "working"
    share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
    return f"{words} ({share})" if words else share
