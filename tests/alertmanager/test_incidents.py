"""Real Alertmanagers and a real Prometheus report to the service: one card for each group on every platform.

Each scenario has a group of alerts and a chat on each platform of its own. Whatever happens, the chat has one
card with the state that the source reports, and each lasting state is announced once.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.alertmanager.programs import REPEAT_INTERVAL
from tests.alertmanager.stage import ACTIVE, RESOLVED, SILENT, Stage, open_stage

pytestmark = [
    pytest.mark.alertmanager,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.may_block,
    pytest.mark.timeout(240),
]

SCENARIOS = (
    "fire",
    "group",
    "part",
    "flap",
    "silence",
    "inhibit",
    "restart",
    "kill",
    "pause",
    "slow",
    "crash",
    "down",
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path_factory.mktemp("alertmanager"), SCENARIOS) as stage:
        yield stage
        await asyncio.sleep(REPEAT_INTERVAL)
        for scenario in SCENARIOS:
            if any(chat.cards for chat in stage.read(scenario).values()):
                stage.check(scenario, repeats=1 if scenario in ("crash", "down") else 0)
        assert {name: wire.limited() for name, wire in stage.wires.items()} == dict.fromkeys(stage.wires, 0)
        assert {status for _, _, status in stage.line.answers} == {202}


async def test_an_alert_of_prometheus(stage: Stage) -> None:
    gauges = stage.monitoring.gauges
    gauges.put("fire", "a", 1)
    await stage.shows("fire", ACTIVE, news=0)
    gauges.put("fire", "a", 0)
    await stage.shows("fire", RESOLVED, news=1)


async def test_a_group_of_alerts_is_one_incident(stage: Stage) -> None:
    hosts = ["a", "b", "c"]
    await stage.monitoring.fire("group", *hosts)
    await stage.shows("group", ACTIVE, "3 active", *(f"{ACTIVE} {host} of group" for host in hosts))
    await stage.monitoring.fire("group", "d")
    await stage.shows("group", ACTIVE, "4 active", f"{ACTIVE} d of group")
    await stage.monitoring.resolve("group", *hosts, "d")
    await stage.shows("group", RESOLVED, news=1)


async def test_a_group_that_is_resolved_in_part_is_active(stage: Stage) -> None:
    await stage.monitoring.fire("part", "a", "b")
    await stage.shows("part", ACTIVE, "2 active")
    await stage.monitoring.resolve("part", "a")
    await stage.shows("part", ACTIVE, "1 active", f"{RESOLVED} a of part", f"{ACTIVE} b of part", news=0)
    await stage.monitoring.resolve("part", "b")
    await stage.shows("part", RESOLVED, news=1)


async def test_an_alert_that_comes_and_goes_keeps_its_card(stage: Stage) -> None:
    gauges = stage.monitoring.gauges
    for number in range(2):
        gauges.put("flap", "a", 1)
        await stage.shows("flap", ACTIVE, news=2 * number)
        gauges.put("flap", "a", 0)
        await stage.shows("flap", RESOLVED, news=2 * number + 1)
    for value in (1, 0) * 4:
        gauges.put("flap", "a", value)
        await asyncio.sleep(0.8)
    await stage.shows("flap", RESOLVED)


async def test_a_silenced_alert_has_no_updates(stage: Stage) -> None:
    await stage.monitoring.fire("silence", "a", "b")
    await stage.shows("silence", ACTIVE, "2 active")
    silence = await stage.monitoring.silence("silence", "b")
    await stage.shows("silence", ACTIVE, "1 active", f"{SILENT} b of silence")
    await stage.monitoring.resolve("silence", "a")
    await stage.shows("silence", SILENT, f"{RESOLVED} a of silence", news=1)
    await stage.monitoring.unsilence(silence)
    await stage.shows("silence", ACTIVE, f"{ACTIVE} b of silence", news=2)
    await stage.monitoring.resolve("silence", "b")
    await stage.shows("silence", RESOLVED, news=3)


async def test_an_inhibited_alert_has_no_updates(stage: Stage) -> None:
    await stage.monitoring.fire("inhibit", "a", severity="warning")
    await stage.shows("inhibit", ACTIVE, "warning")
    await stage.monitoring.fire("inhibit", "b")
    await stage.shows("inhibit", ACTIVE, "1 active", f"{SILENT} a of inhibit", f"{ACTIVE} b of inhibit")
    await stage.monitoring.resolve("inhibit", "b")
    await stage.shows("inhibit", ACTIVE, f"{ACTIVE} a of inhibit", f"{RESOLVED} b of inhibit", news=0)
    await stage.monitoring.resolve("inhibit", "a")
    await stage.shows("inhibit", RESOLVED, news=1)


@pytest.mark.parametrize(
    ("scenario", "number"), [("restart", signal.SIGTERM), ("kill", signal.SIGKILL)], ids=["restart", "kill"]
)
async def test_an_alertmanager_that_ends_and_comes_back(
    stage: Stage, scenario: str, number: signal.Signals
) -> None:
    gauges = stage.monitoring.gauges
    for host in ("a", "b", "c"):
        gauges.put(scenario, host, 1)
    await stage.shows(scenario, ACTIVE, "3 active")
    async with stage.monitoring.without(0, number, scenario):
        gauges.put(scenario, "a", 0)
        await stage.shows(scenario, ACTIVE, "2 active", f"{RESOLVED} a of {scenario}")
    async with stage.monitoring.without(1, number, scenario):
        gauges.put(scenario, "b", 0)
        await stage.shows(scenario, ACTIVE, "1 active", f"{RESOLVED} b of {scenario}")
    gauges.put(scenario, "c", 0)
    await stage.shows(scenario, RESOLVED, news=1)


async def test_an_alertmanager_that_was_paused_repeats_what_has_ended(stage: Stage) -> None:
    paused, gauges = stage.monitoring.pair[0], stage.monitoring.gauges
    for host in ("a", "b"):
        gauges.put("pause", host, 1)
    await stage.shows("pause", ACTIVE, "2 active")
    paused.send(signal.SIGSTOP)
    try:
        gauges.put("pause", "b", 0)
        await stage.shows("pause", ACTIVE, "1 active", f"{RESOLVED} b of pause")
    finally:
        paused.send(signal.SIGCONT)
    gauges.put("pause", "a", 0)
    await stage.shows("pause", RESOLVED, news=1)


async def test_a_sender_that_gets_no_answer_repeats(stage: Stage) -> None:
    def is_repeated() -> bool:
        bodies = [stage.line.list_bodies("slow", platform) for platform in stage.wires]
        return all(max(Counter(one).values(), default=0) > 2 for one in bodies)

    stage.line.held.add('"slow"')
    await stage.monitoring.fire("slow", "a")
    await stage.until("slow", is_repeated)
    await stage.shows("slow", ACTIVE, news=0)
    # A group whose messages were never answered would end without one.
    stage.line.held.clear()
    await stage.monitoring.fire("slow", "b")
    await stage.shows("slow", ACTIVE, "2 active", news=0)
    await stage.monitoring.resolve("slow", "a", "b")
    await stage.shows("slow", RESOLVED, news=1)


async def test_kill_of_the_service_that_accepted(stage: Stage) -> None:
    async def dies_at(number: int) -> None:
        stage.line.kills_after = number
        await stage.until("crash", lambda: not stage.line.url)
        await stage.start()

    await stage.monitoring.fire("crash", "a")
    await dies_at(2)
    await stage.shows("crash", ACTIVE, news=0, repeats=1)
    await stage.monitoring.fire("crash", "b")
    await dies_at(3)
    await stage.shows("crash", ACTIVE, "2 active", news=0, repeats=1)
    await stage.monitoring.resolve("crash", "a", "b")
    await dies_at(1)
    await stage.shows("crash", RESOLVED, news=1, repeats=2)


async def test_what_happens_while_the_service_is_away(stage: Stage) -> None:
    await stage.monitoring.fire("down", "a", "b")
    await stage.shows("down", ACTIVE, "2 active")
    stage.line.url = ""
    stage.service.kill()
    await stage.monitoring.resolve("down", "a")
    await stage.monitoring.fire("down", "c")
    await asyncio.sleep(REPEAT_INTERVAL)
    await stage.start()
    lines = [f"{RESOLVED} a of down", f"{ACTIVE} b of down", f"{ACTIVE} c of down"]
    await stage.shows("down", ACTIVE, "2 active", *lines, news=0)
    await stage.monitoring.resolve("down", "b", "c")
    await stage.shows("down", RESOLVED, news=1)
