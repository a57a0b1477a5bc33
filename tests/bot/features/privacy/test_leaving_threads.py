"""Threads that nobody uses any more, and the people who were quoted in them."""

from __future__ import annotations

from bot.features.privacy.leaving_threads import leave_thread
from bot.store import Database
from bot.store.connection import sql
from bot.store.exchanges import (
    add_quoted_people,
    clear_quoted_people,
)
from bot.store.interrupts import abandon_interrupt
from tests.contract.store.inbound_messages import BEN
from tests.contract.store.test_exchanges import answer, ask

QUOTED = sql("SELECT quoted_people FROM conversations")


async def test_people_are_kept_while_a_thread_that_was_told_is_left(db: Database) -> None:
    """The first thread is resumed and used; the second, which nobody uses, is deleted."""
    first = await ask(db, "one", "t1", now=100.0)
    await db.transact(add_quoted_people, first.conversation, ("telegram:9",))
    await answer(db, first, "one!", now=101.0)
    await db.transact(abandon_interrupt, first.conversation, "fresh", None, 102.0)
    moved = await ask(db, "two", "t1", now=103.0, sender=BEN)
    assert (moved.conversation, moved.thread_id) == (first.conversation, "fresh")
    await answer(db, moved, "two!", now=104.0)
    for thread, left in (("fresh", ['["telegram:9"]']), (first.thread_id, [])):
        await db.transact(leave_thread, first.conversation, thread, 105.0)
        await db.transact(clear_quoted_people, first.conversation)
        columns = await db.transact(lambda connection: connection.execute(QUOTED).all())
        assert [row[0] for row in columns if row[0]] == left
