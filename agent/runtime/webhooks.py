"""Webhooks of runs: requests that are sent when a run has ended, and whose delivery survives a restart."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cached_property, partial
from importlib.metadata import version

import httpx
import orjson
import structlog

from agent.errors import Invalid, Unavailable
from agent.runtime.domain import AttemptOutcome, CancelAction, Clock, Json, Run, WebhookDelivery, to_iso
from agent.runtime.due_timer import DueTimer
from agent.runtime.encode import dumps
from agent.runtime.serializers import run_view
from agent.runtime.store import webhooks
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.retries import Sleep, WriteRetries
from agent.runtime.webhook_settings import WebhookSettings, sign
from agent.shared.pinned_transport import PinnedTransport
from agent.shared.public_address import HostRefused
from agent.shared.tls import tls_context

log = structlog.get_logger("agent.runtime")

DELAYS = (1.0, 5.0, 30.0, 120.0, 600.0, 3600.0, 10_800.0)
"""Seconds before each retry of a failed delivery."""
SECONDS = 10.0
"""Seconds within which a receiver must respond."""
CONCURRENT, PER_HOST = 16, 4
"""Maximum number of simultaneous deliveries, in total and to one host."""
MOST_WAITING = 10_000
"""Number of deliveries above which runs with a webhook are refused."""
GONE = 410
"""Status of a receiver that wants no further deliveries."""
AGENT = f"roebot/{version('roebot')}"


class WebhookSender(DueTimer):
    """Calls webhooks, and retries with growing delays until the receiver responds with a 2xx status."""

    def __init__(
        self,
        database: RuntimeDatabase,
        settings: WebhookSettings | None,
        secret: bytes | None,
        *,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        super().__init__(clock, sleep)
        self._database = database
        self._settings, self._secret = settings or WebhookSettings(), secret
        self._retries = WriteRetries(sleep)
        self._active: dict[str, tuple[str, asyncio.Task[None]]] = {}

    async def check(self, url: str) -> None:
        """Check a webhook before its run starts. Raises `Invalid`, or `Unavailable` if too many wait."""
        self._settings.check_url(url)
        if await self._database.read(webhooks.count_deliveries) >= MOST_WAITING:
            raise Unavailable("webhook: too many deliveries are waiting for their receivers; try again later")

    def make_delivery(
        self, run: Run, outcome: AttemptOutcome, stop: CancelAction | None, started_at: float, now: float
    ) -> WebhookDelivery:
        """Return the delivery that announces the end of a run with a webhook."""
        url = run.spec.webhook or ""
        rolled_back = stop is CancelAction.ROLLBACK
        facts: Json = {
            **run_view(run),
            "status": "rollback" if rolled_back else outcome.status,
            "updated_at": to_iso(now),
            "run_started_at": to_iso(started_at),
            "run_ended_at": to_iso(now),
            "values": None if rolled_back or not outcome.values else orjson.Fragment(outcome.values),
        }
        if outcome.error is not None:
            facts["error"] = outcome.error
        elif stop is not None:
            error = "UserRollback" if rolled_back else "UserInterrupt"
            facts["error"] = {"error": error, "message": "The run was cancelled"}
        return WebhookDelivery(run.run_id, run.thread_id, url, httpx.URL(url).host, dumps(facts), next_at=now)

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            while True:
                self._clear()
                started, until = await self._start_due()
                if not started:
                    await self._wait(until)
        finally:
            tasks = [task for _, task in self._active.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if (client := vars(self).pop("_client", None)) is not None:
                await client.aclose()

    async def _start_due(self) -> tuple[bool, float | None]:
        """Start deliveries that are due. Return whether there were any, and when the next one is due."""
        hosts = Counter(host for host, _ in self._active.values())
        full = [host for host, count in hosts.items() if count >= PER_HOST]
        free = CONCURRENT - len(self._active)
        find = partial(webhooks.list_next, without=list(self._active), without_hosts=full, limit=free)
        started = False
        for item in await self._database.read(find) if free else ():
            if item.next_at > self._clock():
                return started, item.next_at
            if hosts[item.host] < PER_HOST:
                hosts[item.host] += 1
                task = asyncio.create_task(self._deliver(item), name=f"webhook {item.run_id}")
                self._active[item.run_id] = (item.host, task)
                started = True
        return started, None

    async def _deliver(self, delivery: WebhookDelivery) -> None:
        try:
            problem = await self._send(delivery)
            await self._retries.repeat(partial(self._record_attempt, delivery, problem))
        finally:
            self._active.pop(delivery.run_id, None)
            self.notify()

    async def _record_attempt(self, delivery: WebhookDelivery, problem: str | None) -> None:
        """Delete a delivery that succeeded (`problem` is None) or is given up; postpone any other."""
        facts = {"run_id": delivery.run_id, "host": delivery.host, "attempt": delivery.attempts + 1}
        if problem is None or problem.startswith("refused") or delivery.attempts >= len(DELAYS):
            await self._database.write(webhooks.delete_delivery, delivery.run_id)
            if problem is None:
                log.info("webhook_delivered", **facts)
            else:
                log.error("webhook_given_up", problem=problem, **facts)
            return
        next_at = self._clock() + DELAYS[delivery.attempts]
        await self._database.write(
            webhooks.postpone_delivery, delivery.run_id, attempts=delivery.attempts + 1, next_at=next_at
        )
        log.warning("webhook_failed", problem=problem, **facts)

    async def _send(self, delivery: WebhookDelivery) -> str | None:
        """Call a webhook once; return what went wrong, starting with `refused` if it is permanent.

        The body of the response is not read, and redirects are not followed.
        """
        try:
            self._settings.check_url(delivery.url)
            content, headers = self._make_request(delivery)
            async with asyncio.timeout(SECONDS):
                request = self._client.stream("POST", delivery.url, content=content, headers=headers)
                async with request as response:
                    status = response.status_code
        except (Invalid, HostRefused) as error:
            return f"refused: {error}"
        except Exception as error:  # noqa: BLE001 - whatever it is, the number of retries is limited
            return type(error).__name__
        if status == GONE:
            return f"refused: status {status}"
        return None if httpx.codes.is_success(status) else f"status {status}"

    def _make_request(self, delivery: WebhookDelivery) -> tuple[bytes, dict[str, str]]:
        now = self._clock()
        content = delivery.body[:-1] + b"," + dumps({"webhook_sent_at": to_iso(now)})[1:]
        headers = {
            **self._settings.headers,
            "user-agent": AGENT,
            "content-type": "application/json",
            "webhook-id": delivery.run_id,
            "webhook-timestamp": str(int(now)),
        }
        if self._secret is not None:
            headers["webhook-signature"] = sign(self._secret, delivery.run_id, int(now), content)
        return content, headers

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_keepalive_connections=0)
        inner = httpx.AsyncHTTPTransport(verify=tls_context(), limits=limits, trust_env=False)
        transport = PinnedTransport(self._settings.find_addresses, inner)
        return httpx.AsyncClient(transport=transport, timeout=SECONDS, trust_env=False)
