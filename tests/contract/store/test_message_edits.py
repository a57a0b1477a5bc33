"""Edits and deletions by people, as every database keeps them."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import Attachment, AttachmentKind, ChangeNote, ChatKind, Turn, TurnState
from bot.store import BotStore
from bot.store.admission_types import Verdict
from bot.store.message_edits import MOST_NOTES, NEW_SHOWN, OLD_SHOWN

from .inbound_messages import ANN, BEN, accept, admission, changed, message

FILE = Attachment(AttachmentKind.IMAGE, "cat.png", "ref-1", 12, "image/png")


async def begun(store: BotStore, conversation: int) -> Turn:
    turn = (await store.claim(conversation, 101.0)).turn
    assert turn is not None
    return turn


async def done(store: BotStore, turn: Turn, state: TurnState = TurnState.DONE) -> None:
    await store.set_run(turn.id, f"run-{turn.id}", 1)
    await store.save(turn.id, [], 102.0, state=state)


def texts(turn: Turn) -> list[str]:
    return [one.text for one in turn.messages]


async def test_an_edit_before_the_turn_begins_changes_it(store: BotStore) -> None:
    said = message("helo", attachments=(FILE,))
    [accepted] = await accept(store, admission(said))
    assert await accept(store, changed(said, "hello"), cursor="7") == []
    turn = await begun(store, accepted.conversation)
    assert texts(turn) == ["hello"]
    assert turn.messages[0].attachments == (FILE,)
    assert turn.notes == ()
    assert await store.cursor("tg") == "7"
    await done(store, turn)
    await accept(store, admission(message("next")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_message_and_edit_may_come_in_one_batch(store: BotStore) -> None:
    said = message("one")
    [accepted] = await accept(store, admission(said), changed(said, "two"))
    assert texts(await begun(store, accepted.conversation)) == ["two"]


async def test_a_later_edit_is_told_once_with_the_next_turn(store: BotStore) -> None:
    said = message("blue")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    assert await accept(store, changed(said, "red")) == []
    await done(store, first)
    await accept(store, admission(message("and?")))
    second = await begun(store, accepted.conversation)
    assert second.notes == (ChangeNote(ANN, "blue", "red"),)
    again = (await store.load(second.id)).turn
    assert again is not None
    assert again.notes == second.notes
    await done(store, second)
    await accept(store, admission(message("so?")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_a_deletion_before_the_turn_begins_takes_the_message_out(store: BotStore) -> None:
    first, second, third = (
        message(text, kind=ChatKind.GROUP, topic="t", message_id=f"m{text}") for text in "abc"
    )
    [accepted, *_] = await accept(store, admission(first), admission(second), admission(third))
    await accept(store, changed(third, None))
    await accept(store, changed(first, None))
    assert (await store.lane(accepted.conversation)).queued == 1
    turn = await begun(store, accepted.conversation)
    assert [one.text for one in turn.messages if not one.deleted] == ["b"]
    assert turn.address.reply_to == "mb"
    assert turn.notes == ()


async def test_a_turn_left_with_no_message_ends_quietly(store: BotStore) -> None:
    said = message("oops")
    [accepted] = await accept(store, admission(said))
    await accept(store, changed(said, None))
    claim = await store.claim(accepted.conversation, 101.0)
    assert (claim.turn, claim.wait) == (None, 0.0)
    [view] = await store.turns(accepted.conversation)
    assert (view.state, view.error, view.parts) == (TurnState.CANCELLED, "deleted", ())
    assert [(one.text, one.deleted) for one in view.messages] == [("", True)]
    assert await store.open_lanes() == []
    assert await store.last_answered(accepted.conversation) is None
    [after] = await accept(store, admission(message("again")))
    assert texts(await begun(store, after.conversation)) == ["again"]


async def test_a_later_deletion_is_told_without_the_text(store: BotStore) -> None:
    said = message("my secret", attachments=(FILE,))
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(said, "my other secret", at=50.0))
    await accept(store, changed(said, None, at=51.0))
    await done(store, first)
    [view] = await store.turns(accepted.conversation)
    assert [(one.text, one.attachments) for one in view.messages] == [("", ())]
    await accept(store, admission(message("next")))
    assert (await begun(store, accepted.conversation)).notes == (ChangeNote(ANN, "", None),)


async def test_several_edits_of_a_message_are_one_note(store: BotStore) -> None:
    ann, ben = message("a1"), message("b1", sender=BEN)
    [accepted, _] = await accept(store, admission(ann), admission(ben))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(ann, "a2", at=50.0), changed(ben, "b2", at=51.0))
    await accept(store, changed(ann, "a3", at=52.0))
    await done(store, first)
    await accept(store, admission(message("next")))
    notes = (await begun(store, accepted.conversation)).notes
    assert notes == (ChangeNote(BEN, "b1", "b2"), ChangeNote(ANN, "a1", "a3"))


async def test_what_is_told_is_bounded(store: BotStore) -> None:
    many = [message("x" * 5000) for _ in range(MOST_NOTES + 3)]
    [accepted, *_] = await accept(store, *(admission(one) for one in many))
    first = await begun(store, accepted.conversation)
    await accept(store, *(changed(one, "y" * 90_000) for one in many))
    await done(store, first)
    await accept(store, admission(message("next")))
    notes = (await begun(store, accepted.conversation)).notes
    assert len(notes) == MOST_NOTES
    assert all(len(note.before) == OLD_SHOWN for note in notes)
    assert all(note.after is not None and len(note.after) == NEW_SHOWN for note in notes)


async def test_a_change_counts_once(store: BotStore) -> None:
    said = message("one")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(said, "two", event="same"))
    await done(store, first)
    await accept(store, admission(message("next")))
    second = await begun(store, accepted.conversation)
    await accept(store, changed(said, "two", event="same"), cursor="9")
    assert await store.cursor("tg") == "9"
    await done(store, second)
    await accept(store, admission(message("more")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_an_edit_that_changes_nothing_is_none(store: BotStore) -> None:
    said = message("see example.org")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(said, "see example.org"))
    await done(store, first)
    await accept(store, admission(message("next")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_an_older_edit_that_comes_late_is_dropped(store: BotStore) -> None:
    said = message("one")
    [accepted] = await accept(store, admission(said))
    await accept(store, changed(said, "three", at=53.0))
    await accept(store, changed(said, "two", at=52.0))
    assert texts(await begun(store, accepted.conversation)) == ["three"]


async def test_what_was_taken_away_stays_away(store: BotStore) -> None:
    said, other = message("one"), message("other")
    [accepted, _] = await accept(store, admission(said), admission(other))
    await accept(store, changed(said, None, at=52.0))
    await accept(store, changed(said, None, at=53.0))
    await accept(store, changed(said, "back again", at=54.0))
    assert (await store.lane(accepted.conversation)).queued == 1
    turn = await begun(store, accepted.conversation)
    assert [one.text for one in turn.messages if not one.deleted] == ["other"]


async def test_messages_of_other_chats_and_accounts_are_left_alone(store: BotStore) -> None:
    said = message("one", message_id="m1")
    [accepted] = await accept(store, admission(said))
    elsewhere = replace(said, origin=replace(said.origin, chat="c2"))
    await accept(store, changed(elsewhere, "two"))
    theirs = changed(replace(said, origin=replace(said.origin, account="tg2")), None)
    assert await store.accept("tg2", [theirs], "", 100.0, 20) == []
    await accept(store, changed(message("never stored"), "two"))
    assert texts(await begun(store, accepted.conversation)) == ["one"]


async def test_a_command_stays_what_it_was(store: BotStore) -> None:
    said = message("/status")
    [accepted] = await accept(store, admission(said, Verdict.COMMAND))
    await accept(store, changed(said, "/new"))
    await accept(store, changed(said, None))
    turn = (await store.load(accepted.turn)).turn
    assert turn is not None
    assert (turn.state, texts(turn)) == (TurnState.ACCEPTED, ["/status"])


async def test_a_fresh_thread_hears_nothing_of_the_old_one(store: BotStore) -> None:
    said = message("one")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(said, "two"))
    await done(store, first)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    await accept(store, admission(message("fresh")))
    second = await begun(store, accepted.conversation)
    assert (texts(second), second.notes) == (["fresh"], ())
    await done(store, second)
    await accept(store, admission(message("more")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_what_never_reached_the_agent_is_not_told(store: BotStore) -> None:
    said = message("one")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await store.save(first.id, [], 102.0, state=TurnState.EXPIRED)
    await accept(store, changed(said, "two"))
    await accept(store, admission(message("next")))
    assert (await begun(store, accepted.conversation)).notes == ()


async def test_a_retry_asks_what_the_message_says_now(store: BotStore) -> None:
    said = message("blue")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await done(store, first)
    await accept(store, changed(said, "red"))
    [command] = await accept(store, admission(message("/retry"), Verdict.COMMAND))
    answered = await store.last_answered(accepted.conversation)
    turn = (await store.load(command.turn)).turn
    assert answered is not None
    assert turn is not None
    await store.retry(turn, answered, checkpoint="", thread_id=answered.thread_id, text="ok", now=103.0)
    second = await begun(store, accepted.conversation)
    assert (texts(second), second.notes) == (["red"], ())
    again = (await store.load(second.id)).turn
    assert again is not None
    assert again.notes == ()


async def test_old_changes_are_forgotten(store: BotStore) -> None:
    said = message("blue")
    [accepted] = await accept(store, admission(said))
    first = await begun(store, accepted.conversation)
    await accept(store, changed(said, "red", at=50.0))
    await done(store, first)
    await store.forget_known(50.0 + 91 * 24 * 3600.0)
    await accept(store, admission(message("next")))
    assert (await begun(store, accepted.conversation)).notes == ()
