"""Edits of messages in erasures and in what expires."""

from __future__ import annotations

from dataclasses import replace

from bot.features.privacy.erasures import list_said
from bot.features.privacy.expired_texts import purge_message_history
from bot.store import Database
from bot.store.person_data import PersonKey
from bot.store.turns import save_turn
from bot.turn import TurnState
from tests.contract.store.inbound_messages import ANN, accept, admission, changed, message
from tests.contract.store.test_message_edits import FILE, begun, done


async def test_files_of_a_turn_that_was_stopped_during_their_upload_stay(db: Database) -> None:
    """They were uploaded before there was a run, and an erasure deletes them by their number."""
    said = message("look", attachments=(FILE, replace(FILE, ref="ref-2")))
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await db.transact(save_turn, first.id, [], 102.0, state=TurnState.CANCELLED)
    await accept(db, replace(changed(said, "look here"), attachments=(FILE,)))
    [found] = await db.transact(list_said, PersonKey("telegram", ANN.id), 0, 100)
    assert (found.texts[0], found.files) == ("look here", ("ref-1", "ref-2"))


async def test_old_changes_are_forgotten(db: Database) -> None:
    said = message("blue")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(said, "red", at=50.0))
    await done(db, first)
    await purge_message_history(db, 50.0 + 91 * 24 * 3600.0)
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == ()
