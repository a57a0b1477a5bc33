"""Routes for the metrics of the service and of its agent runtime."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sized

import httpx
from fastapi import APIRouter, Request, Response
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from agent.shared.metrics import render_metrics
from bot.access import Permission
from bot.account_state import Live
from bot.server.api.auth import requires
from bot.server.api.credential_attempts import Attempts
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import UNREACHABLE, error_response
from bot.server.api.health import DATABASE_SECONDS
from bot.store.admission_types import Accepted
from bot.store.connection import Connection
from bot.store.outages import is_outage, probe_store
from bot.store.read_models import count_open_turns, find_oldest_waiting
from bot.store.usage import list_counters
from bot.turn import TurnState
from bot.wiring import ReportsMetrics

router = APIRouter(tags=["health"])
AGENT_SECONDS = 5.0
"""Time limit (s) for the metrics of the agent runtime."""


class Gauges:
    """In-memory metrics: accepted turns, and requests refused by the port.

    `connections` are the open ones of the port, and `closed` counts those that a limit closed, by its name.
    """

    def __init__(self) -> None:
        self.accepted: Counter[tuple[str, bool]] = Counter()
        self.refused_bodies: Counter[int] = Counter()
        self.connections: Sized = ()
        self.closed: Mapping[str, int] = {}

    def count_turn(self, turn: Accepted) -> None:
        """Count an accepted turn (or a turn refused with a notice)."""
        self.accepted[turn.kind.value, turn.refused] += 1


@router.get("/metrics", response_class=Response)
@requires(Permission.HEALTH)
async def get_metrics(request: Request, services: Services, attempts: Attempts) -> Response:
    """Return the metrics, as OpenMetrics if the client accepts it, else in the Prometheus text format."""
    gauges: Gauges = request.app.state.gauges
    stored, reachable = await asyncio.gather(_collect_stored(services), services.core.runtime.is_ready())
    found = [
        *_current_metrics(services, gauges),
        GaugeMetricFamily("roebot_agent_up", "1 if the agent runtime responds, else 0", value=reachable),
        *stored,
        *_account_metrics(services),
        *attempts.collect_metrics(),
    ]
    text, media_type = await asyncio.to_thread(_render, request.headers, found, services)
    return Response(text, headers={"content-type": media_type})


@router.get("/metrics/agent", response_class=Response)
@requires(Permission.HEALTH)
async def get_agent_metrics(request: Request) -> Response:
    """Return the metrics of the agent runtime, in the format that the client accepts."""
    client: httpx.AsyncClient = request.app.state.runtime.langgraph
    accept = {"accept": request.headers.get("accept", "*/*")}
    try:
        answer = await client.get("/metrics", headers=accept, timeout=AGENT_SECONDS)
    except httpx.HTTPError:
        return error_response(503, UNREACHABLE)
    if answer.is_error:
        return error_response(503, "The agent runtime has no metrics.")
    return Response(answer.content, headers={"content-type": answer.headers["content-type"]})


def _render(headers: Mapping[str, str], found: Iterable[Metric], services: ApiServices) -> tuple[bytes, str]:
    disk = shutil.disk_usage(services.home)
    free = GaugeMetricFamily("roebot_disk_free_bytes", "Free space of the data directory", value=disk.free)
    size = GaugeMetricFamily("roebot_disk_size_bytes", "Size of the data directory's disk", value=disk.total)
    return render_metrics(headers, [*found, free, size])


async def _collect_stored(services: ApiServices) -> list[Metric]:
    """Return what is in the database, or only that it does not accept writes."""
    up = GaugeMetricFamily("roebot_database_up", "1 if the database accepts writes, else 0")
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            found = [*await services.db.transact(_load_stored, services.clock.now())]
            for part in services.core.parts:
                if isinstance(part, ReportsMetrics):
                    found += await part.collect_metrics()
    except Exception as error:
        if not isinstance(error, TimeoutError) and not is_outage(error):
            raise
        up.add_metric([], 0)
        return [up]
    up.add_metric([], 1)
    return [up, *found]


def _load_stored(connection: Connection, now: float) -> Iterable[Metric]:
    probe_store(connection, now)
    opened = GaugeMetricFamily("roebot_turns_open", "Turns that are still open", labels=["kind", "state"])
    queued = 0
    for (kind, state), count in sorted(count_open_turns(connection).items()):
        opened.add_metric([kind, state], count)
        queued += count if state == TurnState.ACCEPTED.value else 0
    found: dict[str, CounterMetricFamily] = {}
    for counter in list_counters(connection):
        family = found.setdefault(
            counter.name,
            CounterMetricFamily(
                f"roebot_{counter.name}", f"Count of {counter.name.replace('_', ' ')}", labels=["account"]
            ),
        )
        family.add_metric([counter.account], counter.value)
    waiting = GaugeMetricFamily("roebot_turns_queued", "Turns waiting to start", value=queued)
    oldest = GaugeMetricFamily(
        "roebot_oldest_waiting_turn_seconds",
        "Age of the turn that has waited longest to start, in seconds; 0: none waits",
        value=max(0.0, now - (find_oldest_waiting(connection, now) or now)),
    )
    return [opened, waiting, oldest, *found.values()]


def _current_metrics(services: ApiServices, gauges: Gauges) -> Iterable[Metric]:
    accepted = CounterMetricFamily(
        "roebot_turns_accepted", "Turns accepted since startup", labels=["kind", "refused"]
    )
    for (kind, refused), count in sorted(gauges.accepted.items()):
        accepted.add_metric([kind, str(refused).lower()], count)
    yield accepted
    yield GaugeMetricFamily("roebot_runs_running", "Active runs", value=services.dispatcher.run_count)
    yield from _port_metrics(gauges)


def _port_metrics(gauges: Gauges) -> Iterable[Metric]:
    refused = CounterMetricFamily(
        "roebot_bodies_refused", "Request bodies refused by a limit since startup", labels=["status"]
    )
    for status, count in sorted(gauges.refused_bodies.items()):
        refused.add_metric([str(status)], count)
    yield refused
    yield GaugeMetricFamily("roebot_connections", "Open connections", value=len(gauges.connections))
    closed = CounterMetricFamily(
        "roebot_connections_closed", "Connections closed by a limit since startup", labels=["limit"]
    )
    for limit, count in sorted(gauges.closed.items()):
        closed.add_metric([limit], count)
    yield closed


def _account_metrics(services: ApiServices) -> Iterable[Metric]:
    states = GaugeMetricFamily(
        "roebot_account_state", "1 for the account's current state, else 0", labels=["account", "state"]
    )
    waiting = GaugeMetricFamily(
        "roebot_rate_waiting", "Calls waiting for a platform's rate limit", labels=["account"]
    )
    for name, (_, state) in sorted(services.core.accounts.states().items()):
        for live in Live:
            states.add_metric([name, live.value], float(live is state.live))
        channel = services.channels.get(name)
        waiting.add_metric([name], channel.governor.waiting_count if channel else 0)
    return [states, waiting]
