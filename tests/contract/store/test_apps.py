"""Messages of apps in the store: a turn of their own within a limit, and no part in what people decide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain import ChatKind, InboundMessage, Isolation, IsolationPolicy, Quotation, QuotationKind, Sender
from bot.features.usage.budget_checks import BudgetScope, BudgetUnit, SenderLimits, UsageLimit
from bot.store import Database
from bot.store.admission_types import Accepted, AddressedEdit, Admission, AppLimited
from bot.store.app_budget import AppBudget
from bot.store.audit import list_audit_entries
from bot.store.chat_migration import migrate_chat
from bot.store.connection import Connection, Statement, decode_sender, encode_sender
from bot.store.inbox import accept_batch
from bot.store.interrupts import open_interrupt
from bot.store.message_edits import edited_event_id
from bot.store.person_data import PersonKey
from bot.store.steering import load_steerable
from bot.store.turns import (
    OVERDUE_QUESTIONS,
    QUESTION_PATIENCE,
    Begin,
    Idle,
    Wait,
    claim_turn,
    list_overdue_questions,
    load_turn,
    save_turn,
)
from bot.turn import Stopped, TurnKind, TurnState
from tests.harness.store_templates import open_store

from .inbound_messages import ANN, QUEUE, RECORDER, accept, admission, changed, message
from .test_approvals import ASKED, asking, stands

APP = Sender("7", "Ann", "ann", is_bot=True)
"""An app with the id and the names of a person."""
BUDGET = AppBudget(2, 600.0)
WHOLE = IsolationPolicy(Isolation.CHAT)
FORWARDED = (Quotation(QuotationKind.FORWARD, "look at this"),)


def by_app(text: str = "disk is full", **more: Any) -> Admission:
    more = {"sender": APP, "kind": ChatKind.GROUP, **more}
    return admission(message(text, **more), policy=WHOLE, app_budget=BUDGET)


def by_ann(text: str = "hello", **more: Any) -> Admission:
    return admission(message(text, kind=ChatKind.GROUP, **more), policy=WHOLE, app_budget=BUDGET)


async def taken(db: Database, *admitted: Any, now: float = 100.0) -> list[Any]:
    return list(await db.transact(accept_batch, "tg", admitted, "", now, QUEUE, RECORDER))


@pytest.mark.parametrize("sender", [APP, replace(APP, belongs=("team:T1",), guest=True)])
def test_an_app_comes_back_as_one(sender: Sender) -> None:
    assert decode_sender(encode_sender(sender)) == sender
    assert PersonKey("telegram", "7").is_written_by(sender) is False
    assert PersonKey("telegram", "app:7").is_written_by(sender) is True


@pytest.mark.parametrize("text", ["Approve", "approve", "reject", "why?", "no, thanks"])
async def test_an_app_decides_nothing(db: Database, text: str) -> None:
    """Neither the app that asked for the work, nor one with the id of who did."""
    asked = await asking(db, ChatKind.GROUP)
    of = message(text, kind=ChatKind.GROUP, reply_to=ASKED, sender=APP)
    [waiting] = await accept(db, replace(admission(of), app_budget=BUDGET, is_admin=True))
    assert (waiting.conversation, waiting.kind) == (asked.conversation, TurnKind.CHAT)
    assert isinstance(await db.transact(claim_turn, asked.conversation, 103.0), Idle)
    own = message("Approve", kind=ChatKind.GROUP, reply_to=ASKED, sender=ANN)
    [decided] = await accept(db, admission(own))
    begun = await db.transact(claim_turn, asked.conversation, 104.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (decided.turn, "i1")


@pytest.mark.guard(
    "who asked is an app or a person of that id",
    "bot/store/interrupts.py",
    "else sender.key\n        return not {sender.key, known}",
    "else sender.id\n        return not {f'app:{sender.id}'}",
    against="orders of apps",
)
async def test_a_person_does_not_decide_as_an_app_with_the_same_id(db: Database) -> None:
    [accepted] = await accept(db, by_app("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    await stands(db, begun.turn, ChatKind.GROUP)
    mine = admission(message("Approve", kind=ChatKind.GROUP, reply_to=ASKED, sender=ANN), policy=WHOLE)
    [waiting, *_] = await accept(db, mine)
    loaded = await db.transact(load_turn, waiting.turn)
    assert loaded is not None
    assert loaded.turn.answers == ""


@pytest.mark.guard(
    "an app joins no run",
    "bot/store/steering.py",
    "not is_app and ",
    "",
    against="orders of apps",
)
async def test_an_app_joins_no_run_not_even_its_own(db: Database) -> None:
    [accepted] = await accept(db, by_app("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    await accept(db, by_app("more"))
    assert (await db.transact(load_steerable, begun.turn, 102.0)).messages == ()


async def test_alerts_join_only_the_run_that_earlier_ones_started(db: Database) -> None:
    [accepted] = await accept(db, by_app("go", event="incident:1:5.0"))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    await accept(db, by_app("more", event="incident:1:65.0"), by_ann("and I"))
    found = await db.transact(load_steerable, begun.turn, 102.0)
    assert [one.text for one in found.messages] == ["more"]
    theirs = replace(begun.turn, messages=(replace(begun.turn.messages[0], event_id="e1", sender=ANN),))
    assert (await db.transact(load_steerable, theirs, 102.0, lambda _: True)).messages == ()


async def test_a_member_and_an_app_of_that_id_have_conversations_of_their_own(db: Database) -> None:
    policy = IsolationPolicy(Isolation.MEMBER)
    [mine, its] = await accept(db, replace(by_ann(), policy=policy), replace(by_app(), policy=policy))
    assert mine.conversation != its.conversation


@pytest.mark.guard(
    "the limit of apps is logged once in a period",
    "bot/store/app_budget.py",
    "WHERE notices.told_at <= :before RETURNING told_at",
    "RETURNING told_at",
    against="orders of apps",
)
async def test_the_limit_is_logged_once_in_a_period(db: Database) -> None:
    first = await taken(db, *[by_app() for _ in range(4)])
    assert [type(one) for one in first] == [Accepted, Accepted, AppLimited]
    assert await taken(db, by_app(), now=300.0) == []
    again = await taken(db, *[by_app() for _ in range(4)], now=701.0)
    assert [type(one) for one in again] == [Accepted, Accepted, AppLimited]
    assert [one.deed.action for one in await db.transact(list_audit_entries)] == ["app limit"] * 2


async def test_each_limit_is_reported_by_its_name(db: Database) -> None:
    spent = UsageLimit(BudgetScope.CHAT, BudgetUnit.MESSAGES, 0, "telegram:app:7", "tg", "c1", "later")
    assert [one.limit for one in await taken(db, replace(by_app(), budgets=SenderLimits((spent,))))] == [
        "usage"
    ]
    full = await db.transact(accept_batch, "tg", [by_app()], "", 100.0, 0)
    assert [one.limit for one in full if isinstance(one, AppLimited)] == ["queue"]


async def ask_app(db: Database) -> int:
    """The agent asks a question in the turn of an app; return the conversation."""
    [accepted] = await accept(db, by_app("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    await db.transact(open_interrupt, begun.turn, "i1")
    await db.transact(save_turn, begun.turn.id, [], 102.0, state=TurnState.DONE)
    return accepted.conversation


async def test_the_next_alert_gives_up_the_question_to_an_app(db: Database) -> None:
    here = await ask_app(db)
    [later] = await accept(db, by_app("disk is full"))
    gives_up = await db.transact(claim_turn, here, 103.0)
    assert isinstance(gives_up, Begin)
    assert (gives_up.turn.stopped, gives_up.turn.messages) == (Stopped.LEFT, ())
    await db.transact(save_turn, gives_up.turn.id, [], 103.0, state=TurnState.CANCELLED)
    begun = await db.transact(claim_turn, here, 104.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (later.turn, "")


async def test_a_person_answers_the_question_to_an_app(db: Database) -> None:
    here = await ask_app(db)
    [_, answer] = await accept(db, by_app("disk is full"), by_ann("the first"))
    begun = await db.transact(claim_turn, here, 103.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (answer.turn, "i1")


async def ask_ann(db: Database, at: float = 100.0, **more: Any) -> int:
    """The agent asks a person a question; return the conversation."""
    [accepted] = await accept(db, by_ann("go", **more))
    begun = await db.transact(claim_turn, accepted.conversation, at)
    assert isinstance(begun, Begin)
    await db.transact(open_interrupt, begun.turn, "i1", None, at)
    await db.transact(save_turn, begun.turn.id, [], at, state=TurnState.DONE)
    return accepted.conversation


async def test_an_alert_gives_up_a_persons_question_after_some_time(db: Database) -> None:
    here = await ask_ann(db)
    [later] = await accept(db, by_app("disk is full"))
    due = 100.0 + QUESTION_PATIENCE
    assert await db.transact(list_overdue_questions, due - 1.0) == []
    assert await db.transact(claim_turn, here, due - 1.0) == Idle()
    assert await db.transact(list_overdue_questions, due) == [here]
    gives_up = await db.transact(claim_turn, here, due)
    assert isinstance(gives_up, Begin)
    assert (gives_up.turn.stopped, gives_up.turn.messages) == (Stopped.LEFT, ())
    assert await db.transact(list_overdue_questions, due) == []
    await db.transact(save_turn, gives_up.turn.id, [], due, state=TurnState.CANCELLED)
    begun = await db.transact(claim_turn, here, due)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (later.turn, "")


async def test_people_have_time_to_answer_from_the_delivery_on(db: Database) -> None:
    [accepted] = await accept(db, by_ann("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 100.0)
    assert isinstance(begun, Begin)
    await db.transact(open_interrupt, begun.turn, "i1", None, 100.0)
    await db.transact(save_turn, begun.turn.id, [], 400.0, state=TurnState.DONE)
    await accept(db, by_app("disk is full"))
    due = 400.0 + QUESTION_PATIENCE
    assert await db.transact(claim_turn, accepted.conversation, due - 1.0) == Idle()
    gives_up = await db.transact(claim_turn, accepted.conversation, due)
    assert isinstance(gives_up, Begin) and gives_up.turn.stopped is Stopped.LEFT


async def test_people_have_time_to_answer_once_the_account_is_connected(db: Database) -> None:
    here = await ask_ann(db)
    await accept(db, by_app("disk is full"))
    due = 5000.0 + QUESTION_PATIENCE
    assert await db.transact(claim_turn, here, due, lambda _account: None) == Idle(), "nothing can arrive"
    connected = {"tg": 5000.0}.get
    assert await db.transact(claim_turn, here, due - 1.0, connected) == Idle()
    gives_up = await db.transact(claim_turn, here, due, connected)
    assert isinstance(gives_up, Begin) and gives_up.turn.stopped is Stopped.LEFT


async def test_an_alert_behind_what_a_person_forwarded_gives_up_a_question_too(db: Database) -> None:
    here = await ask_ann(db)
    forwarded = admission(
        replace(message("", kind=ChatKind.GROUP), quotations=FORWARDED), policy=WHOLE, app_budget=BUDGET
    )
    due = 100.0 + QUESTION_PATIENCE
    [only, *_] = await accept(db, forwarded)
    assert await db.transact(list_overdue_questions, due) == []
    assert await db.transact(claim_turn, here, due) == Idle(), "a person's own words are waited for"
    await accept(db, by_app("disk is full"))
    assert await db.transact(list_overdue_questions, due) == [here]
    gives_up = await db.transact(claim_turn, here, due)
    assert isinstance(gives_up, Begin) and gives_up.turn.stopped is Stopped.LEFT
    await db.transact(save_turn, gives_up.turn.id, [], due, state=TurnState.CANCELLED)
    begun = await db.transact(claim_turn, here, due)
    assert isinstance(begun, Begin) and begun.turn.id == only.turn


async def test_a_late_answer_comes_before_an_alert(db: Database) -> None:
    here = await ask_ann(db)
    [_, answer] = await accept(db, by_app("disk is full"), by_ann("blue"))
    begun = await db.transact(claim_turn, here, 100.0 + QUESTION_PATIENCE)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (answer.turn, "i1")


async def test_no_alert_gives_up_an_approval(db: Database) -> None:
    [accepted] = await accept(db, by_ann("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 100.0)
    assert isinstance(begun, Begin)
    await db.transact(open_interrupt, begun.turn, "i1", ["approve", "reject"], 100.0)
    await db.transact(save_turn, begun.turn.id, [], 100.0, state=TurnState.DONE)
    await accept(db, by_app("disk is full"))
    due = 100.0 + QUESTION_PATIENCE
    assert await db.transact(list_overdue_questions, due) == []
    assert await db.transact(claim_turn, accepted.conversation, due) == Idle()


GROUP_ITSELF = Sender("c1", "Operations (Duty officer)")
"""Somebody in the name of the group, such as an anonymous admin on Telegram."""


async def test_the_group_itself_answers_nothing_that_a_person_was_asked(db: Database) -> None:
    here = await ask_ann(db)
    anonymous = await accept(db, by_ann("red", sender=GROUP_ITSELF))
    assert [one.kind for one in anonymous] == [TurnKind.CHAT, TurnKind.NOTICE], "it is told that it waits"
    assert len(await accept(db, by_ann("red!", sender=GROUP_ITSELF))) == 1, "once a day"
    assert await db.transact(claim_turn, here, 101.0) == Idle()
    await accept(db, by_ann("blue"))
    await accept(db, by_ann("green", sender=GROUP_ITSELF))
    begun = await db.transact(claim_turn, here, 101.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.answers, [one.text for one in begun.turn.messages]) == ("i1", ["blue"])


async def test_the_group_itself_shares_a_turn_with_nobody(db: Database) -> None:
    """The question may come once both wait for the agent."""
    [accepted] = await accept(db, by_ann("go"))
    asking = await db.transact(claim_turn, accepted.conversation, 100.0)
    assert isinstance(asking, Begin)
    wrote = [("blue", ANN), ("red", GROUP_ITSELF), ("red!", GROUP_ITSELF), ("thanks", ANN)]
    waiting = await accept(db, *(by_ann(text, sender=sender) for text, sender in wrote))
    turns = [one.turn for one in waiting]
    assert turns[1] == turns[2], "the group's own messages are read together"
    await db.transact(open_interrupt, asking.turn, "i1", None, 101.0)
    found = []
    for turn in (asking.turn.id, turns[0], turns[1]):
        await db.transact(save_turn, turn, [], 102.0, state=TurnState.DONE)
        begun = await db.transact(claim_turn, accepted.conversation, 103.0)
        assert isinstance(begun, Begin)
        found.append((begun.turn.answers, [one.text for one in begun.turn.messages]))
    assert found == [("i1", ["blue"]), ("", ["red", "red!"]), ("", ["thanks"])]


async def test_the_group_itself_waits_for_a_while(db: Database) -> None:
    here = await ask_ann(db)
    [waiting, *_] = await accept(db, by_ann("status?", sender=GROUP_ITSELF))
    due = 100.0 + QUESTION_PATIENCE
    assert await db.transact(list_overdue_questions, due) == [here]
    gives_up = await db.transact(claim_turn, here, due)
    assert isinstance(gives_up, Begin) and gives_up.turn.stopped is Stopped.LEFT
    await db.transact(save_turn, gives_up.turn.id, [], due, state=TurnState.CANCELLED)
    begun = await db.transact(claim_turn, here, due)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (waiting.turn, "")


async def test_the_group_itself_answers_what_it_was_asked(db: Database) -> None:
    here = await ask_ann(db, sender=GROUP_ITSELF)
    [answer] = await accept(db, by_ann("red", sender=GROUP_ITSELF))
    begun = await db.transact(claim_turn, here, 101.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (answer.turn, "i1")


async def test_an_answer_on_hold_is_waited_for(db: Database) -> None:
    here = await ask_app(db)
    [_, answer] = await accept(db, by_app("disk is full"), replace(by_ann("these"), hold_seconds=5.0))
    assert await db.transact(claim_turn, here, 103.0) == Wait(2.0)
    begun = await db.transact(claim_turn, here, 105.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (answer.turn, "i1")


async def test_a_redelivered_message_of_an_app_counts_once(db: Database) -> None:
    once = by_app()
    assert len(await taken(db, once, once, once, by_app())) == 2


async def test_the_count_follows_a_group_to_its_new_id(db: Database) -> None:
    await taken(db, *[by_app(chat="-1") for _ in range(2)])
    await db.transact(migrate_chat, "tg", "-1", "-100")
    assert [type(one) for one in await taken(db, by_app(chat="-100"))] == [AppLimited]


async def test_a_person_restarts_the_count_of_their_chat(db: Database) -> None:
    await taken(db, *[by_app() for _ in range(2)], *[by_app(chat="c2") for _ in range(2)])
    await taken(db, by_ann())
    assert [type(one) for one in await taken(db, by_app(), by_app(chat="c2"))] == [Accepted, AppLimited]


def edited(of: InboundMessage, text: str = "hello") -> AddressedEdit:
    message = replace(of, event_id=edited_event_id(of.origin), text=text)
    return AddressedEdit(changed(of, text), admission(message))


async def test_an_edit_is_answered_once(db: Database) -> None:
    of = message("@bot hello", kind=ChatKind.GROUP)
    first, second = edited(of), edited(of, "hello there")
    assert len(await accept(db, first)) == 1
    assert await accept(db, first, second, changed(of, None), edited(of), admission(of)) == []


async def test_an_edit_of_another_chats_message_is_another_message(db: Database) -> None:
    of = message("hello", kind=ChatKind.GROUP, message_id="5")
    other = message("hello", kind=ChatKind.GROUP, message_id="5", chat="c2")
    assert len(await accept(db, admission(of), edited(other))) == 2


async def test_overdue_questions_are_found_without_reading_every_turn(tmp_path: Path) -> None:
    def plan(connection: Connection) -> str:
        explained = Statement(f"EXPLAIN QUERY PLAN {OVERDUE_QUESTIONS.text}")
        return "\n".join(row.detail for row in connection.execute(explained, {"before": 0.0}).all())

    database = await open_store(tmp_path)
    try:
        found = await database.transact(plan)
    finally:
        await database.close()
    assert "SCAN t USING INDEX turns_open" in found
