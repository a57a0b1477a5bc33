"""What the web console lists, searches and changes, on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from bot.domain import ChatKind, Part, PartKind, PartState, Sender
from bot.features.usage.usage_store import UsageKey, break_down_usage
from bot.store import Database
from bot.store.admission_types import Accepted
from bot.store.audit import Actor, AuditEvent, list_audit_entries, record_event
from bot.store.connection import Accounts
from bot.store.conversations import (
    ConversationView,
    list_conversations,
    load_conversation,
    load_conversations,
    set_title,
)
from bot.store.interrupts import open_interrupt
from bot.store.names import list_known_people, list_places, load_names
from bot.store.open_work import Reach, count_failed, list_open_approvals
from bot.store.ratings import load_ratings, rate_answer
from bot.store.read_models import TurnFilter, TurnGroup, list_turns
from bot.store.retries import MessageEdit, find_editable, find_last_answered, repeat_answer
from bot.store.search import find_titles
from bot.store.traces import load_times, save_trace
from bot.store.turns import PartChange, claim_turn, load_turn, save_turn
from bot.store.usage import TurnUsage
from bot.store.usage_limits import UNLIMITED
from bot.turn import ModelCall, RunTrace, TurnState

from .inbound_messages import BEN, accept, admission, message

ANNS, BENS = "telegram:7", "telegram:8"
ALL, ON_TG, NOWHERE = Reach(None, ()), Reach(frozenset({"tg"}), ()), Reach(frozenset(), ())
keys = itertools.count(1)


def actor(person: str = ANNS, account: str = "tg") -> Actor:
    return Actor(f"k{next(keys)}", person, "Ann", account, "c1")


async def asks(db: Database, text: str, **more: object) -> Accepted:
    [accepted] = await accept(db, admission(message(text, **more)))  # type: ignore[arg-type]
    await db.transact(claim_turn, accepted.conversation, 101.0)
    return accepted


async def answered(
    db: Database, text: str, answer: str = "fine", state: TurnState = TurnState.DONE, **more: object
) -> Accepted:
    """A message with an answer, which cost Ann 10 tokens."""
    accepted = await asks(db, text, **more)
    change = PartChange(Part(0, PartKind.TEXT, answer, PartState.FINAL, "m1"))
    spent = TurnUsage(ANNS, 9, 1, 10)
    await db.transact(save_turn, accepted.turn, [change], 102.0, state=state, spent=spent)
    return accepted


async def view_of(db: Database, accepted: Accepted) -> ConversationView:
    found = await db.transact(load_conversation, accepted.conversation)
    assert found is not None
    return found


async def titled(db: Database, words: str, owners: list[str] | None = None) -> list[int]:
    return [hit.conversation for hit in await db.transact(find_titles, words, owners)]


async def test_titles_are_found_in_any_script(db: Database) -> None:
    one = await answered(db, "季度收入报告 and Revenue")
    other = await answered(db, "nothing", sender=BEN, chat="c2")
    await db.transact(set_title, other.conversation, "The REVENUE, 100%_sure!")
    assert await titled(db, "revenue") == [other.conversation, one.conversation]
    assert await titled(db, "收入") == [one.conversation]
    assert await titled(db, "0%_SURE!") == [other.conversation]
    assert await titled(db, "revenue", [BENS]) == [other.conversation]
    for none in ("0%sure", "_____________________", "Erlöse"):
        assert await titled(db, none) == []
    assert await titled(db, "revenue", []) == []


async def test_turns_by_state_text_person_and_owner(db: Database) -> None:
    bad = await answered(db, "oh NO", state=TurnState.FAILED)
    good = await answered(db, "没问题", "Done", sender=BEN, chat="c2")
    works = await asks(db, "go on", chat="c3", kind=ChatKind.GROUP)

    async def found(**wanted: object) -> list[int]:
        return [one.id for one in await db.transact(list_turns, None, only=TurnFilter(**wanted))]  # type: ignore[arg-type]

    assert await found(group=TurnGroup.FAILED) == [bad.turn]
    assert await found(group=TurnGroup.RUNNING) == [works.turn]
    assert await found(group=TurnGroup.DONE) == [good.turn]
    assert await found(group=TurnGroup.WAITING) == await found(group=TurnGroup.CANCELLED) == []
    assert await found(text="oh no") == [bad.turn]
    assert await found(text="没问") == [good.turn]
    assert await found(text="_") == await found(text="%") == []
    assert await found(since=101.5) == [works.turn, good.turn, bad.turn]
    assert await found(since=102.0) == [works.turn]
    assert await found(text="done") == [good.turn]
    assert await found(person=BENS) == [good.turn]
    assert await found(person=ANNS, account="tg") == [works.turn, good.turn, bad.turn]
    assert await found(owner=BENS, home="tg") == [good.turn]
    assert await found(owner=BENS, home="far", accounts=["tg"]) == [works.turn, good.turn, bad.turn]
    assert await found(owner=BENS, home="far") == []


async def test_open_approvals_within_reach(db: Database) -> None:
    accepted = await asks(db, "pay")
    asking = (await db.transact(load_turn, accepted.turn)).turn  # type: ignore[union-attr]
    await db.transact(open_interrupt, asking, "i1", ["Approve", "Reject"], 5.0)
    part = Part(1, PartKind.TEXT, "May I?", PartState.FINAL, "m1", choices=("Approve", "Reject"))
    await db.transact(save_turn, accepted.turn, [PartChange(part)], 102.0, state=TurnState.DONE)
    for reach in (ALL, ON_TG, Reach(frozenset(), [ANNS])):
        [found] = await db.transact(list_open_approvals, reach)
        assert (found.turn, found.part, found.text, found.at) == (accepted.turn, 1, "May I?", 5.0)
        assert found.choices == ("Approve", "Reject")
        assert [one.name for one in found.approval.askers] == ["Ann"]
    assert await db.transact(list_open_approvals, NOWHERE) == []
    waiting = await db.transact(list_turns, None, only=TurnFilter(group=TurnGroup.WAITING))
    assert [one.id for one in waiting] == [accepted.turn]


async def test_failed_turns_within_reach_are_counted(db: Database) -> None:
    await answered(db, "bad", state=TurnState.FAILED)
    await answered(db, "bad", state=TurnState.FAILED, sender=BEN, chat="c2")
    counts = [
        await db.transact(count_failed, reach, 50.0)
        for reach in (ALL, ON_TG, Reach(frozenset(), [BENS]), Reach(frozenset({"x"}), [ANNS, BENS]), NOWHERE)
    ]
    assert counts == [2, 2, 1, 2, 0]
    assert await db.transact(count_failed, ALL, 102.0) == 0


async def test_a_message_is_replaced_and_its_answer_rated(db: Database) -> None:
    first = await answered(db, "one")
    view, last = await view_of(db, first), await db.transact(find_last_answered, first.conversation)
    assert last is not None
    assert await db.transact(find_editable, view.id) == first.turn

    async def replace(event: str) -> int:
        more = {"checkpoint": "cp", "thread_id": view.thread_id, "model": "m", "limits": UNLIMITED}
        return await db.transact(
            repeat_answer,
            last,
            view,
            **more,
            actor=actor("web:owner"),
            now=103.0,
            edit=MessageEdit(event, "two 二"),
        )

    opened = await replace("e-new")
    assert await replace("e-late") == 0
    assert await db.transact(find_editable, view.id) == 0
    new, old = await db.transact(list_turns, view.id)
    assert (new.id, [one.text for one in new.messages], new.messages[0].event_id) == (
        opened,
        ["two 二"],
        "e-new",
    )
    assert new.messages[0].sender == old.messages[0].sender
    assert (old.id, old.replaced) == (first.turn, True)
    assert await db.transact(count_failed, ALL, 0.0) == 0
    for value in (1, 1, -1, 0):
        await db.transact(rate_answer, first.turn, value, actor(), 104.0)
        assert await db.transact(load_ratings, ANNS, [first.turn, opened]) == {first.turn: value}
    assert await db.transact(load_ratings, BENS, [first.turn]) == {}
    assert await db.transact(load_ratings, ANNS, []) == {}


async def test_a_trace_is_stored_and_used_by_model(db: Database) -> None:
    one = await answered(db, "go")
    calls = (
        ModelCall("big", 1.0, 2.5, total_tokens=7, input_tokens=6, output_tokens=1, cost=0.25),
        ModelCall("small", 2.5, 3.0, "call-1", 2, 1, 3, cost=0.125),
        ModelCall("small", 3.0, 4.0, "call-1", error="Overloaded"),
    )
    trace = RunTrace(1.0, 4.0, calls, (("call-1", 2.5),))
    for _ in range(2):
        await db.transact(save_trace, one.turn, trace)
    times = await db.transact(load_times, one.conversation, one.turn)
    assert times.run == trace
    assert [*times.messages.values()] == [100.0]
    assert times.parts == {0: (102.0, "")}
    assert times.answered_at == 0.0
    [listed] = await db.transact(list_turns, one.conversation)
    assert listed.model == "big"
    for accounts in (None, frozenset({"tg"})):
        for key, expected in EXPECTED_USAGE.items():
            rows = await db.transact(break_down_usage, key, 0.0, 0.0, accounts=accounts)
            assert [(row.key, row.spending.total_tokens) for row in rows] == expected, key
            mine = await db.transact(break_down_usage, key, 0.0, 0.0, ANNS, accounts)
            assert mine == rows
            assert await db.transact(break_down_usage, key, 0.0, 0.0, BENS, accounts) == []
    assert await db.transact(break_down_usage, UsageKey.MODEL, 0.0, 0.0, accounts=frozenset()) == []


EXPECTED_USAGE = {
    UsageKey.MODEL: [("big", 7), ("small", 3)],
    UsageKey.DAY: [("0", 10)],
    UsageKey.PERSON: [(ANNS, 10)],
    UsageKey.ACCOUNT: [("tg", 10)],
    UsageKey.CHAT: [("tg c1", 10)],
}


@pytest.mark.parametrize(
    ("accounts", "people", "places"),
    [
        (None, {ANNS: "tg", BENS: "tg"}, 3),
        (frozenset({"tg"}), {ANNS: "tg", BENS: "tg"}, 3),
        (frozenset({"far"}), {}, 0),
        (frozenset(), {}, 0),
    ],
)
async def test_people_and_places_on_accounts(
    db: Database, accounts: Accounts, people: dict[str, str], places: int
) -> None:
    await answered(db, "one")
    await answered(db, "two", sender=BEN, chat="c2")
    await asks(db, "three", sender=Sender("9", "王小明"), chat="c3", kind=ChatKind.GROUP)
    assert await db.transact(list_known_people, accounts) == people
    assert len(await db.transact(list_places, accounts)) == places
    [own] = await db.transact(list_places, accounts, [BENS])
    assert own.owner_name == "Ben"
    names, _ = await db.transact(load_names, [ANNS, BENS, "telegram:10"])
    assert names == {ANNS: "Ann", BENS: "Ben"}
    assert set(await db.transact(load_conversations, [own.id, 10**9])) == {own.id}
    for account in ("", "tg"):
        listed = await db.transact(list_conversations, account)
        assert [one.owner_name for one in listed] == ["", "Ben", "Ann"]
        assert [one.id for one in await db.transact(list_conversations, account, owners=[BENS])] == [own.id]
    assert await db.transact(list_conversations, "far", owners=[BENS]) == []


async def test_audit_events_on_accounts_and_about_a_person(db: Database) -> None:
    await answered(db, "one", sender=BEN, chat="c2")
    for account, subject in (("tg", "tg:8"), ("tg", BENS), ("far", BENS), ("tg", ANNS)):
        await db.transact(record_event, actor(account=account), AuditEvent("take", subject), 1.0)

    async def subjects(person: str = "", accounts: Accounts = None) -> list[str]:
        found = await db.transact(list_audit_entries, person=person, accounts=accounts)
        return [one.deed.subject for one in found]

    assert await subjects() == [ANNS, BENS, BENS, "tg:8"]
    assert await subjects(BENS) == [BENS, BENS, "tg:8"]
    assert await subjects(BENS, frozenset({"tg"})) == [BENS, "tg:8"]
    assert await subjects(accounts=frozenset({"far"})) == [BENS]
    assert await subjects(accounts=frozenset()) == []
