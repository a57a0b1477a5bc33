"""What people think of an answer is in the audit log, with its turn."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind, InboundRating, Origin, Sender
from bot.store.audit import list_audit_entries
from bot.store.conversations import list_conversations
from bot.store.ratings import MAX_RATINGS
from bot.texts import texts_for
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_chat_record import says

THANKS, UNKNOWN = (texts_for("en")(key) for key in ("rating_thanks", "rating_unknown"))


async def rate(at: Bench, message_id: str, good: bool, event: str = "r1", person: str = "7") -> str:
    origin = Origin("rec", "recording", "group", ChatKind.GROUP, event, Sender(person, "Ann"))
    return await at.adapter.context.inbox.rate(InboundRating(event, origin, message_id, good))


async def ratings(at: Bench) -> list[tuple[str, str, str]]:
    entries = [one for one in await at.db.transact(list_audit_entries) if one.deed.action == "rating"]
    return [(one.person, one.deed.subject, one.deed.detail) for one in reversed(entries)]


async def test_an_answer_is_rated_once_per_press(at: Bench) -> None:
    at.runtime.script = answer_with("done")
    async with at.running():
        await says(at, "go")
        [identity] = at.adapter.shown
        assert await rate(at, identity, True) == THANKS
        assert await rate(at, identity, True) == THANKS
        assert await rate(at, identity, False, "r2", "8") == THANKS
        assert await ratings(at) == [
            ("recording:7", "turn 1", "good"),
            ("recording:8", "turn 1", "bad"),
        ]


@pytest.mark.guard(
    "a rating is stored when it changes, ten times at most",
    "bot/store/ratings.py",
    "return not known or (known[0] != deed.detail and len(known) < MAX_RATINGS)",
    "return True",
    against="a flooded audit log",
)
async def test_a_rating_is_stored_when_it_changes(at: Bench) -> None:
    at.runtime.script = answer_with("done")
    async with at.running():
        await says(at, "go")
        [identity] = at.adapter.shown
        for number, good in enumerate([True, True, False, False, True]):
            assert await rate(at, identity, good, f"r{number}") == THANKS
        assert [detail for _, _, detail in await ratings(at)] == ["good", "bad", "good"]
        for number in range(5, 50):
            assert await rate(at, identity, number % 2 == 0, f"r{number}") == THANKS
        assert len(await ratings(at)) == MAX_RATINGS


async def test_only_answers_are_rated(at: Bench) -> None:
    async with at.running():
        await says(at, "/status")
        [identity] = at.adapter.shown
        assert await rate(at, identity, True) == UNKNOWN
        assert await rate(at, "unknown", True) == UNKNOWN
        assert await ratings(at) == []


async def test_who_has_no_access_rates_nothing(at: Bench) -> None:
    at.runtime.script = answer_with("done")
    async with at.running():
        await says(at, "go")
        [identity] = at.adapter.shown
        assert await rate(at, identity, True, person="30") == ""
        assert await ratings(at) == []


async def test_a_persons_title_is_that_of_their_topic(at: Bench) -> None:
    at.runtime.script = answer_with("done")
    async with at.running():
        await says(at, "go", topic="t1")
        [view] = await at.db.transact(list_conversations, "rec")
        for person, topic in (("30", "t1"), ("7", ""), ("7", "t2")):
            origin = Origin("rec", "recording", "group", ChatKind.GROUP, "m", Sender(person), topic=topic)
            await at.adapter.context.inbox.retitle(origin, "Wrong")
        assert [one.title for one in await at.db.transact(list_conversations, "rec")] == [view.title]
        origin = Origin("rec", "recording", "group", ChatKind.GROUP, "m", Sender("7"), topic="t1")
        await at.adapter.context.inbox.retitle(origin, "The  plan")
        assert [one.title for one in await at.db.transact(list_conversations, "rec")] == ["The plan"]
