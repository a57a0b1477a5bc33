"""Edits and deletions by people, as every database keeps them."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import Attachment, AttachmentKind, ChatKind, Quotation, QuotationKind
from bot.store import Database
from bot.store.admission_types import Verdict
from bot.store.conversations import load_lane
from bot.store.inbox import accept_batch, load_cursor
from bot.store.message_edits import MOST_NOTES, NEW_SHOWN, OLD_SHOWN
from bot.store.read_models import list_turns
from bot.store.retries import find_last_answered, open_retry
from bot.store.turns import Idle, claim_turn, load_turn, save_turn, set_run
from bot.turn import ChangeNote, Turn, TurnState
from tests.harness.open_turns import list_open_lanes

from .inbound_messages import ANN, BEN, accept, admission, changed, message

FILE = Attachment(AttachmentKind.IMAGE, "cat.png", "ref-1", 12, "image/png")


async def begun(db: Database, conversation: int) -> Turn:
    turn = (await db.transact(claim_turn, conversation, 101.0)).turn
    assert turn is not None
    return turn


async def done(db: Database, turn: Turn, state: TurnState = TurnState.DONE) -> None:
    await db.transact(set_run, turn.id, f"run-{turn.id}", 1)
    await db.transact(save_turn, turn.id, [], 102.0, state=state)


def texts(turn: Turn) -> list[str]:
    return [one.text for one in turn.messages]


async def test_an_edit_before_the_turn_begins_changes_it(db: Database) -> None:
    said = message("helo", attachments=(FILE,))
    [accepted] = await accept(db, admission(said))
    assert await accept(db, changed(said, "hello"), cursor="7") == []
    turn = await begun(db, accepted.conversation)
    assert texts(turn) == ["hello"]
    assert turn.messages[0].attachments == (FILE,)
    assert turn.notes == ()
    assert await db.transact(load_cursor, "tg") == "7"
    await done(db, turn)
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_an_edit_before_the_turn_begins_changes_its_files(db: Database) -> None:
    said = message("look", attachments=(FILE,))
    [accepted] = await accept(db, admission(said))
    other = replace(FILE, filename="dog.png", ref="ref-2")
    await accept(db, replace(changed(said, "look", at=50.0), attachments=(FILE, other)))
    await accept(db, replace(changed(said, "look", at=51.0), attachments=(other,)))
    turn = await begun(db, accepted.conversation)
    assert turn.messages[0].attachments == (other,)
    await done(db, turn)
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_the_files_of_a_message_that_was_read_stay(db: Database) -> None:
    """They were uploaded, and an erasure deletes them by their number."""
    spoken = Quotation(QuotationKind.TRANSCRIPT, "hello", files=(FILE.filename,))
    said = replace(message("look", attachments=(FILE,)), quotations=(spoken,))
    [accepted] = await accept(db, admission(said))
    turn = await begun(db, accepted.conversation)
    await accept(db, replace(changed(said, "look here"), attachments=()))
    await done(db, turn)
    [view] = await db.transact(list_turns, accepted.conversation)
    [read] = view.messages
    assert (read.text, read.attachments, read.quotations) == ("look here", (FILE,), (spoken,))


async def test_message_and_edit_may_come_in_one_batch(db: Database) -> None:
    said = message("one")
    [accepted] = await accept(db, admission(said), changed(said, "two"))
    assert texts(await begun(db, accepted.conversation)) == ["two"]


async def test_a_later_edit_is_told_once_with_the_next_turn(db: Database) -> None:
    said = message("blue")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    assert await accept(db, changed(said, "red")) == []
    await done(db, first)
    await accept(db, admission(message("and?")))
    second = await begun(db, accepted.conversation)
    assert second.notes == (ChangeNote(ANN, "blue", "red"),)
    again = (await db.transact(load_turn, second.id)).turn
    assert again is not None
    assert again.notes == second.notes
    await done(db, second)
    await accept(db, admission(message("so?")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_a_deletion_before_the_turn_begins_takes_the_message_out(db: Database) -> None:
    first, second, third = (
        message(text, kind=ChatKind.GROUP, topic="t", message_id=f"m{text}") for text in "abc"
    )
    [accepted, *_] = await accept(db, admission(first), admission(second), admission(third))
    await accept(db, changed(third, None))
    await accept(db, changed(first, None))
    assert (await db.transact(load_lane, accepted.conversation)).queued == 1
    turn = await begun(db, accepted.conversation)
    assert [one.text for one in turn.messages if not one.deleted] == ["b"]
    assert turn.address.reply_to == "mb"
    assert turn.notes == ()


async def test_a_turn_left_with_no_message_ends_quietly(db: Database) -> None:
    said = message("oops")
    [accepted] = await accept(db, admission(said))
    await accept(db, changed(said, None))
    assert await db.transact(claim_turn, accepted.conversation, 101.0) == Idle()
    [view] = await db.transact(list_turns, accepted.conversation)
    assert (view.state, view.error, view.parts) == (TurnState.CANCELLED, "deleted", ())
    assert [(one.text, one.deleted) for one in view.messages] == [("", True)]
    assert await db.transact(list_open_lanes) == []
    assert await db.transact(find_last_answered, accepted.conversation) is None
    [after] = await accept(db, admission(message("again")))
    assert texts(await begun(db, after.conversation)) == ["again"]


async def test_a_later_deletion_is_told_without_the_text(db: Database) -> None:
    said = message("my secret", attachments=(FILE,))
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(said, "my other secret", at=50.0))
    await accept(db, changed(said, None, at=51.0))
    await done(db, first)
    [view] = await db.transact(list_turns, accepted.conversation)
    assert [(one.text, one.attachments) for one in view.messages] == [("", ())]
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == (ChangeNote(ANN, "", None),)


async def test_several_edits_of_a_message_are_one_note(db: Database) -> None:
    ann, ben = message("a1"), message("b1", sender=BEN)
    [accepted, _] = await accept(db, admission(ann), admission(ben))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(ann, "a2", at=50.0), changed(ben, "b2", at=51.0))
    await accept(db, changed(ann, "a3", at=52.0))
    await done(db, first)
    await accept(db, admission(message("next")))
    notes = (await begun(db, accepted.conversation)).notes
    assert notes == (ChangeNote(BEN, "b1", "b2"), ChangeNote(ANN, "a1", "a3"))


async def test_what_is_told_is_bounded(db: Database) -> None:
    many = [message("x" * 5000) for _ in range(MOST_NOTES + 3)]
    [accepted, *_] = await accept(db, *(admission(one) for one in many))
    first = await begun(db, accepted.conversation)
    await accept(db, *(changed(one, "y" * 90_000) for one in many))
    await done(db, first)
    await accept(db, admission(message("next")))
    notes = (await begun(db, accepted.conversation)).notes
    assert len(notes) == MOST_NOTES
    assert all(len(note.before) == OLD_SHOWN for note in notes)
    assert all(note.after is not None and len(note.after) == NEW_SHOWN for note in notes)


async def test_a_change_counts_once(db: Database) -> None:
    said = message("one")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(said, "two", event="same"))
    await done(db, first)
    await accept(db, admission(message("next")))
    second = await begun(db, accepted.conversation)
    await accept(db, changed(said, "two", event="same"), cursor="9")
    assert await db.transact(load_cursor, "tg") == "9"
    await done(db, second)
    await accept(db, admission(message("more")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_an_edit_that_changes_nothing_is_none(db: Database) -> None:
    said = message("see example.org")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(said, "see example.org"))
    await done(db, first)
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_an_older_edit_that_comes_late_is_dropped(db: Database) -> None:
    said = message("one")
    [accepted] = await accept(db, admission(said))
    await accept(db, changed(said, "three", at=53.0))
    await accept(db, changed(said, "two", at=52.0))
    assert texts(await begun(db, accepted.conversation)) == ["three"]


async def test_what_was_taken_away_stays_away(db: Database) -> None:
    said, other = message("one"), message("other")
    [accepted, _] = await accept(db, admission(said), admission(other))
    await accept(db, changed(said, None, at=52.0))
    await accept(db, changed(said, None, at=53.0))
    await accept(db, changed(said, "back again", at=54.0))
    assert (await db.transact(load_lane, accepted.conversation)).queued == 1
    turn = await begun(db, accepted.conversation)
    assert [one.text for one in turn.messages if not one.deleted] == ["other"]


async def test_messages_of_other_chats_and_accounts_are_left_alone(db: Database) -> None:
    said = message("one", message_id="m1")
    [accepted] = await accept(db, admission(said))
    elsewhere = replace(said, origin=replace(said.origin, chat="c2"))
    await accept(db, changed(elsewhere, "two"))
    theirs = changed(replace(said, origin=replace(said.origin, account="tg2")), None)
    assert await db.transact(accept_batch, "tg2", [theirs], "", 100.0, 20) == []
    await accept(db, changed(message("never stored"), "two"))
    assert texts(await begun(db, accepted.conversation)) == ["one"]


async def test_a_command_stays_what_it_was(db: Database) -> None:
    said = message("/status")
    [accepted] = await accept(db, admission(said, Verdict.COMMAND))
    await accept(db, changed(said, "/new"))
    await accept(db, changed(said, None))
    turn = (await db.transact(load_turn, accepted.turn)).turn
    assert turn is not None
    assert (turn.state, texts(turn)) == (TurnState.ACCEPTED, ["/status"])


async def test_a_fresh_thread_hears_nothing_of_the_old_one(db: Database) -> None:
    said = message("one")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await accept(db, changed(said, "two"))
    await done(db, first)
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    await accept(db, admission(message("fresh")))
    second = await begun(db, accepted.conversation)
    assert (texts(second), second.notes) == (["fresh"], ())
    await done(db, second)
    await accept(db, admission(message("more")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_what_never_reached_the_agent_is_not_told(db: Database) -> None:
    said = message("one")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await db.transact(save_turn, first.id, [], 102.0, state=TurnState.EXPIRED)
    await accept(db, changed(said, "two"))
    await accept(db, admission(message("next")))
    assert (await begun(db, accepted.conversation)).notes == ()


async def test_a_retry_asks_what_the_message_says_now(db: Database) -> None:
    said = message("blue")
    [accepted] = await accept(db, admission(said))
    first = await begun(db, accepted.conversation)
    await done(db, first)
    await accept(db, changed(said, "red"))
    [command] = await accept(db, admission(message("/retry"), Verdict.COMMAND))
    answered = await db.transact(find_last_answered, accepted.conversation)
    turn = (await db.transact(load_turn, command.turn)).turn
    assert answered is not None
    assert turn is not None
    await db.transact(
        open_retry, turn, answered, checkpoint="", thread_id=answered.thread_id, text="ok", now=103.0
    )
    second = await begun(db, accepted.conversation)
    assert (texts(second), second.notes) == (["red"], ())
    again = (await db.transact(load_turn, second.id)).turn
    assert again is not None
    assert again.notes == ()


async def test_a_preview_does_not_keep_an_edit_out(db: Database) -> None:
    said = message("see the link")
    [accepted] = await accept(db, admission(said))
    preview = replace(
        changed(said, "see the link", at=60.0), quotations=(Quotation(QuotationKind.PREVIEW, "A"),)
    )
    await accept(db, preview, changed(said, "see the other link", at=55.0))
    turn = await begun(db, accepted.conversation)
    assert texts(turn) == ["see the other link"]
    assert turn.messages[0].quotations == preview.quotations
