"""Prometheus and Alertmanagers of Debian as processes on loopback, with short times and data of their own."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from roebot_testing.emulators.http import answer_bytes
from roebot_testing.emulators.server import LOOPBACK, LoopbackServer, Receive, Scope, Send
from tests.harness.free_ports import free_port
from tests.harness.service_with_quick_incidents import INTERVAL

PATIENCE = 30.0
GROUP_WAIT, GROUP_INTERVAL, REPEAT_INTERVAL = 0.5, 1.5, 4.0
"""Seconds until the first message of a group, between its changes, and between repetitions."""
PEER_TIMEOUT = 1.0
"""Seconds that the second Alertmanager waits for the first one."""
assert GROUP_INTERVAL + PEER_TIMEOUT < INTERVAL, "a lagging one is corrected before the service believes it"
SECRET = "secret-of-alertmanager"


@dataclass
class Program:
    """A program that answers at `/-/ready` on its port."""

    command: list[str]
    port: int
    log: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def start(self, http: httpx.AsyncClient) -> None:
        """Start it and wait until it is ready."""
        self.process, ready = self._spawn(), False
        deadline = time.monotonic() + PATIENCE
        while not ready:
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()[-4000:]
            await asyncio.sleep(0.05)
            with suppress(httpx.TransportError):
                ready = (await http.get(f"{self.url}/-/ready")).is_success

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command, cwd=self.log.parent, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it by a signal."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)


@dataclass
class Gauges:
    """A page with the gauges of the monitored hosts, which Prometheus reads."""

    values: dict[tuple[str, str], int] = field(default_factory=dict)

    def put(self, scenario: str, host: str, value: int) -> None:
        """Set whether a host has the problem of a scenario."""
        self.values[scenario, host] = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with all gauges in the text format of Prometheus."""
        lines = [
            f'problem{{scenario="{scenario}",host="{host}"}} {value}\n'
            for (scenario, host), value in self.values.items()
        ]
        await answer_bytes(send, 200, "".join(lines).encode(), b"text/plain; version=0.0.4")


@dataclass
class Monitoring:
    """A Prometheus that sends alerts to a cluster of two Alertmanagers."""

    http: httpx.AsyncClient
    gauges: Gauges
    pair: tuple[Program, Program]
    prometheus: Program
    _firing: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    async def fire(self, scenario: str, *hosts: str, severity: str = "critical") -> None:
        """Report to both Alertmanagers that alerts are firing, as a source other than Prometheus."""
        alerts = {(scenario, host): _alert(scenario, host, severity) for host in hosts}
        self._firing |= alerts
        await self._post([*alerts.values()])

    async def resolve(self, scenario: str, *hosts: str) -> None:
        """Report to both Alertmanagers that alerts have ended."""
        ends = {"endsAt": _format(time.time())}
        await self._post([{**self._firing.pop((scenario, host)), **ends} for host in hosts])

    async def _post(self, alerts: list[dict[str, Any]]) -> None:
        for one in self.pair:
            (await self.http.post(f"{one.url}/api/v2/alerts", json=alerts)).raise_for_status()

    async def silence(self, scenario: str, host: str, seconds: float = 600.0) -> str:
        """Silence an alert; the id of the silence, which the cluster shares."""
        now = time.time()
        matchers = {"scenario": scenario, "host": host}
        body = {
            "matchers": [
                {"name": name, "value": value, "isRegex": False, "isEqual": True}
                for name, value in matchers.items()
            ],
            "startsAt": _format(now),
            "endsAt": _format(now + seconds),
            "createdBy": "ada",
            "comment": "maintenance",
        }
        answer = (await self.http.post(f"{self.pair[0].url}/api/v2/silences", json=body)).raise_for_status()
        found: str = answer.json()["silenceID"]
        return found

    async def unsilence(self, silence: str) -> None:
        """End a silence."""
        (await self.http.delete(f"{self.pair[0].url}/api/v2/silence/{silence}")).raise_for_status()

    async def are_joined(self) -> bool:
        """Return whether each Alertmanager sees the other."""
        found = [(await self.http.get(f"{one.url}/api/v2/status")).json()["cluster"] for one in self.pair]
        return all(one["status"] == "ready" and len(one["peers"]) == 2 for one in found)

    async def knows(self, program: Program, scenario: str) -> bool:
        """Return whether an Alertmanager has active alerts of a scenario."""
        query = {"filter": f'scenario="{scenario}"', "active": "true"}
        return bool((await self.http.get(f"{program.url}/api/v2/alerts", params=query)).json())

    @asynccontextmanager
    async def without(self, number: int, by: signal.Signals, scenario: str) -> AsyncIterator[None]:
        """End an Alertmanager by a signal for the time of the block, and start it again. It does not store
        alerts, so wait until it knows those of the scenario.
        """
        program = self.pair[number]
        program.end(by)
        try:
            yield
        finally:
            await program.start(self.http)
        while not (await self.are_joined() and await self.knows(program, scenario)):
            await asyncio.sleep(0.05)

    def logs(self) -> str:
        """What the programs printed last."""
        return "\n".join(one.log.read_text()[-3000:] for one in (*self.pair, self.prometheus))


def _format(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _alert(scenario: str, host: str, severity: str) -> dict[str, Any]:
    return {
        "startsAt": _format(time.time()),
        "labels": {"alertname": "Problem", "scenario": scenario, "host": host, "severity": severity},
        "annotations": {"summary": f"{host} of {scenario}"},
        "generatorURL": "http://monitoring.example/graph",
    }


def _json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a configuration; both programs read YAML, of which JSON is a part."""
    path.write_text(json.dumps(value))
    return path


def _write_alertmanager(folder: Path, receivers: Iterable[str]) -> Path:
    webhooks = [{"url": url, "http_config": {"authorization": {"credentials": SECRET}}} for url in receivers]
    inhibition = {
        "source_matchers": ['severity="critical"'],
        "target_matchers": ['severity="warning"'],
        "equal": ["scenario"],
    }
    return _json(
        folder / "alertmanager.yml",
        {
            "route": {
                "receiver": "roebot",
                "group_by": ["scenario"],
                "group_wait": f"{GROUP_WAIT * 1000:.0f}ms",
                "group_interval": f"{GROUP_INTERVAL * 1000:.0f}ms",
                "repeat_interval": f"{REPEAT_INTERVAL * 1000:.0f}ms",
            },
            "receivers": [{"name": "roebot", "webhook_configs": webhooks}],
            "inhibit_rules": [inhibition],
        },
    )


def _make_alertmanagers(folder: Path, config: Path) -> tuple[Program, Program]:
    clusters = [free_port(), free_port()]
    made = []
    for number in range(2):
        home, port = folder / f"alertmanager{number}", free_port()
        home.mkdir()
        command = [
            "prometheus-alertmanager",
            f"--config.file={config}",
            f"--storage.path={home}",
            f"--web.listen-address={LOOPBACK}:{port}",
            f"--cluster.listen-address={LOOPBACK}:{clusters[number]}",
            f"--cluster.advertise-address={LOOPBACK}:{clusters[number]}",
            f"--cluster.peer={LOOPBACK}:{clusters[1 - number]}",
            f"--cluster.peer-timeout={PEER_TIMEOUT:g}s",
            "--cluster.gossip-interval=50ms",
            "--cluster.pushpull-interval=1s",
            "--cluster.settle-timeout=5s",
            "--cluster.reconnect-interval=1s",
        ]
        made.append(Program(command, port, folder / f"alertmanager{number}.log"))
    return made[0], made[1]


def _make_prometheus(folder: Path, gauges: str, pair: Iterable[Program]) -> Program:
    rule = {
        "alert": "Problem",
        "expr": "problem > 0",
        "labels": {"severity": "critical"},
        "annotations": {"summary": "{{ $labels.host }} of {{ $labels.scenario }}"},
    }
    rules = _json(folder / "rules.yml", {"groups": [{"name": "hosts", "rules": [rule]}]})
    targets = [f"{LOOPBACK}:{one.port}" for one in pair]
    config = {
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
        "rule_files": [str(rules)],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": targets}]}]},
        "scrape_configs": [{"job_name": "hosts", "static_configs": [{"targets": [gauges]}]}],
    }
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={_json(folder / 'prometheus.yml', config)}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address={LOOPBACK}:{port}",
        # Alerts expire after four times this unless sent again, which takes 10 s more while one is paused.
        "--rules.alert.resend-delay=4s",
    ]
    return Program(command, port, folder / "prometheus.log")


@asynccontextmanager
async def monitoring(folder: Path, receivers: Iterable[str]) -> AsyncIterator[Monitoring]:
    """Run a Prometheus and two Alertmanagers, which notify each address of `receivers` of every group."""
    folder.mkdir()
    gauges = Gauges()
    page = LoopbackServer(gauges)
    pair = _make_alertmanagers(folder, _write_alertmanager(folder, receivers))
    prometheus = _make_prometheus(folder, f"{LOOPBACK}:{page.port}", pair)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(page.running())
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=PATIENCE))
        for one in (*pair, prometheus):
            stack.callback(one.end, signal.SIGKILL)
            await one.start(http)
        made = Monitoring(http, gauges, pair, prometheus)
        while not await made.are_joined():
            await asyncio.sleep(0.05)
        yield made
