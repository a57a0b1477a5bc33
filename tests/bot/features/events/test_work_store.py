"""Turns in which the agent works on incidents: their number, and alerts that wait for a run to read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bot.features.events.card_store import find_outcome, show_card
from bot.features.events.incident import Incident
from bot.features.events.work_store import start_work
from bot.store import Database
from bot.store.steering import join_messages, load_steerable
from bot.store.turns import Begin, claim_turn, save_turn
from bot.turn import OpenedTurn, Turn, TurnState

from .samples import alertmanager
from .test_incident_store import Chat

HOUR = 3_600.0


@dataclass
class Work:
    """A chat in which the agent starts on incidents once an hour."""

    chat: Chat

    async def run(self, statement: str) -> None:
        await self.chat.db.schema(lambda connection: connection.exec_driver_sql(statement))

    async def find(self, group: str) -> Incident:
        return next(one for one in await self.chat.incidents() if group in one.key)

    async def fires(self, now: float, *alerts: str, group: str = "db") -> OpenedTurn | None:
        """Alerts fire; the turn that waits for them once their burst is over."""
        db, platform = self.chat.db, "slack"
        await self.chat.receive(alertmanager(*alerts, group=group), now)
        incident = await self.find(group)
        if not incident.card_turn:
            await db.transact(show_card, incident, "card", (), platform, f"thread-{incident.id}", now)
            await self.run("UPDATE parts SET platform_id = 'm1', state = 'final' WHERE platform_id = ''")
            await self.run("UPDATE turns SET state = 'done' WHERE kind = 'notice'")
            incident = await self.find(group)
        assert incident.work_at == now + 15.0
        return await db.transact(
            start_work, incident, "facts", platform, "", incident.work_at, in_thread=False
        )

    async def begin(self, opened: OpenedTurn | None, now: float) -> Turn:
        assert opened is not None
        claim = await self.chat.db.transact(claim_turn, opened.conversation, now)
        assert isinstance(claim, Begin)
        assert claim.turn.id == opened.turn
        return claim.turn

    async def end(self, turn: Turn, joined: list[int]) -> None:
        await self.chat.db.transact(join_messages, turn.id, joined, 500.0)
        await self.chat.db.transact(save_turn, turn.id, [], 500.0, state=TurnState.DONE)


@pytest.fixture
def work(database: Database) -> Work:
    route: dict[str, Any] = {"work": {"task": "Look.", "per_hour": 1}}
    return Work(Chat(database, route=route))


async def waiting(work: Work, turn: Turn) -> list[int]:
    return [one.id for one in (await work.chat.db.transact(load_steerable, turn, 500.0)).messages]


async def test_alerts_that_a_run_reads_start_no_turn(work: Work) -> None:
    turn = await work.begin(await work.fires(100.0, "a firing 10"), 120.0)
    second = await work.fires(200.0, "a firing 10", "b firing 20")
    third = await work.fires(300.0, "a firing 10", "b firing 20", "c firing 30")
    assert second == third
    assert second is not None
    assert second.turn > turn.id
    found = await waiting(work, turn)
    assert len(found) == 2
    assert await work.fires(310.0, "a firing 10", group="web") is None, "of another incident"
    await work.end(turn, found)
    assert await work.fires(400.0, "a firing 10", "d firing 40") is None, "no run could read it"
    assert await work.fires(200.0 + HOUR, "a firing 10", "d firing 50"), "an hour later"


async def test_at_most_one_turn_beyond_the_limit(work: Work) -> None:
    turn = await work.begin(await work.fires(100.0, "a firing 10"), 120.0)
    second = await work.fires(200.0, "a firing 10", "b firing 20")
    await work.end(turn, [])
    turn = await work.begin(second, 220.0)
    assert await work.fires(300.0, "a firing 10", "c firing 30") is None
    assert await waiting(work, turn) == []


async def test_a_card_that_could_not_be_posted(work: Work) -> None:
    place = ("slack", "C1", "")
    assert await work.chat.db.transact(find_outcome, *place) is None
    await work.fires(100.0, "a firing 10")
    assert await work.chat.db.transact(find_outcome, *place) == "", "it was posted"
    assert await work.chat.db.transact(find_outcome, *place, 101.0) is None, "there is no newer one"
    await work.run("UPDATE parts SET state = 'undelivered', category = 'permission'")
    assert await work.chat.db.transact(find_outcome, *place) == "permission"
