"""Spans: their ids, their parents, and an endpoint that does not answer."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.schemas import Schemas

from agent.shared import tracing
from agent.shared.trace_export import QUEUE, SCHEMA, STOP_SECONDS
from tests.harness.trace_collector import ERROR, TraceCollector

pytestmark = [pytest.mark.may_block]
ROOT = Path(__file__).parents[4]
TURN = (7, 1796077607.5, "telegram")


@pytest.fixture
async def collector() -> AsyncIterator[TraceCollector]:
    found = TraceCollector()
    async with found.server.running():
        yield found


@pytest.fixture
def levels() -> Iterator[None]:
    names = ("opentelemetry", "urllib3")
    before = [logging.getLogger(name).level for name in names]
    yield
    for name, level in zip(names, before, strict=True):
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("levels")
async def test_the_root_span_has_the_ids_that_its_children_name(collector: TraceCollector) -> None:
    for _ in range(2):  # before and after a restart
        async with tracing.export_traces("roebot", collector.server.url, 1.0, content=False):
            root = tracing.derive_root(*TURN)
            token = tracing.traceparent.set(root)
            with tracing.record_span("child", {"roebot.run": None}):
                assert tracing.traceparent.get().split("-")[1] == root.split("-")[1]
            tracing.traceparent.reset(token)
    async with tracing.export_traces("roebot", collector.server.url, 1.0, content=False):
        tracing.end_span(tracing.begin_span("turn", {}, at=100.0, root=root), at=160.5)
    [turn] = collector.named("turn")
    assert f"00-{turn.trace}-{turn.id}-01" == root
    assert (turn.parent, turn.begin, turn.end) == ("", 100.0, 160.5)
    assert [(span.trace, span.parent) for span in collector.named("child")] == [(turn.trace, turn.id)] * 2
    assert tracing.derive_root(*TURN) == f"{root[:-2]}00", "nothing is recorded now"


@pytest.mark.usefixtures("levels")
async def test_a_fraction_of_the_turns_is_recorded_as_a_whole(collector: TraceCollector) -> None:
    async with tracing.export_traces("roebot", collector.server.url, 0.3, content=False):
        for number in range(200):
            root = tracing.derive_root(number)
            token = tracing.traceparent.set(root)
            tracing.end_span(tracing.begin_span("child", {}))
            tracing.end_span(tracing.begin_span("turn", {}, root=root))
            tracing.traceparent.reset(token)
    turns = {span.trace for span in collector.named("turn")}
    assert {span.trace for span in collector.named("child")} == turns
    assert 30 < len(turns) < 90


@pytest.mark.usefixtures("levels")
async def test_a_span_that_is_cancelled_or_fails_has_a_status(collector: TraceCollector) -> None:
    async def work() -> None:
        with tracing.record_span("cancelled", {}):
            await asyncio.Event().wait()

    async with tracing.export_traces("roebot", collector.server.url, 1.0, content=False):
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        with pytest.raises(KeyError), tracing.record_span("failed", {}):
            raise KeyError("a secret")
        with pytest.raises(KeyError), tracing.record_span("expected", {}, expected=(KeyError,)):
            raise KeyError
        assert tracing.traceparent.get() == ""
    found = {span.name: (span.status, span.attributes.get("error.type")) for span in collector.spans}
    assert found == {
        "cancelled": (ERROR, "CancelledError"),
        "failed": (ERROR, "KeyError"),
        "expected": (0, None),
    }
    assert "a secret" not in str(collector.spans)


@pytest.mark.usefixtures("levels")
async def test_an_endpoint_that_never_answers_takes_neither_time_nor_memory() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with tracing.export_traces("roebot", url, 1.0, content=False):
            recorder = tracing._recorder
            assert recorder is not None
            began = time.perf_counter()
            for _ in range(3 * QUEUE):
                with tracing.record_span("span", {"key": "value"}):
                    pass
            assert (time.perf_counter() - began) / (3 * QUEUE) < 0.001
            stopping = time.perf_counter()
        assert time.perf_counter() - stopping < STOP_SECONDS + 1


async def test_without_an_endpoint_nothing_is_recorded() -> None:
    async with tracing.export_traces("roebot", None, 1.0, content=True):
        assert not tracing.records_content()
        with tracing.record_span("span", {}) as later:
            later["key"] = "value"
            assert tracing.traceparent.get() == ""
        assert tracing.begin_span("span", {}) is None


def test_names_are_those_of_the_conventions() -> None:
    assert Schemas.V1_44_0.value == SCHEMA
    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    used = set()
    for path in ("agent/core/call_records.py", "agent/runtime/executor.py"):
        used |= set(re.findall(r'"(gen_ai\.[a-z_.]+)"', (ROOT / path).read_text()))
    used |= {f"gen_ai.usage.{name}_tokens" for name in ("input", "output", "cache_read.input")}
    assert used <= known
    assert len(used) > 10
