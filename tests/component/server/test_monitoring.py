"""The files of deploy/monitoring: what raises each alert, and what the dashboard shows."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from agent.core.call_records import ModelCallRecord
from bot.account_state import Live
from bot.dispatch.observation import observe_delivery
from bot.dispatch.reply.delivery import UNDELIVERED_COUNTER
from bot.dispatch.reply.sender import REPEATED_COUNTER
from bot.domain import ChatKind, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError
from bot.store.connection import sql
from bot.store.usage import increment_counter
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.may_block]
FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
RULES = FOLDER / "alerts.yaml"
DASHBOARD = FOLDER / "dashboard.json"
REFERENCE = FOLDER.parents[1] / "docs" / "reference" / "metrics.md"
ALERTS = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
ACCEPT = {"accept": "application/openmetrics-text; version=1.0.0"}
FAILED_CHANNEL = (
    "channels: {telegram: {bot_token: '123456:abcdefghijklmnopqrstuvwxyz', base_url: 'http://127.0.0.1:9'}}"
)
AGE_TURNS = sql("UPDATE turns SET created_at = created_at - 600")
MINUTES = 20
"""Length of the history in which rules are evaluated, in which the condition lasts."""
Series = Mapping[str, float]


def read_series(text: str, instance: str = "bot:2026") -> dict[str, float]:
    """The exposed series, in the notation of promtool, as if scraped by the job `roebot`."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {**sample.labels, "job": "roebot", "instance": instance}
            inner = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
            found[f"{sample.name}{{{inner}}}"] = sample.value
    return found


async def scrape(service: World) -> dict[str, float]:
    answer = await service.http.get("/metrics", headers=ACCEPT)
    assert answer.status_code == 200, answer.text
    return {**read_series(answer.text), 'up{job="roebot",instance="bot:2026"}': 1.0}


def firing(folder: Path, before: Series, after: Series, alert: str) -> bool:
    """Whether an alert fires at the end of a history that goes from one scrape to another."""
    half = MINUTES * 2
    series = [
        {"series": name, "values": f"{before.get(name, 0.0):f}x{half} {value:f}x{half}"}
        for name, value in after.items()
        if "roebot_" in name or name.startswith("up")
    ]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": series,
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                        "eval_time": f"{MINUTES}m",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                ],
            }
        ],
    }
    path = folder / "rules_test.yaml"
    path.write_text(yaml.safe_dump(test))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 or "got" in done.stdout + done.stderr, done.stdout + done.stderr
    return done.returncode == 0


async def healthy_and_broken(folder: Path, alert: str) -> tuple[Series, Series]:
    """What the service exposes before and while the condition of an alert holds."""
    async with world(folder, graph="slow" if alert == "RoebotTurnsWaiting" else "echo") as service:
        before = await scrape(service)
        if alert == "RoebotDown":
            return before, {**before, 'up{job="roebot",instance="bot:2026"}': 0.0}
        if alert == "RoebotDiskAlmostFull":
            free = next(name for name in before if name.startswith("roebot_disk_free_bytes"))
            return before, {**before, free: 1e6}
        undo = await CAUSES[alert](service)
        after = await scrape(service)
        if undo is not None:
            undo()
        return before, after


async def stop_agent(service: World) -> None:
    service.runtime.should_exit = True
    while await service.service.runtime.is_ready():
        await asyncio.sleep(0.02)


async def lock_database(service: World) -> Callable[[], None]:
    connection = sqlite3.connect(service.home / "bot.db", check_same_thread=False, isolation_level=None)
    await asyncio.to_thread(connection.execute, "BEGIN EXCLUSIVE")
    return connection.close


async def let_a_turn_wait(service: World) -> None:
    conversation = await service.open()
    for text in ("first", "second"):
        await service.say(conversation, text)
    await service.service.db.transact(lambda connection: connection.execute(AGE_TURNS, {}))


async def fail_deliveries(service: World) -> None:
    for _ in range(20):
        with pytest.raises(DeliveryError), observe_delivery("web", "post"):
            raise DeliveryError(DeliveryCategory.PERMISSION)


async def hit_rate_limits(service: World) -> None:
    channel = service.service.accounts.get("web")
    assert channel is not None
    for _ in range(20):
        channel.governor.add_penalty(ReplyAddress("web", "c", ChatKind.PRIVATE), 0.01)


async def block_the_loop(service: World) -> None:
    await asyncio.sleep(1)
    time.sleep(3)  # noqa: ASYNC251 - the cause of the alert
    await asyncio.sleep(1)


async def fail_model_calls(_: World) -> None:
    for _ in range(20):
        ModelCallRecord("gpt", {}, [], time.time()).end(time.time(), "overloaded", {})


CAUSES: Mapping[str, Any] = {
    "RoebotAgentDown": stop_agent,
    "RoebotDatabaseDown": lock_database,
    "RoebotTurnsWaiting": let_a_turn_wait,
    "RoebotDeliveriesFailing": fail_deliveries,
    "RoebotRateLimitHits": hit_rate_limits,
    "RoebotModelFailing": fail_model_calls,
    "RoebotEventLoopLag": block_the_loop,
}


@pytest.mark.parametrize("alert", [alert for alert in ALERTS if alert != "RoebotAccountDown"])
async def test_an_alert_is_raised_by_its_condition_only(tmp_path: Path, alert: str) -> None:
    before, after = await healthy_and_broken(tmp_path, alert)
    assert await asyncio.to_thread(firing, tmp_path, before, after, alert)
    others = [name for name in ALERTS if await asyncio.to_thread(firing, tmp_path, before, before, name)]
    assert others == []


async def test_an_account_that_is_not_connected_raises_an_alert(tmp_path: Path) -> None:
    async with world(tmp_path, extra=FAILED_CHANNEL) as service:
        while service.service.accounts.states()["telegram"][1].live is not Live.FAILED:
            await asyncio.sleep(0.02)
        found = await scrape(service)
    assert await asyncio.to_thread(firing, tmp_path, found, found, "RoebotAccountDown")
    replica = {name.replace("bot:2026", "replica:2026"): value for name, value in found.items()}
    live = next(name for name in replica if 'account="telegram",state="live"' in name)
    assert not await asyncio.to_thread(
        firing, tmp_path, found, {**found, **replica, live: 1.0}, "RoebotAccountDown"
    )


def expressions() -> Iterable[str]:
    """All expressions of the dashboard, with its variables replaced."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m")


async def test_the_dashboard_and_the_rules_name_series_that_are_exposed(tmp_path: Path) -> None:
    suffixes = {
        "counter": ("_total",),
        "histogram": ("_bucket", "_sum", "_count"),
        "summary": ("_sum", "_count"),
        "gauge": ("",),
    }
    exposed = {"up"}
    async with world(tmp_path) as service:
        for path in ("/metrics", "/metrics/agent"):
            answer = await service.http.get(path, headers=ACCEPT)
            for family in text_string_to_metric_families(answer.text):
                exposed |= {family.name + suffix for suffix in suffixes[family.type]}
    rules = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    names = set(re.findall(r"\b(?:roebot|process)_\w+", " ".join([*expressions(), *rules])))
    assert len(names) > 20
    assert sorted(names - exposed) == []


async def test_the_reference_lists_what_is_exposed(tmp_path: Path) -> None:
    rows = re.findall(r"^\| `((?:roebot|process)_\w+)` \| (\w+) \|", REFERENCE.read_text(), re.MULTILINE)
    async with world(tmp_path) as service:
        for counter in (UNDELIVERED_COUNTER, REPEATED_COUNTER):
            await service.service.db.transact(increment_counter, "web", counter)
        answer = await service.http.get("/metrics", headers=ACCEPT)
    exposed = {family.name: family.type for family in text_string_to_metric_families(answer.text)}
    assert dict(rows) == {**exposed, "roebot_spans_lost": "counter"}
    assert len(rows) == len(dict(rows))


def test_promtool_accepts_the_rules_the_configuration_and_the_expressions(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(expressions())]
    panels = tmp_path / "panels.yaml"
    panels.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    for command in (["rules", str(RULES)], ["rules", str(panels)]):
        done = subprocess.run(
            ["promtool", "check", *command], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "token").write_text("secret")
    for name in ("prometheus.yaml", "alerts.yaml"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    done = subprocess.run(
        ["promtool", "check", "config", str(tmp_path / "prometheus.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
