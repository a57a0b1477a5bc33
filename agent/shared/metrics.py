"""Metrics of this process, in the conventions of OpenMetrics, and those that bot and agent have in common.

Each process has its own registry, and each has a route `/metrics`; a metric with one name means the same in
both. Label values come from the configuration or from a fixed set, or pass through `bound_label`. None of
them identifies a person or a chat.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, Summary
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
counter = partial(Counter, registry=REGISTRY)
gauge = partial(Gauge, registry=REGISTRY)
histogram = partial(Histogram, registry=REGISTRY)
summary = partial(Summary, registry=REGISTRY)
MAX_VALUES = 100
OTHER = "other"
"""Value of a label in place of those beyond its first MAX_VALUES."""
LAG_EVERY = 0.5
LAG_SAMPLES = 120
"""Interval of the measurements of the event loop (s), and how many of them the metric covers."""

_writes_refused = counter(
    "roebot_writes_refused", "Writes refused because another process holds the lease", ["lease"]
)
_leases = gauge("roebot_leases_held", "Leases that this process holds", ["lease"])
_lag = gauge(
    "roebot_event_loop_lag_seconds", "Longest delay of the event loop in the last minute, in seconds"
)
_labels: dict[str, set[str]] = defaultdict(set)


def count_refused_write(lease: str) -> None:
    """Count a write that was refused because this process has lost its lease, of a kind such as `run`."""
    _writes_refused.labels(lease).inc()


def set_leases_held(lease: str, count: int) -> None:
    """Set the number of leases of a kind that this process holds."""
    _leases.labels(lease).set(count)


def bound_label(label: str, value: str) -> str:
    """Return a label's value, or OTHER if the label has MAX_VALUES others already."""
    known = _labels[label]
    if value not in known and len(known) >= MAX_VALUES:
        return OTHER
    known.add(value)
    return value


async def measure_lag(sleep: Callable[[float], Awaitable[object]]) -> None:
    """Measure the event loop's lag until cancelled, that is, how much a sleep overruns."""
    loop, latest = asyncio.get_running_loop(), deque[float](maxlen=LAG_SAMPLES)
    while True:
        asked = loop.time()
        await sleep(LAG_EVERY)
        latest.append(max(0.0, loop.time() - asked - LAG_EVERY))
        _lag.set(max(latest))


class _Scrape:
    """The metrics of one scrape."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = [*families, *REGISTRY.collect()]

    def collect(self) -> Iterable[Metric]:
        return self._families


def render_metrics(headers: Mapping[str, str], families: Iterable[Metric] = ()) -> tuple[bytes, str]:
    """Return this process's metrics and `families`, and the media type: OpenMetrics if the request's headers
    ask for it, else the text format of Prometheus. Blocking: it reads /proc.
    """
    encode, media_type = choose_encoder(headers.get("accept", ""))
    return encode(_Scrape(families)), media_type
