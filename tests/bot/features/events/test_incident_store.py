"""Incidents in the database: what opens and reopens them, what time does, and what is told about them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import sqlalchemy

from bot.config.events import EventRoute
from bot.features.events.alerts import Status
from bot.features.events.incident_store import (
    LASTS,
    REOPENS_WITHIN,
    Incident,
    RoutedEvent,
    Timing,
    list_changes,
    list_chat_incidents,
    list_outdated,
    list_unannounced,
    purge_deliveries,
    record_delivery,
    settle_incidents,
    take_incident,
)
from bot.features.events.receiver import split_event
from bot.features.events.sources.alertmanager import read
from bot.features.events.sources.base import EventRequest
from bot.features.events.tables import TABLES
from bot.store import Database
from bot.store.audit import Actor

from .samples import alertmanager

TIMING = Timing(300.0, 4 * 3600.0)
ADA = Actor("turn:1", "slack:U1", "Ada", "slack", "C1")


@dataclass
class Chat:
    """Incidents of a chat that a source sends events to."""

    db: Database
    group: str = "group"

    async def receive(self, request: EventRequest, now: float) -> bool:
        route = EventRoute.model_validate({"account": "slack", "chat": "C1", "group": self.group})
        events = [
            RoutedEvent(event.id, [(part, route) for part in split_event(event, route)])
            for event in read(request)
        ]
        return await self.db.transact(record_delivery, "alerts", request, events, TIMING, now, has_ids=False)

    async def incidents(self) -> list[Incident]:
        return await self.db.transact(list_chat_incidents, "slack", "C1", 50)

    async def states(self) -> list[str]:
        return [one.status.value for one in await self.incidents()]

    async def history(self, number: int) -> list[str]:
        return [one.status.value for one in await self.db.transact(list_changes, number)]

    async def pass_time(self, now: float) -> float:
        return await self.db.transact(settle_incidents, {"alerts": TIMING}, now)


@pytest.fixture
async def chat(new_database: Database) -> Chat:
    await new_database.schema(lambda connection: TABLES[0].metadata.create_all(connection))
    return Chat(new_database)


FIRES, ENDS = alertmanager("a firing 10"), alertmanager("a resolved 10 60")


async def test_a_problem_opens_one_incident_which_returns_within_a_day(chat: Chat) -> None:
    assert await chat.receive(FIRES, 100.0)
    assert not await chat.receive(FIRES, 101.0), "the ledger has it"
    assert await chat.receive(ENDS, 200.0)
    assert await chat.receive(alertmanager("a firing 500"), 200.0 + REOPENS_WITHIN)
    (incident,) = await chat.incidents()
    assert await chat.history(incident.id) == ["firing", "resolved", "firing"]
    ended = 300.0 + REOPENS_WITHIN
    await chat.receive(alertmanager("a resolved 500 900"), ended)
    await chat.receive(alertmanager("a firing 5000"), ended + REOPENS_WITHIN + 1)
    assert await chat.states() == ["firing", "resolved"], "later, it is another incident"
    await chat.receive(alertmanager("a firing 500"), ended + REOPENS_WITHIN + 2)
    assert await chat.states() == ["firing", "resolved"], "which knows what was reported before"


async def test_an_end_that_arrives_first_opens_nothing(chat: Chat) -> None:
    await chat.receive(ENDS, 100.0)
    assert await chat.incidents() == []
    await chat.receive(FIRES, 101.0)
    assert await chat.incidents() == [], "it may be stale"
    assert await chat.pass_time(101.0 + TIMING.interval) > 0
    assert await chat.states() == ["firing"], "nothing resolved it again"


async def test_what_never_fired_is_forgotten(chat: Chat) -> None:
    await chat.receive(ENDS, 100.0)
    await chat.db.transact(purge_deliveries, 101.0)
    assert await chat.receive(ENDS, 102.0), "the ledger is empty"


async def test_a_source_that_falls_silent(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    due = await chat.pass_time(101.0)
    assert due == 100.0 + TIMING.quiet_after
    assert await chat.pass_time(due) == 0.0
    assert await chat.states() == ["no_news"]
    await chat.receive(FIRES, due + 60)
    assert await chat.states() == ["firing"]


async def test_an_incident_for_each_alert(chat: Chat) -> None:
    chat.group = "alert"
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 100.0)
    await chat.receive(alertmanager("a firing 10", "b resolved 20 60"), 200.0)
    assert sorted(await chat.states()) == ["firing", "resolved"]


async def test_a_state_is_told_once_it_has_lasted(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    (incident,) = await chat.incidents()
    assert await chat.db.transact(list_unannounced, 1e6) == ([], 0.0), "the card tells it"
    shown = "UPDATE incidents SET announced = 'firing', card_turn = 1"
    await chat.db.schema(lambda connection: connection.exec_driver_sql(shown))
    for at in (200.0, 210.0):
        await chat.receive(ENDS, at)
        await chat.receive(alertmanager(f"a firing {at:g}"), at + 5)
        await chat.receive(alertmanager(f"a resolved {at:g} {at + 1:g}"), at + 8)
    found, later = await chat.db.transact(list_unannounced, 218.0 + LASTS - 1)
    assert (found, later) == ([], 218.0 + LASTS)
    found, _ = await chat.db.transact(list_unannounced, later)
    assert [(one.id, one.status) for one in found] == [(incident.id, Status.RESOLVED)]


async def test_what_a_person_decides_holds_until_something_fires_anew(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    (incident,) = await chat.incidents()

    async def take(status: Status | None, now: float) -> bool:
        after = await chat.db.transact(take_incident, incident.id, status, ADA, TIMING, now)
        return after is not None

    assert await take(Status.ACKNOWLEDGED, 110.0)
    assert not await take(Status.ACKNOWLEDGED, 111.0)
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 120.0)
    assert await chat.states() == ["acknowledged"]
    assert await take(Status.RESOLVED, 130.0)
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 140.0)
    assert await chat.states() == ["resolved"], "nothing new"
    assert await take(None, 150.0)
    assert await chat.states() == ["firing"]
    assert await take(Status.RESOLVED, 160.0)
    await chat.receive(alertmanager("a firing 10", "b firing 170"), 180.0)
    assert await chat.states() == ["firing"], "b fires anew"
    await chat.receive(alertmanager("a resolved 10 190", "b resolved 170 190"), 190.0)
    assert (await chat.incidents())[0].taken_as is None
    people = [one.name for one in await chat.db.transact(list_changes, incident.id)]
    assert people == ["", "Ada", "Ada", "Ada", "Ada", "", ""]


STATEMENTS = (
    "SELECT 1 FROM incidents WHERE account = 'a' AND chat = 'c' AND topic = '' AND source = 's'"
    " AND group_key = 'g' ORDER BY id DESC LIMIT 1",
    "SELECT 1 FROM incidents WHERE outdated = 1 ORDER BY id LIMIT 50",
    "SELECT MIN(settle_at) FROM incidents WHERE settle_at > 0",
    "SELECT MIN(announce_at) FROM incidents WHERE announce_at > 0",
    "SELECT 1 FROM event_deliveries WHERE source = 's' AND key = 'k'",
)


async def test_the_hundred_thousandth_event_costs_as_much_as_the_hundredth(chat: Chat) -> None:
    def explain(connection: sqlalchemy.Connection) -> list[str]:
        word = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
        if word == "EXPLAIN":
            # An empty table is scanned whatever indexes it has.
            connection.exec_driver_sql("SET enable_seqscan = off")
        plans = [connection.exec_driver_sql(f"{word} {one}").all() for one in STATEMENTS]
        return [" ".join(str(row[-1]) for row in plan) for plan in plans]

    plans = await chat.db.schema(explain)
    assert [plan for plan in plans if "SEARCH" not in plan and "Index" not in plan] == []
    await chat.receive(FIRES, 100.0)
    assert len(await chat.db.transact(list_outdated)) == 1
