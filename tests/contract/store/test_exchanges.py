"""The bot's exchanges in a chat, as other conversations there are told of them."""

from __future__ import annotations

from pathlib import Path

from bot.domain import ChatKind, Part, PartKind, PartState, Sender
from bot.store import Database
from bot.store.audit import Actor
from bot.store.connection import Connection, Statement
from bot.store.conversations import load_conversation
from bot.store.exchanges import (
    LIST_ANSWERED,
    MAX_CONVERSATIONS,
    MAX_TURNS,
    add_quoted_people,
    list_exchanges,
)
from bot.store.interrupts import abandon_interrupt, open_interrupt
from bot.store.retries import find_last_answered, repeat_answer
from bot.store.turns import Idle, PartChange, Wait, claim_turn, load_turn, save_turn
from bot.store.usage_limits import UNLIMITED
from bot.turn import Turn, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message
from tests.harness.store_templates import open_store

HOUR = 3600.0


async def ask(
    db: Database, text: str, topic: str, *, now: float, chat: str = "g", sender: Sender = ANN
) -> Turn:
    said = message(text, chat=chat, kind=ChatKind.GROUP, topic=topic, sender=sender)
    [taken] = await accept(db, admission(said), now=now)
    stored = await db.transact(load_turn, taken.turn)
    assert stored is not None
    return stored.turn


async def answer(db: Database, turn: Turn, text: str, *, now: float) -> None:
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, "p1")
    await db.transact(save_turn, turn.id, [PartChange(part)], now, state=TurnState.DONE)


async def test_exchanges_of_other_conversations_come_newest_first(db: Database) -> None:
    for at, (text, sender) in enumerate([("one", ANN), ("two", BEN)]):
        asked = await ask(db, text, f"t{at}", now=100.0 + at, sender=sender)
        await answer(db, asked, f"{text}!", now=101.0 + at)
    elsewhere = await ask(db, "elsewhere", "t9", now=103.0, chat="h")
    await answer(db, elsewhere, "no", now=104.0)
    await ask(db, "still open", "t3", now=105.0)
    new = await ask(db, "new", "t4", now=110.0)
    found = await db.transact(list_exchanges, new, HOUR, 3)
    assert [(one.sender, one.text, one.answer, one.people) for one in found] == [
        (BEN, "two", "two!", ()),
        (ANN, "one", "one!", ()),
    ]
    assert [one.text for one in await db.transact(list_exchanges, new, 9.0, 3)] == ["two"]
    assert [one.text for one in await db.transact(list_exchanges, new, HOUR, 1)] == ["two"]


async def test_what_is_answered_later_changes_nothing_for_a_repeated_run(db: Database) -> None:
    early = await ask(db, "early", "t1", now=100.0)
    new = await ask(db, "new", "t2", now=101.0)
    await answer(db, early, "late", now=102.0)
    assert await db.transact(list_exchanges, new, HOUR, 3) == []


async def test_a_deleted_question_takes_its_answer_along(db: Database) -> None:
    said = message("secret", chat="g", kind=ChatKind.GROUP, topic="t1")
    [taken] = await accept(db, admission(said), now=100.0)
    stored = await db.transact(load_turn, taken.turn)
    assert stored is not None
    await answer(db, stored.turn, "answer", now=101.0)
    await accept(db, changed(said, None), now=102.0)
    new = await ask(db, "new", "t2", now=103.0)
    assert await db.transact(list_exchanges, new, HOUR, 3) == []


async def test_an_answer_given_again_belongs_to_the_question(db: Database) -> None:
    asked = await ask(db, "one", "t1", now=100.0)
    await answer(db, asked, "first", now=101.0)
    last = await db.transact(find_last_answered, asked.conversation)
    view = await db.transact(load_conversation, asked.conversation)
    assert last is not None
    assert view is not None
    given = {"checkpoint": "c", "thread_id": asked.thread_id, "model": "", "limits": UNLIMITED, "now": 102.0}
    again = await db.transact(
        repeat_answer, last, view, actor=Actor("k", "telegram:8", "Ben", "tg", "g"), **given
    )
    retried = await db.transact(load_turn, again)
    assert retried is not None
    await answer(db, retried.turn, "second", now=103.0)
    new = await ask(db, "new", "t2", now=104.0)
    [found] = await db.transact(list_exchanges, new, HOUR, 3)
    assert (found.sender, found.text, found.answer) == (ANN, "one", "second")


async def test_people_whose_exchanges_were_told_are_kept_with_the_conversation(db: Database) -> None:
    first = await ask(db, "one", "t1", now=100.0)
    await db.transact(add_quoted_people, first.conversation, ("telegram:8", "telegram:7"))
    await db.transact(add_quoted_people, first.conversation, ("telegram:7", "telegram:9"))
    await answer(db, first, "one!", now=101.0)
    new = await ask(db, "new", "t2", now=102.0)
    [found] = await db.transact(list_exchanges, new, HOUR, 3)
    assert found.people == ("telegram:8", "telegram:9"), "Ann asked herself"


async def claim(db: Database, conversation: int, now: float) -> Turn:
    claimed = await db.transact(claim_turn, conversation, now)
    assert not isinstance(claimed, Idle | Wait)
    assert hasattr(claimed, "turn")
    turn: Turn = claimed.turn
    return turn


async def work(db: Database, turn: Turn, text: str, *, now: float, asks: str = "") -> None:
    """Close the claimed turn with an answer, or with a question that has this id."""
    if asks:
        await db.transact(open_interrupt, turn, asks)
    await answer(db, turn, text, now=now)


async def test_an_answer_that_waited_before_the_question_belongs_to_it(db: Database) -> None:
    before = await ask(db, "thanks", "t1", now=100.0)
    await answer(db, before, "you're welcome", now=101.0)
    asked = await ask(db, "find us a slot", "t1", now=102.0)
    running = await claim(db, asked.conversation, 103.0)
    waiting = await ask(db, "for me and Ben", "t1", now=104.0)
    assert waiting.id != running.id
    await work(db, running, "Which city?", now=105.0, asks="i1")
    answering = await claim(db, asked.conversation, 106.0)
    assert (answering.id, answering.answers) == (waiting.id, "i1")
    await work(db, answering, "Tuesday at nine", now=107.0)
    new = await ask(db, "new", "t2", now=108.0)
    found = await db.transact(list_exchanges, new, HOUR, 3)
    assert [(one.text, one.answer) for one in found] == [
        ("find us a slot", "Tuesday at nine"),
        ("thanks", "you're welcome"),
    ]


async def test_a_question_that_was_left_is_no_answer(db: Database) -> None:
    """Also once the conversation has got another question."""
    first = await ask(db, "book a table", "t1", now=100.0)
    await work(db, await claim(db, first.conversation, 101.0), "For when?", now=102.0, asks="i1")
    await db.transact(abandon_interrupt, first.conversation, "fresh", None, 103.0)
    left = await claim(db, first.conversation, 104.0)
    await db.transact(save_turn, left.id, [], 105.0, state=TurnState.CANCELLED)
    second = await ask(db, "find a film", "t1", now=106.0)
    await work(db, await claim(db, second.conversation, 107.0), "Which one?", now=108.0, asks="i2")
    new = await ask(db, "new", "t2", now=109.0)
    assert await db.transact(list_exchanges, new, HOUR, 3) == []


async def test_no_lookup_reads_every_conversation_of_a_chat(tmp_path: Path) -> None:
    def plan(connection: Connection) -> str:
        explained = Statement(f"EXPLAIN QUERY PLAN {LIST_ANSWERED.text}")
        given = {"account": "tg", "chat": "g", "conversation": 1, "turn": 9, "since": 0.0, "before": 9.0}
        bounds = {"conversations": MAX_CONVERSATIONS, "turns": MAX_TURNS}
        rows = connection.execute(explained, {**given, **bounds}).all()
        return "\n".join(row.detail for row in rows)

    database = await open_store(tmp_path)
    try:
        found = await database.transact(plan)
    finally:
        await database.close()
    assert "INDEX conversations_recent (account=? AND chat=? AND active_at>?)" in found
    assert "turns_of_conversation (conversation_id=? AND id<?)" in found
    assert "SCAN conversations" not in found
    assert "SCAN t" not in found
