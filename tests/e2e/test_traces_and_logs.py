"""Traces and logs of a turn over both processes, with Telegram's emulator and a collector."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.machine import Deadline
from tests.harness.service import PERSON, ServiceProcess, config_text
from tests.harness.trace_collector import Collected, TraceCollector
from tests.harness.waiters import answers, until

pytestmark = [pytest.mark.may_block, pytest.mark.timeout(180)]
SECONDS = 60.0
PLANTED = "quokka7731"
NAME = "Annabella"
TOOL = '[tool=ls {"path": "/mnt/user-data/workspace"}]'
ASK = f"my code is {PLANTED} {TOOL}"


@asynccontextmanager
async def traced(
    home: Path, *, settings: str = "", level: str = "debug"
) -> AsyncIterator[tuple[ServiceProcess, TelegramEmulator, TraceCollector]]:
    """A service that exports traces, not started yet."""
    collector, emulator = TraceCollector(), TelegramEmulator()
    async with collector.server.running(), emulator.running():
        extra = f"tracing: {{endpoint: '{collector.server.url}'{settings}}}\n"
        extra += f"logging: {{level: {level}, format: json}}\n"
        service = ServiceProcess(home / "home", config_text(emulator, extra=extra))
        try:
            yield service, emulator, collector
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()


async def ask(emulator: TelegramEmulator, service: ServiceProcess, text: str = ASK) -> None:
    before = len(answers(emulator, PERSON)) if PERSON in emulator.world.chats else 0
    emulator.people.says(text, user=PERSON, name=NAME)
    await until(lambda: len(answers(emulator, PERSON)) > before, SECONDS, service.log)


async def collected(collector: TraceCollector, service: ServiceProcess, count: int = 1) -> list[Collected]:
    """The spans, once so many turns are complete."""
    await until(lambda: len(collector.named("turn")) >= count, SECONDS, service.log)
    await until(lambda: len(collector.named("invoke_agent lead_agent")) >= count, SECONDS, service.log)
    return collector.spans


def log_lines(service: ServiceProcess) -> Iterator[str]:
    for path in (service.home / "service.log", service.home / "logs" / "agent.log"):
        yield from path.read_text().splitlines()


async def test_a_trace_leads_from_the_event_to_each_delivery(tmp_path: Path) -> None:
    async with traced(tmp_path) as (service, emulator, collector):
        service.start()
        await service.ready()
        await ask(emulator, service)
        spans = await collected(collector, service)
        assert service.stop() == 0
    assert len({span.trace for span in spans}) == 1
    [root] = collector.named("turn")
    [run] = collector.named("invoke_agent lead_agent")
    [call] = collector.named("execute_tool ls")
    chats = collector.named("chat scripted")
    posts = [span for span in spans if span.name.startswith("deliver ")]
    assert root.parent == "" and root.service == "roebot" and run.service == "roebot-agent"
    below = [run, *posts, *collector.named("receive"), *collector.named("wait")]
    assert {span.parent for span in below} == {root.id}
    assert {span.parent for span in (*chats, call)} == {run.id}
    assert len(chats) == 2 and posts
    assert len(spans) == len(below) + len(chats) + 2
    assert all(root.begin - 1 <= span.begin <= span.end <= root.end + 0.5 for span in below)
    assert chats[0].attributes["gen_ai.operation.name"] == "chat"
    assert chats[0].attributes["gen_ai.usage.input_tokens"] > 0
    assert PLANTED not in str(spans) and NAME not in str(spans)
    assert not any(span.status for span in spans)


async def test_a_turn_that_is_resumed_after_a_crash_goes_on_with_its_trace(tmp_path: Path) -> None:
    async with traced(tmp_path) as (service, emulator, collector):
        service.start(**{VARIABLE: Step.MID_STREAM})
        await service.ready()
        emulator.people.says("[every=0.1] [tokens=40]", user=PERSON)
        await service.died()
        service.start()
        await collected(collector, service)
        assert service.stop() == 0
    [root] = collector.named("turn")
    assert {span.trace for span in collector.spans} == {root.trace}
    assert len([span for span in collector.spans if span.name.startswith("deliver ")]) >= 1
    assert {span.parent for span in collector.spans if span.service == "roebot"} == {"", root.id}


async def test_a_run_that_is_continued_after_a_crash_of_the_agent_is_in_the_same_trace(
    tmp_path: Path,
) -> None:
    async with traced(tmp_path) as (service, emulator, collector):
        service.start()
        await service.ready()
        emulator.people.says("[every=0.1] [tokens=40]", user=PERSON)
        await until(
            lambda: PERSON in emulator.world.chats and answers(emulator, PERSON), SECONDS, service.log
        )
        agent = service.agent()
        assert agent is not None
        agent.kill()
        await collected(collector, service)
        assert service.stop() == 0
    [root] = collector.named("turn")
    [run] = collector.named("invoke_agent lead_agent")
    assert (run.trace, run.parent) == (root.trace, root.id)
    assert run.begin > root.begin + 0.5, "the span of the first attempt was lost with its process"


async def test_texts_are_recorded_if_the_configuration_says_so(tmp_path: Path) -> None:
    async with traced(tmp_path, settings=", content: true") as (service, emulator, collector):
        service.start()
        await service.ready()
        await ask(emulator, service)
        await collected(collector, service)
        assert service.stop() == 0
    [call] = collector.named("execute_tool ls")
    assert "/mnt/user-data/workspace" in call.attributes["gen_ai.tool.call.arguments"]
    assert "gen_ai.tool.call.result" in call.attributes
    first = min(collector.named("chat scripted"), key=lambda span: span.begin)
    last = json.loads(first.attributes["gen_ai.input.messages"])[-1]
    assert last["role"] == "user" and PLANTED in last["parts"][0]["content"]
    assert json.loads(first.attributes["gen_ai.output.messages"])[0]["role"] == "assistant"


async def test_logs_of_both_processes_have_the_ids_and_no_text(tmp_path: Path) -> None:
    async with traced(tmp_path) as (service, emulator, collector):
        service.start()
        await service.ready()
        for mark in (TOOL, "[fail=rate_limit]", "[tool=unheard_of]", "/title"):
            await ask(emulator, service, f"{mark} {PLANTED}")
        await collected(collector, service, 3)
        assert service.stop() == 0
        lines = list(log_lines(service))
    assert [line for line in lines if PLANTED in line or NAME in line] == []
    events = [json.loads(line) for line in lines if line.startswith("{")]
    closed = [event for event in events if event["event"] == "turn_closed"]
    failed = [event for event in events if event["event"] == "run_failed"]
    traces = {span.trace for span in collector.named("turn")}
    assert len(closed) == 3 and failed
    for event in (*closed, *failed):
        assert event["trace_id"] in traces
        assert event["turn"] and event["thread_id"]
    assert all(event["run_id"] for event in failed)


@pytest.mark.parametrize("status", [0, 503])
async def test_a_collector_that_is_away_delays_nothing_and_is_logged_once(
    tmp_path: Path, status: int
) -> None:
    async with traced(tmp_path, level="info") as (service, emulator, collector):
        collector.status = status or 200
        if not status:
            service.config = service.config.replace(collector.server.url, "http://127.0.0.1:9")
        service.start()
        await service.ready()
        for number in range(3):
            await ask(emulator, service, f"question {number}")
        await until(lambda: "traces_not_exported" in service.log(), SECONDS, service.log)
        await ask(emulator, service, "one more")
        deadline = Deadline(10.0, service.pid)
        assert service.stop() == 0
        assert not deadline.passed
        lines = list(log_lines(service))
    for name in ("service.log", "logs/agent.log"):
        text = (service.home / name).read_text()
        assert text.count("traces_not_exported") <= 1, text
    assert [line for line in lines if re.search("opentelemetry|urllib3|Traceback", line)] == []
