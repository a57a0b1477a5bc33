"""Quotations in an export of what a person wrote."""

from __future__ import annotations

from bot.features.privacy.written_messages import list_written
from bot.store import Database
from bot.store.person_data import PersonKey
from tests.contract.store.inbound_messages import accept, admission
from tests.contract.store.test_quotations import QUOTED, forward


async def test_quotations_are_exported_with_their_message(db: Database) -> None:
    await accept(db, admission(forward("mine")))
    [written] = await db.transact(list_written, PersonKey("telegram", "7"), 0)
    assert (written.text, written.quotations) == ("mine", QUOTED)
