#!/usr/bin/env bash
# The shutdown of a BatchSpanProcessor while its exporter is in the middle of a slow export.
#
# Package: opentelemetry-sdk 1.45.2
# Expected: `export_timeout_millis=500` bounds the wait for the export, or shutdown() calls the shutdown of the
#           exporter, which ends the export. Either way, it returns after half a second at most.
# Observed: neither. shutdown() first waits for the end of the export, for 30 s at most, and only then calls the
#           shutdown of the exporter, so an exporter can't learn earlier that the process ends. The timeout is accepted
#           and not used, and shutdown() of a BatchSpanProcessor has no timeout of its own.
# So: bound each export in the exporter itself, retries included, by less than what a stop of the process may take.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q opentelemetry-sdk==1.45.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

print("opentelemetry-sdk", version("opentelemetry-sdk"))


class SlowExporter(SpanExporter):
    """An exporter whose export takes some seconds, and ends early when the exporter is shut down."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.began, self.stopped = threading.Event(), threading.Event()
        self.ended = False

    def export(self, spans):
        self.began.set()
        self.stopped.wait(self.seconds)
        self.ended = True
        return SpanExportResult.SUCCESS

    def shutdown(self):
        self.order = "after" if self.ended else "during"
        self.stopped.set()


def shut_down(seconds):
    exporter = SlowExporter(seconds)
    processor = BatchSpanProcessor(exporter, max_export_batch_size=1, export_timeout_millis=500)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    provider.get_tracer("app").start_span("work").end()
    assert exporter.began.wait(30)
    began = time.monotonic()
    processor.shutdown()
    return time.monotonic() - began, exporter.order


# (seconds of the export, shutdown() returned after at least and at most so many seconds, shutdown of the exporter)
CASES = [(0, 0, 0.9, "after"), (4, 3, 8, "after"), (60, 29, 36, "during")]
changed = 0
with ThreadPoolExecutor() as threads:
    results = list(threads.map(shut_down, [case[0] for case in CASES]))
for (export, least, most, before), (seconds, order) in zip(CASES, results, strict=True):
    print(f"an export of {export} s\n  expected: shutdown() returns after at most about 0.5 s")
    print(f"  observed: after {seconds:.2f} s; the exporter is shut down {order} the export")
    if order != before or not least <= seconds <= most:
        print(f"  CHANGED: it was after {least} to {most} s, {before} the export")
        changed = 1
sys.exit(changed)
PYTHON
