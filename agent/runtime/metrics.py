"""Metrics of the runtime: its runs by status, and the exposition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from agent.runtime.active_run import ActiveRun
from agent.runtime.domain import INFLIGHT, RunStatus
from agent.shared.metrics import counter, gauge, render_metrics, set_leases_held

_runs: Final = gauge("roebot_agent_runs", "Unfinished runs of this process, by status", ["status"])
_ended: Final = counter("roebot_agent_runs_ended", "Runs that ended in this process, by status", ["status"])


def count_ended_run(status: RunStatus) -> None:
    """Count a run that ended."""
    _ended.labels(status.value).inc()


def render_runtime_metrics(headers: Mapping[str, str], active: Sequence[ActiveRun]) -> tuple[bytes, str]:
    """Return the metrics of this process with its `active` runs, and their media type. Blocking."""
    counts = Counter(one.run.status for one in active)
    for status in INFLIGHT:
        _runs.labels(status.value).set(counts[status])
    set_leases_held("run", len(active))
    return render_metrics(headers)
