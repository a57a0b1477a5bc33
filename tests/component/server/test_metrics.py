"""The metrics of the service and of its agent runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_metrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from bot.store.usage import increment_counter
from tests.platforms.web.serving import World, world

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
Samples = Mapping[tuple[object, ...], float]


def read_samples(text: str) -> Samples:
    """The samples by name and labels."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scrape(service: World, path: str = "/metrics") -> Samples:
    answer = await service.http.get(path)
    assert answer.status_code == 200, answer.text
    return read_samples(answer.text)


async def test_metrics_count_turns_and_states(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        posted = await service.say(conversation, "hello")
        await service.turn(posted["turn"])
        await service.say(conversation, "")
        answer = await service.http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        samples = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        accepted = "roebot_turns_accepted_total"
        assert samples[accepted, ("kind", "chat"), ("refused", "false")] == 1
        assert samples[accepted, ("kind", "notice"), ("refused", "true")] == 1
        assert samples["roebot_account_state", ("account", "web"), ("state", "live")] == 1
        assert samples["roebot_account_state", ("account", "web"), ("state", "failed")] == 0
        assert samples[("roebot_runs_running",)] == 0
        assert ("roebot_event_loop_lag_seconds",) in samples


async def test_durable_counts_are_in_the_metrics(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for _ in range(3):
            await service.service.db.transact(increment_counter, "web", "undelivered")
        await service.service.db.transact(increment_counter, "web", "possibly_repeated")
        text = (await service.http.get("/metrics")).text
        assert 'roebot_undelivered_total{account="web"} 3.0' in text
        assert 'roebot_possibly_repeated_total{account="web"} 1.0' in text


async def test_the_format_is_the_one_that_the_client_accepts(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for path in ("/metrics", "/metrics/agent"):
            plain = await service.http.get(path)
            assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            answer = await service.http.get(path, headers={"accept": OPEN_METRICS})
            assert answer.headers["content-type"].startswith(OPEN_METRICS)
            families = {one.name: one for one in open_metrics_families(answer.text)}
            assert {one.name for one in text_string_to_metric_families(plain.text)} >= families.keys() - {
                name for name, one in families.items() if one.type == "counter"
            }
            assert families["roebot_event_loop_lag_seconds"].type == "gauge"


async def test_each_stage_of_a_turn_is_observed_once(tmp_path: Path) -> None:
    def counts(samples: Samples, kind: str) -> dict[str, float]:
        name = "roebot_turn_stage_seconds_count"
        return {key[2][1]: value for key, value in samples.items() if key[:2] == (name, ("kind", kind))}

    async with world(tmp_path) as service:
        before = await scrape(service)
        conversation = await service.open()
        for text in ("hello", "/help"):
            await service.turn((await service.say(conversation, text))["turn"])
        after = await scrape(service)
    stages = {"claimed", "run_created", "first_text", "composed", "delivered"}
    for kind, expected in (("chat", stages), ("command", {"claimed", "composed", "delivered"})):
        added = {
            name: count - counts(before, kind).get(name, 0) for name, count in counts(after, kind).items()
        }
        assert added == dict.fromkeys(expected, 1)
        total = ("roebot_turn_seconds_count", ("kind", kind))
        assert after[total] - before.get(total, 0) == 1


async def test_deliveries_runs_and_rate_waits_are_counted(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        before = {**await scrape(service), **await scrape(service, "/metrics/agent")}
        conversation = await service.open()
        await service.turn((await service.say(conversation, "hello"))["turn"])
        after = {**await scrape(service), **await scrape(service, "/metrics/agent")}

        def added(name: str, *labels: tuple[str, str]) -> float:
            return after.get((name, *labels), 0) - before.get((name, *labels), 0)

        web = ("account", "web")
        delivered = [("operation", "post"), ("outcome", "ok")]
        assert added("roebot_delivery_seconds_count", web, *delivered) >= 1
        assert added("roebot_rate_wait_seconds_count", web, ("operation", "final")) >= 0
        assert added("roebot_agent_runs_ended_total", ("status", "success")) == 1
        assert after["roebot_agent_runs", ("status", "running")] == 0
        assert after["roebot_leases_held", ("lease", "run")] == 0
        assert after[("roebot_agent_up",)] == after[("roebot_database_up",)] == 1
        assert after[("roebot_disk_free_bytes",)] > 0
        assert after[("roebot_oldest_waiting_turn_seconds",)] == 0


async def test_the_age_of_the_turn_that_waits_longest(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        for text in ("first", "second"):
            await service.say(conversation, text)
        while not (age := (await scrape(service))[("roebot_oldest_waiting_turn_seconds",)]):
            await asyncio.sleep(0.02)
        assert 0 < age < 60


async def test_an_agent_runtime_that_is_away(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        service.runtime.should_exit = True
        while (await service.http.get("/metrics/agent")).status_code == 200:
            await asyncio.sleep(0.02)
        assert (await service.http.get("/metrics/agent")).status_code == 503
        assert (await scrape(service))[("roebot_agent_up",)] == 0


@pytest.mark.parametrize("path", ["/metrics", "/metrics/agent"])
async def test_metrics_need_the_token(tmp_path: Path, path: str) -> None:
    async with world(tmp_path, headers={}) as service:
        assert (await service.http.get(path)).status_code == 401
