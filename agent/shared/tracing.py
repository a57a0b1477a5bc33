"""Traces of turns over both processes, as spans of OpenTelemetry; nothing without `tracing.endpoint`.

The ids of a turn's trace and of its root span are derived from the turn, so that work after a restart goes on
with the trace. A span is never current for OpenTelemetry, since that leaks around a `yield`: the context has
the `traceparent` of the work at hand instead. Names are those of OpenTelemetry's semantic conventions for
generative AI, version 1.44.0. Texts of messages and tools are only in spans if `tracing.content` is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    from agent.shared.trace_export import SpanRecorder

Attributes = Mapping[str, Any]
"""Attributes of a span; those that are None are omitted."""
CLIENT: Final = "CLIENT"
INTERNAL: Final = "INTERNAL"
traceparent: ContextVar[str] = ContextVar("roebot_traceparent", default="")
"""Span of the work at hand, in the W3C format ("" for none)."""
log = structlog.get_logger(__name__)
_recorder: SpanRecorder | None = None


@asynccontextmanager
async def export_traces(
    service: str, endpoint: str | None, sample_ratio: float, content: bool
) -> AsyncIterator[None]:
    """Export the spans of this process until the context ends; see `TracingConfig` for the settings."""
    global _recorder  # noqa: PLW0603 - a process has one
    try:
        if endpoint:
            from agent.shared.trace_export import SpanRecorder

            _recorder = await asyncio.to_thread(SpanRecorder, service, endpoint, sample_ratio, content)
    except ModuleNotFoundError as error:
        log.error("tracing_unavailable", missing=error.name, advice="install the extra roebot[tracing]")
    try:
        yield
    finally:
        recorder, _recorder = _recorder, None
        if recorder is not None:
            await asyncio.to_thread(recorder.close)


def derive_root(*identity: object) -> str:
    """Return the traceparent of the root span of what these values identify."""
    digest = sha256(repr(identity).encode()).hexdigest()
    sampled = _recorder is not None and _recorder.samples(int(digest[:32], 16))
    return f"00-{digest[:32]}-{digest[32:48]}-{int(sampled):02x}"


def records_content() -> bool:
    """Return whether spans contain texts of messages and tools."""
    return _recorder is not None and _recorder.content


def begin_span(
    name: str, attributes: Attributes, kind: str = INTERNAL, *, at: float | None = None, root: str = ""
) -> Any:
    """Begin a span below `traceparent`, or the one whose traceparent is `root`, at a time (s; None: now)."""
    return None if _recorder is None else _recorder.begin(name, attributes, kind, at, root)


def end_span(
    span: Any, error: str = "", attributes: Attributes | None = None, at: float | None = None
) -> None:
    """End a span of `begin_span` at a time (s; None: now). `error` is an error's class ("" for none)."""
    if span is not None and _recorder is not None:
        _recorder.end(span, error, attributes or {}, at)


@contextmanager
def record_span(
    name: str, attributes: Attributes, kind: str = INTERNAL, expected: tuple[type[BaseException], ...] = ()
) -> Iterator[dict[str, Any]]:
    """Record a span for this context, which must not `yield` to a caller, and yield its later attributes.

    Exceptions that are `expected` are no errors.
    """
    later: dict[str, Any] = {}
    if (span := begin_span(name, attributes, kind)) is None or _recorder is None:
        yield later
        return
    token, failure = traceparent.set(_recorder.traceparent_of(span)), ""
    try:
        yield later
    except BaseException as error:
        failure = "" if isinstance(error, expected) else type(error).__name__
        raise
    finally:
        traceparent.reset(token)
        end_span(span, failure, later)
