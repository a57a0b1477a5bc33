"""A collector of traces on a loopback port, which speaks OTLP over HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from roebot_testing.emulators.http import answer_bytes
from roebot_testing.emulators.server import LoopbackServer, Receive, Scope, Send

ERROR = 2
"""The status of a span that failed."""


@dataclass(frozen=True)
class Collected:
    """A span. Times are in s since the epoch."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    begin: float
    end: float
    status: int
    attributes: dict[str, Any]


@dataclass
class TraceCollector:
    """The spans that arrived. With `status` it answers other than 200."""

    spans: list[Collected] = field(default_factory=list)
    status: int = 200
    requests: int = 0

    def __post_init__(self) -> None:
        self.server = LoopbackServer(self)

    def named(self, name: str) -> list[Collected]:
        """The spans with a name."""
        return [span for span in self.spans if span.name == name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"] == "/v1/traces"
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.requests += 1
        if self.status == 200:
            self._add(ExportTraceServiceRequest.FromString(body))
        await answer_bytes(send, self.status, b"", b"application/x-protobuf")

    def _add(self, request: Any) -> None:
        for resource in request.resource_spans:
            service = _attributes(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_read(service, span) for span in scope.spans]


def _read(service: str, span: Any) -> Collected:
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    times = span.start_time_unix_nano / 1e9, span.end_time_unix_nano / 1e9
    return Collected(service, span.name, *ids, *times, span.status.code, _attributes(span))


def _attributes(holder: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}
