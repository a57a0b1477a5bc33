"""Routes for liveness, readiness, metrics and the OpenAPI document."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sized

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import JSONResponse

from bot.access import Permission, Role
from bot.account_state import Live
from bot.clock import Clock
from bot.errors import StoreError
from bot.server.api import schemas
from bot.server.api.auth import find_caller, may, open_to, requires
from bot.server.api.credential_attempts import Attempts
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import UNREACHABLE
from bot.store.admission_types import Accepted
from bot.store.outages import probe_store
from bot.store.read_models import count_open_turns
from bot.store.usage import list_counters
from bot.turn import TurnState
from bot.wiring import ReportsMetrics

router = APIRouter(tags=["health"])
GOOD = frozenset({Live.LIVE, Live.LIMITED})
DATABASE_SECONDS = 5.0
"""Time limit (s) for the database in the readiness check."""
NO_SPACE = 1_048_576
"""Bytes of free space below which the disk counts as full."""
Readiness = schemas.Readiness | schemas.Ready


@router.get("/health")
@open_to(Role.BLOCKED)
async def get_health(services: Services) -> schemas.HealthInfo:
    """Confirm that the process is alive."""
    return schemas.HealthInfo(status="ok", version=services.version)


@router.get("/health/ready", responses={503: {"model": Readiness}})
@open_to(Role.BLOCKED)
async def get_readiness(request: Request, services: Services, response: Response) -> Readiness:
    """Check whether the database and the agent runtime respond and the disk has space (503: otherwise). Only
    admins get details.
    """
    found = await check_readiness(services)
    response.status_code = 200 if found.ready else 503
    by = find_caller(request)
    detailed = by is not None and may(services, by, Permission.HEALTH)
    return found if detailed else schemas.Ready(ready=found.ready)


async def check_readiness(services: ApiServices) -> schemas.Readiness:
    """Check the database, the agent runtime and the accounts."""
    database = await _database_check(services)
    reachable = await services.core.runtime.is_ready()
    runtime = schemas.Check(
        ok=reachable, detail="" if reachable else _runtime_check(services.runtime_trouble())
    )
    accounts = {
        name: schemas.Check(ok=state.live in GOOD, detail=state.reason or state.live.value)
        for name, (_, state) in services.core.accounts.states().items()
    }
    return schemas.Readiness(
        ready=database.ok and runtime.ok, database=database, runtime=runtime, accounts=accounts
    )


@router.get("/api/openapi.json", include_in_schema=False)
@open_to(Role.MEMBER)
async def get_openapi(request: Request) -> Response:
    """Return the OpenAPI document for these routes."""
    return JSONResponse(request.app.openapi())


def _runtime_check(trouble: str) -> str:
    why = f" Its process exited: {trouble} (see logs/agent.log in the data directory)" if trouble else ""
    return f"{UNREACHABLE}{why}"


async def _database_check(services: ApiServices) -> schemas.Check:
    """Check that the database stores a row, since a replica only answers queries.

    Free space is checked separately: on a full disk SQLite may still store a row in place of an old one.
    """
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            if (await asyncio.to_thread(shutil.disk_usage, services.home)).free < NO_SPACE:
                return schemas.Check(ok=False, detail=f"the disk of {services.home} is full")
            await services.db.transact(probe_store, services.clock.now())
    except TimeoutError:
        return schemas.Check(ok=False, detail=f"no answer within {DATABASE_SECONDS:g} s")
    except StoreError as error:
        return schemas.Check(ok=False, detail=str(error))
    return schemas.Check(ok=True)


LAG_EVERY = 0.5


class Gauges:
    """In-memory metrics: accepted turns, event loop lag (s), and requests refused by the port.

    `connections` are the open ones of the port, and `closed` counts those that a limit closed, by its name.
    """

    def __init__(self) -> None:
        self.accepted: Counter[tuple[str, bool]] = Counter()
        self.refused_bodies: Counter[int] = Counter()
        self.connections: Sized = ()
        self.closed: Mapping[str, int] = {}
        self.lag = 0.0

    def count_turn(self, turn: Accepted) -> None:
        """Count an accepted turn (or a turn refused with a notice)."""
        self.accepted[turn.kind.value, turn.refused] += 1

    async def measure_lag(self, clock: Clock) -> None:
        """Measure the event loop's lag until cancelled, that is, how much a sleep overruns (s)."""
        loop = asyncio.get_running_loop()
        while True:
            asked = loop.time()
            await clock.sleep(LAG_EVERY)
            self.lag = max(0.0, loop.time() - asked - LAG_EVERY)


class MetricsSnapshot:
    """The metrics of one scrape."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


@router.get("/metrics", response_class=Response)
@requires(Permission.HEALTH)
async def get_metrics(request: Request, services: Services, attempts: Attempts) -> Response:
    """Return the metrics in the Prometheus text format."""
    found = await _collect_metrics(services, request.app.state.gauges)
    found += attempts.collect_metrics()
    return Response(await asyncio.to_thread(_render_metrics, found), media_type=CONTENT_TYPE_LATEST)


def _render_metrics(found: Iterable[Metric]) -> bytes:
    """Render these metrics and the process metrics. Blocking: it reads /proc."""
    registry = CollectorRegistry()
    registry.register(MetricsSnapshot(found))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


async def _collect_metrics(services: ApiServices, gauges: Gauges) -> list[Metric]:
    return [
        *_current_metrics(services, gauges),
        *await _stored_counters(services),
        *_account_metrics(services),
        *[
            metric
            for part in services.core.parts
            if isinstance(part, ReportsMetrics)
            for metric in await part.collect_metrics()
        ],
    ]


def _current_metrics(services: ApiServices, gauges: Gauges) -> Iterable[Metric]:
    accepted = CounterMetricFamily(
        "roebot_turns_accepted", "Turns accepted since startup", labels=["kind", "refused"]
    )
    for (kind, refused), count in sorted(gauges.accepted.items()):
        accepted.add_metric([kind, str(refused).lower()], count)
    yield accepted
    yield GaugeMetricFamily("roebot_runs_running", "Active runs", value=services.dispatcher.run_count)
    yield GaugeMetricFamily("roebot_event_loop_lag_seconds", "Event loop delay in seconds", value=gauges.lag)
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


async def _stored_counters(services: ApiServices) -> Iterable[Metric]:
    opened = GaugeMetricFamily("roebot_turns_open", "Turns that are still open", labels=["kind", "state"])
    queued = 0
    for (kind, state), count in sorted((await services.db.transact(count_open_turns)).items()):
        opened.add_metric([kind, state], count)
        queued += count if state == TurnState.ACCEPTED.value else 0
    found: dict[str, CounterMetricFamily] = {}
    for counter in await services.db.transact(list_counters):
        family = found.setdefault(
            counter.name,
            CounterMetricFamily(
                f"roebot_{counter.name}", f"Count of {counter.name.replace('_', ' ')}", labels=["account"]
            ),
        )
        family.add_metric([counter.account], counter.value)
    waiting = GaugeMetricFamily("roebot_turns_queued", "Turns waiting to start", value=queued)
    return [opened, waiting, *found.values()]


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
