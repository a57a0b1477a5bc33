"""The bot's exchanges in a chat, as other conversations there are told of them."""

from __future__ import annotations

from bot.domain import ChatKind, Part, PartKind, PartState, Sender, Turn, TurnState
from bot.store import Database
from bot.store.exchanges import list_exchanges
from bot.store.turns import PartChange, load_turn, save_turn
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message

HOUR = 3600.0


async def ask(
    db: Database, text: str, topic: str, *, now: float, chat: str = "g", sender: Sender = ANN
) -> Turn:
    said = message(text, chat=chat, kind=ChatKind.GROUP, topic=topic, sender=sender)
    [taken] = await accept(db, admission(said), now=now)
    stored = await db.run(load_turn, taken.turn)
    assert stored is not None
    return stored.turn


async def answer(db: Database, turn: Turn, text: str, *, now: float) -> None:
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, "p1")
    await db.run(save_turn, turn.id, [PartChange(part)], now, state=TurnState.DONE)


async def test_exchanges_of_other_conversations_come_newest_first(db: Database) -> None:
    for at, (text, sender) in enumerate([("one", ANN), ("two", BEN)]):
        asked = await ask(db, text, f"t{at}", now=100.0 + at, sender=sender)
        await answer(db, asked, f"{text}!", now=101.0 + at)
    elsewhere = await ask(db, "elsewhere", "t9", now=103.0, chat="h")
    await answer(db, elsewhere, "no", now=104.0)
    await ask(db, "still open", "t3", now=105.0)
    new = await ask(db, "new", "t4", now=110.0)
    found = await db.run(list_exchanges, new, HOUR)
    assert [(one.sender, one.text, one.answer, one.topic) for one in found] == [
        (BEN, "two", "two!", "t1"),
        (ANN, "one", "one!", "t0"),
    ]
    assert [one.text for one in await db.run(list_exchanges, new, 9.0)] == ["two"]


async def test_what_is_answered_later_changes_nothing_for_a_repeated_run(db: Database) -> None:
    early = await ask(db, "early", "t1", now=100.0)
    new = await ask(db, "new", "t2", now=101.0)
    await answer(db, early, "late", now=102.0)
    assert await db.run(list_exchanges, new, HOUR) == []


async def test_a_deleted_question_takes_its_answer_along(db: Database) -> None:
    said = message("secret", chat="g", kind=ChatKind.GROUP, topic="t1")
    [taken] = await accept(db, admission(said), now=100.0)
    stored = await db.run(load_turn, taken.turn)
    assert stored is not None
    await answer(db, stored.turn, "answer", now=101.0)
    await accept(db, changed(said, None), now=102.0)
    new = await ask(db, "new", "t2", now=103.0)
    assert await db.run(list_exchanges, new, HOUR) == []
