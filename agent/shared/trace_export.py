"""Recording of spans by OpenTelemetry's SDK, and their export in the background."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import version
from threading import Thread
from typing import Final

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agent.shared.metrics import counter
from agent.shared.tracing import Attributes, traceparent

SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"
QUEUE, BATCH, EVERY = 2048, 512, 1000.0
EXPORT_SECONDS, STOP_SECONDS = 5.0, 2.0
"""Limits: spans that wait and that are sent together, the interval (ms), and the duration of an export with
its retries and of the last one (s).
"""
log = structlog.get_logger(__name__)
_lost = counter("roebot_spans_lost", "Spans of traces that could not be exported")


class SpanRecorder:
    """The spans of a process; see `agent.shared.tracing` for its methods."""

    def __init__(self, service: str, endpoint: str, ratio: float, content: bool) -> None:
        # A failed export is logged by several modules of these; `_Exporter` reports an outage once.
        for name in ("opentelemetry", "urllib3"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self.content = content
        self._ids = _GivenIds()
        self._sampler = TraceIdRatioBased(ratio)
        resource = Resource.create({"service.name": service, "service.version": version("roebot")})
        self._provider = TracerProvider(
            ParentBased(self._sampler), resource, shutdown_on_exit=False, id_generator=self._ids
        )
        exporter = _Exporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, QUEUE, EVERY, BATCH))
        self._tracer = self._provider.get_tracer("roebot", version("roebot"), schema_url=SCHEMA)

    def samples(self, trace_id: int) -> bool:
        return trace_id & TraceIdRatioBased.TRACE_ID_LIMIT < self._sampler.bound

    def begin(self, name: str, attributes: Attributes, kind: str, at: float | None, root: str) -> Span:
        above = {} if root else {"traceparent": traceparent.get()}
        context = TraceContextTextMapPropagator().extract(above, Context())
        self._ids.root = root  # the SDK asks for ids within the next call
        span = self._tracer.start_span(name, context, SpanKind[kind], start_time=_nanoseconds(at))
        self._ids.root = ""
        span.set_attributes({key: value for key, value in attributes.items() if value is not None})
        return span

    def end(self, span: Span, error: str, attributes: Attributes, at: float | None) -> None:
        span.set_attributes({key: value for key, value in attributes.items() if value is not None})
        if error:
            span.set_attribute("error.type", error)
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(at))

    def traceparent_of(self, span: Span) -> str:
        found = span.get_span_context()
        return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"

    def close(self) -> None:
        """Export the last spans, for at most STOP_SECONDS. Blocking."""
        closing = Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(STOP_SECONDS)


class _GivenIds(RandomIdGenerator):
    """Random ids, or those of the traceparent `root`."""

    root = ""

    def generate_trace_id(self) -> int:
        return int(self.root[3:35], 16) if self.root else super().generate_trace_id()

    def generate_span_id(self) -> int:
        return int(self.root[36:52], 16) if self.root else super().generate_span_id()


class _Exporter(OTLPSpanExporter):
    """Reports once when exports begin to fail, and once when they work again."""

    _fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        fails = result is not SpanExportResult.SUCCESS
        _lost.inc(len(spans) if fails else 0)
        if fails != self._fails:
            log.warning("traces_not_exported" if fails else "traces_exported")
        self._fails = fails
        return result


def _nanoseconds(at: float | None) -> int | None:
    return None if at is None else int(at * 1e9)
