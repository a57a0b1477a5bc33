"""Incidents in the database: what opens and reopens them, what time does, and what is told about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy

from bot.config.events import EventRoute, QuietHours
from bot.features.events.alerts import Status
from bot.features.events.card import format_card, format_news
from bot.features.events.delivery_store import (
    REOPENS_WITHIN,
    STORM_SECONDS,
    FoldRules,
    RoutedEvent,
    purge_deliveries,
    record_delivery,
)
from bot.features.events.incident import Incident, Timing
from bot.features.events.incident_store import (
    LASTS,
    Due,
    decide_incident,
    find_next_due,
    list_changes,
    list_chat_incidents,
    list_due,
    list_outdated,
    merge_incident,
    settle_incidents,
)
from bot.features.events.privacy import IncidentData
from bot.features.events.receiver import split_event, weigh_event
from bot.features.events.sources.alertmanager import read
from bot.features.events.sources.base import EventRequest
from bot.features.events.tables import TABLES
from bot.store import Database
from bot.store.audit import Actor
from bot.store.person_data import PersonKey
from bot.texts import texts_for

from .samples import T0, alert, alertmanager

TIMING = Timing(300.0, 4 * 3600.0)
RULES = FoldRules({"alerts": TIMING}, "Europe/Berlin", 3)
ADA = Actor("turn:1", "slack:U1", "Ada", "slack", "C1")


@dataclass
class Chat:
    """Incidents of a chat that a source sends events to."""

    db: Database
    group: str = "group"
    route: dict[str, Any] = field(default_factory=dict)
    rules: FoldRules = RULES

    async def receive(self, request: EventRequest, now: float) -> bool:
        place = {"account": "slack", "chat": "C1", "group": self.group}
        route = EventRoute.model_validate(place | self.route)
        events = [
            RoutedEvent(event.id, [(part, route) for part in split_event(weigh_event(event, route), route)])
            for event in read(request)
        ]
        return await self.db.transact(
            record_delivery, "alerts", request, events, self.rules, now, has_ids=False
        )

    async def decide(self, number: int, decision: str, now: float) -> bool:
        rules = self.rules.timings
        after = await self.db.transact(decide_incident, number, decision, ADA, rules, now)
        return after is not None

    async def merge(self, number: int, into: int, now: float) -> bool:
        return await self.db.transact(merge_incident, number, into, ADA, self.rules.timings, now)

    async def outdated(self, now: float) -> list[int]:
        return [one.id for one in await self.db.transact(list_outdated, now)]

    async def shown(self) -> None:
        """As if all cards were posted."""
        posted = "UPDATE incidents SET announced = status, card_turn = id + 1000, outdated = 0"
        await self.db.schema(lambda connection: connection.exec_driver_sql(posted))

    async def incidents(self) -> list[Incident]:
        return await self.db.transact(list_chat_incidents, "slack", "C1", 50)

    async def states(self) -> list[str]:
        return [one.status.value for one in await self.incidents()]

    async def history(self, number: int) -> list[str]:
        return [one.kind for one in await self.db.transact(list_changes, number)]

    async def pass_time(self, now: float) -> float:
        """Settle what is due; when the newest incident is due next."""
        await self.db.transact(settle_incidents, {"alerts": TIMING}, now)
        newest = "SELECT settle_at FROM incidents ORDER BY id DESC LIMIT 1"
        return float(await self.db.schema(lambda one: one.exec_driver_sql(newest).scalar_one()))


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


async def test_a_silenced_alert_is_settled_after_an_interval(chat: Chat) -> None:
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 100.0)
    await chat.receive(alertmanager("a firing 10"), 200.0)
    await chat.pass_time(199.0 + TIMING.interval)
    (incident,) = await chat.incidents()
    assert incident.group.count(Status.FIRING) == 2
    assert incident.settle_at == 200.0 + TIMING.interval
    await chat.pass_time(incident.settle_at)
    (incident,) = await chat.incidents()
    assert (incident.group.count(Status.FIRING), incident.group.count(Status.NO_NEWS)) == (1, 1)


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
    assert await chat.db.transact(list_due, Due.ANNOUNCE, 1e6) == [], "the card tells it"
    assert await chat.db.transact(find_next_due) == 0.0, "the card is due"
    shown = "UPDATE incidents SET announced = 'firing', card_turn = 1"
    await chat.db.schema(lambda connection: connection.exec_driver_sql(shown))
    for at in (200.0, 210.0):
        await chat.receive(ENDS, at)
        await chat.receive(alertmanager(f"a firing {at:g}"), at + 5)
        await chat.receive(alertmanager(f"a resolved {at:g} {at + 1:g}"), at + 8)
    await chat.shown()
    later = await chat.db.transact(find_next_due)
    assert later == 218.0 + LASTS
    assert await chat.db.transact(list_due, Due.ANNOUNCE, later - 1) == []
    found = await chat.db.transact(list_due, Due.ANNOUNCE, later)
    assert [(one.id, one.status) for one in found] == [(incident.id, Status.RESOLVED)]


async def test_what_a_person_decides_holds_until_something_fires_anew(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    (incident,) = await chat.incidents()
    assert await chat.decide(incident.id, "ack", 110.0)
    assert not await chat.decide(incident.id, "ack", 111.0)
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 120.0)
    assert await chat.states() == ["acknowledged"]
    assert await chat.decide(incident.id, "resolve", 130.0)
    await chat.receive(alertmanager("a firing 10", "b firing 20"), 140.0)
    assert await chat.states() == ["resolved"], "nothing new"
    assert await chat.decide(incident.id, "reopen", 150.0)
    assert await chat.states() == ["firing"]
    assert await chat.decide(incident.id, "resolve", 160.0)
    await chat.receive(alertmanager("a firing 10", "b firing 170"), 180.0)
    assert await chat.states() == ["firing"], "b fires anew"
    await chat.receive(alertmanager("a resolved 10 190", "b resolved 170 190"), 190.0)
    assert (await chat.incidents())[0].taken_as is None
    for decision in ("ack", "resolve", "reopen"):
        assert not await chat.decide(incident.id, decision, 200.0), "it has ended"
    people = [one.name for one in await chat.db.transact(list_changes, incident.id)]
    assert people == ["", "Ada", "Ada", "Ada", "Ada", "", ""]


async def test_who_works_on_an_incident(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    (incident,) = await chat.incidents()
    assert await chat.decide(incident.id, "assign", 110.0)
    assert not await chat.decide(incident.id, "assign", 111.0)
    (incident,) = await chat.incidents()
    assert (incident.status, incident.assignee_name) == (Status.ACKNOWLEDGED, "Ada")
    await chat.receive(ENDS, 120.0)
    await chat.receive(alertmanager("a firing 500"), 130.0)
    (incident,) = await chat.incidents()
    assert (incident.status, incident.assignee_name) == (Status.FIRING, "Ada"), "still hers"
    assert await chat.history(incident.id) == ["firing", "assigned", "resolved", "firing"]


async def test_a_paused_incident_is_neither_announced_nor_worked_on(chat: Chat) -> None:
    chat.route = {"work": {}}
    await chat.receive(FIRES, 100.0)
    (incident,) = await chat.incidents()
    assert incident.work_at == 115.0
    await chat.shown()
    assert await chat.decide(incident.id, "pause", 101.0)
    await chat.receive(alertmanager("a firing 10", "b firing 102"), 102.0)
    await chat.receive(alertmanager("a resolved 10 60", "b resolved 102 103"), 103.0)
    (incident,) = await chat.incidents()
    assert (incident.work_at, incident.announce_at, incident.status) == (0.0, 0.0, Status.RESOLVED)
    assert await chat.decide(incident.id, "resume", 104.0)
    await chat.receive(alertmanager("a firing 200"), 200.0)
    (incident,) = await chat.incidents()
    assert incident.work_at == 215.0
    assert await chat.history(incident.id) == ["firing", "paused", "resolved", "resumed", "firing"]


async def test_more_incidents_than_the_limit_share_a_card(chat: Chat) -> None:
    for number in range(6):
        await chat.receive(alertmanager("a firing 10", group=f"g{number}"), 100.0 + number)
    found = {one.id: one for one in await chat.incidents()}
    (storm,) = [one for one in found.values() if one.is_storm]
    parts = [one for one in found.values() if one.parent]
    assert {one.parent for one in parts} == {storm.id}
    assert (len(found), len(parts), storm.status) == (7, 3, Status.FIRING)
    assert await chat.outdated(200.0) == [one for one in sorted(found) if not found[one].parent]
    await chat.shown()
    for number in range(6):
        await chat.receive(alertmanager("a resolved 10 200", group=f"g{number}"), 200.0 + number)
    assert set(await chat.states()) == {"resolved"}, "the storm ends with its parts"
    await chat.receive(alertmanager("a firing 300", group="g5"), 300.0)
    states = {one.id: one.status.value for one in await chat.incidents()}
    assert sorted(states.values()).count("firing") == 2
    assert states[storm.id] == "firing", "a part of it is back"
    await chat.receive(alertmanager("a resolved 300 310", group="g5"), 310.0)
    later = 320.0 + STORM_SECONDS
    await chat.receive(alertmanager("a firing 900", group="g7"), later)
    assert (await chat.incidents())[0].parent == 0, "it is quiet again"


async def test_a_storm_that_a_person_resolved_returns_with_new_alerts_only(chat: Chat) -> None:
    for number in range(4):
        await chat.receive(alertmanager("a firing 10", group=f"g{number}"), 100.0 + number)
    (storm,) = [one for one in await chat.incidents() if one.is_storm]
    assert await chat.decide(storm.id, "resolve", 110.0)
    await chat.receive(alertmanager("a firing 10", "b firing 20", group="g3"), 120.0)
    assert {one.id: one for one in await chat.incidents()}[storm.id].is_ended, "its parts are the same"
    await chat.receive(alertmanager("a firing 130", group="g4"), 130.0)
    assert not {one.id: one for one in await chat.incidents()}[storm.id].is_ended


async def test_merged_incidents_end_together(chat: Chat) -> None:
    await chat.receive(alertmanager("a firing 10", group="web"), 100.0)
    await chat.receive(alertmanager("b firing 20", group="db"), 101.0)
    db, web = await chat.incidents()
    await chat.shown()
    assert await chat.merge(web.id, db.id, 110.0)
    assert not await chat.merge(web.id, db.id, 111.0)
    assert not await chat.merge(db.id, web.id, 111.0), "it contains the other"
    assert not await chat.merge(db.id, db.id, 111.0)
    assert sorted(await chat.outdated(112.0)) == sorted([db.id, web.id]), "both cards say so"
    await chat.receive(alertmanager("b resolved 20 120", group="db"), 120.0)
    db, web = await chat.incidents()
    assert (db.status, web.status, web.announce_at) == (Status.FIRING, Status.FIRING, 0.0)
    await chat.receive(alertmanager("a resolved 10 130", group="web"), 130.0)
    assert await chat.states() == ["resolved", "resolved"]
    assert await chat.history(web.id) == ["firing", "merged", "resolved"]
    await chat.receive(alertmanager("c firing 140", group="cache"), 140.0)
    cache = (await chat.incidents())[0]
    assert await chat.merge(web.id, cache.id, 150.0)
    found = {one.id: one for one in await chat.incidents()}
    assert len(found[db.id].group.alerts) == 1, "the earlier one no longer contains it"


async def test_lists_of_the_source_say_nothing_about_a_merged_incident(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    await chat.receive(alertmanager("b firing 20", group="web"), 101.0)
    assert await chat.merge(2, 1, 102.0)
    await chat.receive(FIRES, 103.0)
    await chat.pass_time(104.0 + 2 * TIMING.interval)
    assert [one.group.count(Status.FIRING) for one in await chat.incidents()] == [1, 2]


async def test_incidents_follow_a_chat_that_gets_another_id(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    await chat.db.transact(IncidentData().move_chat, "slack", "C1", "C2")
    assert await chat.incidents() == []
    (moved,) = await chat.db.transact(list_chat_incidents, "slack", "C2", 5)
    assert moved.status is Status.FIRING


async def test_erasure_removes_a_person_from_incidents(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    assert await chat.decide(1, "assign", 110.0)
    await chat.shown()
    await chat.db.transact(IncidentData().erase, PersonKey("slack", "U1"), 120.0)
    (incident,) = await chat.incidents()
    assert (incident.status, incident.assignee, incident.taken_by) == (Status.ACKNOWLEDGED, "", "")
    assert "Ada" not in f"{incident}{await chat.db.transact(list_changes, 1)}"
    assert await chat.outdated(121.0) == [1], "its card no longer says who it is"


async def test_quiet_hours_delay_cards_of_less_severe_incidents(chat: Chat) -> None:
    chat.route = {
        "quiet": {"start": "22:00", "end": "07:00"},
        "severity": {"page": "critical", "critical": "warning"},
    }
    night = datetime(2026, 11, 30, 23, 30, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
    morning = night + 7.5 * 3600
    for number in ("1", "2"):
        await chat.receive(alertmanager("a firing 10", group=number), night)
    loud = alert("c firing 10") | {"labels": {"alertname": "c", "severity": "page"}}
    await chat.receive(alertmanager(loud, group="3"), night)
    urgent, _, quiet = await chat.incidents()
    assert (urgent.show_at, quiet.show_at) == (0.0, morning)
    assert await chat.outdated(night) == [urgent.id]
    await chat.receive(alertmanager("a resolved 10 60", group="2"), night + 60)
    assert await chat.outdated(morning - 1) == [urgent.id]
    assert await chat.outdated(morning) == [quiet.id, urgent.id], "what ended at night has no card"
    await chat.receive(alertmanager("a firing 10", loud, group="1"), night + 120)
    assert await chat.outdated(night + 120) == [quiet.id, urgent.id], "it became urgent"


@pytest.mark.parametrize(
    ("start", "end", "at", "ends"),
    [
        ("22:00", "07:00", "2026-11-30T21:59", ""),
        ("22:00", "07:00", "2026-11-30T22:00", "2026-12-01T07:00"),
        ("22:00", "07:00", "2026-12-01T06:59", "2026-12-01T07:00"),
        ("22:00", "07:00", "2026-12-01T07:00", ""),
        ("12:00", "13:00", "2026-12-01T12:30", "2026-12-01T13:00"),
        ("12:00", "13:00", "2026-12-01T13:00", ""),
        ("22:00", "03:00", "2027-03-27T23:00", "2027-03-28T03:00"),
        (22 * 60, 7 * 60, "2026-11-30T22:00", "2026-12-01T07:00"),
    ],
)
def test_quiet_hours_end(start: object, end: object, at: str, ends: str) -> None:
    hours = QuietHours.model_validate({"start": start, "end": end})
    zone = ZoneInfo("Europe/Berlin")
    wanted = datetime.fromisoformat(ends).replace(tzinfo=zone).timestamp() if ends else 0.0
    now = datetime.fromisoformat(at).replace(tzinfo=zone).timestamp()
    assert hours.end_after(now, "Europe/Berlin") == wanted


STATEMENTS = (
    "SELECT 1 FROM incidents WHERE account = 'a' AND chat = 'c' AND topic = '' AND source = 's'"
    " AND group_key = 'g' ORDER BY id DESC LIMIT 1",
    "SELECT 1 FROM incidents WHERE outdated = 1 ORDER BY id LIMIT 50",
    "SELECT COUNT(*) FROM incidents WHERE account = 'a' AND chat = 'c' AND topic = '' AND opened_at > 5"
    " AND source <> ''",
    "SELECT MIN(settle_at) FROM incidents WHERE settle_at > 0",
    "SELECT MIN(announce_at) FROM incidents WHERE announce_at > 0",
    "SELECT MIN(show_at) FROM incidents WHERE outdated = 1",
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
    assert len(await chat.db.transact(list_outdated, 101.0)) == 1


@pytest.mark.parametrize(("end", "duration"), [(58, "48 s"), (70, "1 min"), (7210, "120 min")])
async def test_the_duration_is_that_of_the_alerts(chat: Chat, end: int, duration: str) -> None:
    start = T0.timestamp()
    await chat.receive(FIRES, start + 40.0)
    await chat.receive(alertmanager(f"a resolved 10 {end}"), start + 9_000.0)
    (incident,) = await chat.incidents()
    told = format_news(incident, texts_for("en"))
    assert told == f"🟢 Incident 1 is resolved.\n`service=db` · duration: {duration}"


async def test_the_duration_until_a_person_ended_it(chat: Chat) -> None:
    await chat.receive(FIRES, 100.0)
    await chat.decide(1, "resolve", 400.0)
    (incident,) = await chat.incidents()
    assert "duration: 5 min" in format_news(incident, texts_for("en"))
    assert "critical · from `alerts`" in format_card(incident, texts_for("en"))


async def test_the_card_of_one_alert_has_its_summary_and_description(chat: Chat) -> None:
    notes = {"summary": "The disk of db-1 is full", "description": "It has 12 MB left."}
    full = alert("DiskFull firing 10", annotations=notes, generatorURL="")
    await chat.receive(alertmanager(full, groupLabels={"alertname": "DiskFull"}, commonLabels={}), 100.0)
    (incident,) = await chat.incidents()
    assert format_card(incident, texts_for("en")).splitlines() == [
        "🔴 **Incident 1** is active: `DiskFull`",
        "critical · from `alerts`",
        "",
        "`The disk of db-1 is full`",
        "`It has 12 MB left.`",
    ]
    repeated = replace(incident, title="db-1: The disk of db-1 is full")
    assert format_card(repeated, texts_for("en")).splitlines()[3:] == ["`It has 12 MB left.`"]
