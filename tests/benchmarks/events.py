"""Events of monitoring systems: `python -m tests.benchmarks.events`.

Alertmanager's requests arrive at a steady rate while chats stream; then a burst of alerts from several groups
becomes cards, within Telegram's limits. Last, an event is stored among a hundred others and among a hundred
thousand.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx

from bot.config.events import EventRoute
from bot.features.events.delivery_store import FoldRules, RoutedEvent, record_delivery
from bot.features.events.incident import Timing
from bot.features.events.sources.alertmanager import read
from bot.features.events.sources.base import EventRequest
from bot.store import Database
from tests.benchmarks import stage
from tests.benchmarks.asking import Ask, Watch, percentile
from tests.benchmarks.figures import Figure, table
from tests.bot.features.events.samples import alertmanager
from tests.harness.service import ServiceProcess
from tests.harness.store_templates import open_store

TOKEN = "token-of-alerts"
RATE, SECONDS, CHATS = 100, 20, 50
GROUPS, ROUNDS, ALERTS = 20, 10, 1_000
CARDS_WITHIN = 240.0
STORED, REPEATS, TURNS = (100, 100_000), 100, 9
_ACTIVE = re.compile(r"(\d+) active")
_ADD = "INSERT INTO event_deliveries (source, key, at, headers, body) VALUES ('alerts', ?, ?, '{}', ?)"


def configuration(url: str, steady: int, burst: int) -> str:
    """A service with a chat for each part."""
    return (
        stage.configuration(url, f"{stage.SCRIPTED}\ntitle: {{enabled: false}}", 1.0)
        + f"""
events:
  sources: {{alerts: {{type: alertmanager, secrets: {TOKEN}}}}}
  routes:
    - {{match: {{service: burst-*}}, account: telegram, chat: '{burst}'}}
    - {{account: telegram, chat: '{steady}'}}
"""
    )


async def send(http: httpx.AsyncClient, request: EventRequest) -> float:
    """Send a request; the seconds until its answer."""
    headers = {**request.headers, "authorization": f"Bearer {TOKEN}"}
    began = time.perf_counter()
    answer = await http.post("/events/alerts", content=request.body, headers=headers)
    taken = time.perf_counter() - began
    assert answer.status_code == 202, answer.text
    return taken


async def steadily(http: httpx.AsyncClient, watch: Watch) -> list[Figure]:
    """Requests at a steady rate while chats stream."""
    bodies = [
        alertmanager(*(f"a{one} firing {number}" for one in range(5)), group=f"steady-{number % GROUPS}")
        for number in range(RATE * SECONDS)
    ]
    streams = [Ask(9_000 + chat, f"[tokens={SECONDS * 10}] [every=0.1] {chat}") for chat in range(CHATS)]
    await watch.ask(streams)
    await asyncio.sleep(2)
    loop, sent = asyncio.get_running_loop(), []
    began = loop.time()
    for number, body in enumerate(bodies):
        await asyncio.sleep(max(0.0, began + number / RATE - loop.time()))
        sent.append(asyncio.create_task(send(http, body)))
    late = loop.time() - began - SECONDS
    times = [1_000 * taken for taken in await asyncio.gather(*sent)]
    frames = [one for one in await watch.emulator.transcript(0) if one["kind"] in ("post", "edit")]
    shown = sum(one["chat"] in {stream.place for stream in streams} for one in frames)
    title = f"{RATE} requests a second, {CHATS} chats stream"
    detail = f"median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms of {len(times):,}"
    return [
        Figure(f"{title}: p99 of the answer", percentile(times, 0.99), 250.0, "ms", detail),
        Figure("behind the rate", late, 1.0, "s", f"{shown} posts and edits of the streams"),
    ]


async def burst(http: httpx.AsyncClient, watch: Watch, chat: int) -> list[Figure]:
    """A thousand alerts in ten seconds: each group lists all of its alerts so far, ten times."""
    each = ALERTS // GROUPS // ROUNDS
    loop, sent = asyncio.get_running_loop(), []
    before = len(await watch.emulator.transcript(0))
    began, started = loop.time(), time.monotonic()
    for number in range(GROUPS * ROUNDS):
        count = each * (number // GROUPS + 1)
        body = alertmanager(
            *(f"a{one} firing {one}" for one in range(count)), group=f"burst-{number % GROUPS}"
        )
        await asyncio.sleep(max(0.0, began + number / (GROUPS * ROUNDS) * 10.0 - loop.time()))
        sent.append(asyncio.create_task(send(http, body)))
    await asyncio.gather(*sent)
    whole = f"{ALERTS // GROUPS} active"
    deadline = time.monotonic() + CARDS_WITHIN
    cards: list[dict[str, Any]] = []
    while len(cards) < GROUPS or not all(whole in card["text"] for card in cards):
        assert time.monotonic() < deadline, [card["text"] for card in cards]
        await asyncio.sleep(0.5)
        cards = (await watch.emulator.do("view", chat=chat))["messages"]
    taken = time.monotonic() - started
    frames = (await watch.emulator.transcript(0))[before:]
    ours = [frame for frame in frames if frame["chat"] == str(chat) and frame["status"] == 200]
    first = min(frame["at"] for frame in ours if frame["kind"] == "post") - started
    counters = await watch.emulator.do("counters")
    name, calls = f"{ALERTS:,} alerts of {GROUPS} groups in 10 s", f"{len(ours)} posts and edits"
    return [
        Figure(f"{name}: first card", first, 2.0, "s", f"all cards complete after {taken:.1f} s"),
        Figure(f"{name}: cards beside those", len(cards) - GROUPS, 0, ""),
        Figure(f"{name}: cards that went back", count_steps_back(ours), 0, "", calls),
        Figure("429s", counters["limited"], 0, ""),
    ]


def count_steps_back(frames: Sequence[dict[str, Any]]) -> int:
    """How often a card showed fewer active alerts than before."""
    shown: dict[str, int] = {}
    back = 0
    for frame in frames:
        if found := _ACTIVE.search(frame["text"]):
            number = int(found[1])
            back += number < shown.get(frame["message_id"], 0)
            shown[frame["message_id"]] = number
    return back


async def serve(folder: Path) -> list[Figure]:
    """The figures of a running service."""
    async with stage.emulated(1.0) as emulator:
        steady, bursting = [await emulator.do("make_group", title=name) for name in ("steady", "burst")]
        process = ServiceProcess(folder / "home", configuration(emulator.url, steady, bursting))
        process.start()
        try:
            url = (await process.ready(stage.START_SECONDS)).url
            await stage.polled(emulator)
            watch = Watch(emulator)
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60.0) as http:
                await send(http, alertmanager("a firing 10", group="first"))
                figures = await steadily(http, watch)
                await asyncio.sleep(SECONDS / 2)
                return figures + await burst(http, watch, bursting)
        finally:
            process.stop()


async def fill(database: Database, number: int) -> None:
    """Store events up to this number, and for each fiftieth an incident that has ended."""
    body = alertmanager("a firing 10").body.decode()

    def add(connection: Any) -> None:
        known = connection.exec_driver_sql("SELECT COUNT(*) FROM event_deliveries").scalar_one()
        if rows := [(f"stored-{one}", float(one), body) for one in range(known, number)]:
            connection.exec_driver_sql(_ADD, rows)
        columns = [row[1] for row in connection.exec_driver_sql("PRAGMA table_info(incidents)")]
        copied = ", ".join(name for name in columns if name not in ("id", "group_key"))
        connection.exec_driver_sql(
            f"INSERT INTO incidents (group_key, {copied}) SELECT 'stored-' || d.key, {copied} FROM"
            f" (SELECT key FROM event_deliveries WHERE key LIKE 'stored-%' LIMIT {number // 50}) d,"
            " (SELECT * FROM incidents ORDER BY id LIMIT 1) i"
        )

    await database.schema(add)


async def cost(database: Database, since: int) -> float:
    """Milliseconds in which an event is stored: the median."""
    rules = FoldRules({"alerts": Timing(300.0, 0.0)}, storm_limit=10**9)
    route = EventRoute.model_validate({"account": "slack", "chat": "C1"})
    times = []
    for number in range(since, since + REPEATS):
        request = alertmanager(f"a firing {number}", f"b firing {number}", group=f"g{number % 20}")
        events = [RoutedEvent(event.id, [(event, route)]) for event in read(request)]
        began = time.perf_counter()
        await database.transact(
            record_delivery, "alerts", request, events, rules, 1_000.0 + number, has_ids=False
        )
        times.append(1_000 * (time.perf_counter() - began))
    return statistics.median(times)


async def store(folder: Path) -> list[Figure]:
    """The cost of an event among few and among many, measured in turns."""
    folder.mkdir()
    async with AsyncExitStack() as stack:
        stores = []
        for number in STORED:
            (folder / str(number)).mkdir()
            stores.append(await open_store(folder / str(number)))
            stack.push_async_callback(stores[-1].close)
            await cost(stores[-1], 0)
            await fill(stores[-1], number)
        rounds = [
            [await cost(one, 10 * STORED[-1] + number * REPEATS) for one in stores] for number in range(TURNS)
        ]
    few, many = (statistics.median(costs) for costs in zip(*rounds, strict=True))
    detail = f"{many:.2f} ms, {few:.2f} ms among {STORED[0]}"
    name = f"an event among {STORED[1]:,} stored ones, to one among {STORED[0]}"
    return [Figure(name, many / few, 1.25, "x", detail)]


async def main() -> int:
    """Measure and print; 1 where a figure is missed."""
    with tempfile.TemporaryDirectory() as name:
        figures = await store(Path(name) / "store")
        figures = [*await serve(Path(name)), *figures]
    print(table(figures))
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
