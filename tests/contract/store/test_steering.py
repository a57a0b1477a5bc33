"""Messages that join the turn before them, as every database keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import Attachment, AttachmentKind, ChatKind
from bot.store import Database
from bot.store.admission_types import Accepted, Verdict
from bot.store.conversations import load_lane, set_busy_mode
from bot.store.interrupts import open_interrupt, origin_of
from bot.store.read_models import list_turns
from bot.store.steering import load_steerable
from bot.store.turns import Idle, claim_turn, load_turn, save_turn, set_run
from bot.turn import Busy, ChangeNote, Turn, TurnState

from .inbound_messages import ANN, BEN, accept, admission, changed, message

FILE = Attachment(AttachmentKind.IMAGE, "cat.png", "ref-1", 12, "image/png")


async def begun(db: Database, text: str = "first") -> Turn:
    """A turn that runs."""
    [accepted] = await accept(db, admission(message(text)))
    return await claimed(db, accepted.conversation)


async def claimed(db: Database, conversation: int) -> Turn:
    turn = (await db.transact(claim_turn, conversation, 101.0)).turn
    assert turn is not None
    return turn


async def behind(db: Database, turn: Turn, now: float = 102.0) -> list[str]:
    return [one.text for one in (await db.transact(load_steerable, turn, now)).messages]


async def joined(db: Database, turn: Turn, *ids: int) -> None:
    """The turn's final is written down."""
    await db.transact(set_run, turn.id, f"run-{turn.id}", 1)
    await db.transact(save_turn, turn.id, [], 103.0, state=TurnState.DELIVERING, joined=ids)


async def numbers(db: Database, turn: Turn) -> list[int]:
    return [one.id for one in (await db.transact(load_steerable, turn, 102.0)).messages]


async def turns(db: Database, conversation: int) -> list[tuple[TurnState, list[str]]]:
    views = await db.transact(list_turns, conversation)
    return [(view.state, [one.text for one in view.messages]) for view in reversed(views)]


async def test_what_joins_is_part_of_the_turn_and_the_emptied_one_is_done(db: Database) -> None:
    turn = await begun(db)
    await accept(db, admission(message("second")), admission(message("third")))
    assert await behind(db, turn) == ["second", "third"]
    await joined(db, turn, *await numbers(db, turn))
    assert await turns(db, turn.conversation) == [
        (TurnState.DELIVERING, ["first", "second", "third"]),
        (TurnState.DONE, []),
    ]
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    assert await db.transact(claim_turn, turn.conversation, 105.0) == Idle()
    assert (await db.transact(load_lane, turn.conversation)).queued == 0


async def test_what_stays_is_answered_next_and_replied_to(db: Database) -> None:
    turn = await begun(db)
    second, third = message("second"), message("third")
    await accept(db, admission(second), admission(third))
    await joined(db, turn, (await numbers(db, turn))[0])
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    rest = await claimed(db, turn.conversation)
    assert [one.text for one in rest.messages] == ["third"]


async def test_in_a_group_the_reply_answers_a_message_that_is_there(db: Database) -> None:
    first = message("first", kind=ChatKind.GROUP, message_id="m1")
    [accepted] = await accept(db, admission(first))
    turn = await claimed(db, accepted.conversation)
    more = [message(text, kind=ChatKind.GROUP, reply_to="m1", message_id=f"m{text}") for text in ("2", "3")]
    await accept(db, *map(admission, more))
    last = (await numbers(db, turn))[-1]
    await joined(db, turn, last)
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    assert (await claimed(db, turn.conversation)).address.reply_to == "m2"


async def test_joining_twice_changes_nothing(db: Database) -> None:
    turn = await begun(db)
    await accept(db, admission(message("second")))
    found = await numbers(db, turn)
    await joined(db, turn, *found)
    await joined(db, turn, *found, 10**6)
    assert (await turns(db, turn.conversation))[0][1] == ["first", "second"]


async def test_only_messages_of_the_conversation_join(db: Database) -> None:
    turn = await begun(db)
    [other] = await accept(db, admission(message("elsewhere", chat="c2")))
    view = (await db.transact(list_turns, other.conversation))[0]
    await joined(db, turn, view.messages[0].id)
    assert await turns(db, other.conversation) == [(TurnState.ACCEPTED, ["elsewhere"])]


async def test_what_may_not_join_keeps_all_that_follows(db: Database) -> None:
    for hindrance in (
        admission(message("theirs", sender=BEN, chat="a")),
        admission(message("file", attachments=(FILE,), chat="b")),
    ):
        chat = hindrance.message.origin.chat
        [accepted] = await accept(db, admission(message("first", chat=chat)))
        turn = await claimed(db, accepted.conversation)
        await accept(db, admission(message("mine", chat=chat)), hindrance)
        await accept(db, admission(message("mine too", chat=chat)))
        assert await behind(db, turn) == ["mine"]


async def test_what_is_for_another_thread_stays(db: Database) -> None:
    turn = await begun(db)
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    await accept(db, admission(message("afresh")))
    assert await behind(db, turn) == []


async def test_a_part_of_an_album_waits_for_the_others(db: Database) -> None:
    turn = await begun(db)
    await accept(db, admission(message("one"), hold_seconds=5.0), now=102.0)
    early = await db.transact(load_steerable, turn, 103.0)
    assert (early.messages, early.more) == ((), 4.0)
    assert await behind(db, turn, 108.0) == ["one"]


async def test_what_was_deleted_does_not_join_unless_it_was_read(db: Database) -> None:
    turn = await begun(db)
    second = message("second")
    await accept(db, admission(second))
    [number] = await numbers(db, turn)
    await accept(db, changed(second, None))
    assert await behind(db, turn) == []
    await joined(db, turn, number)
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    assert (await turns(db, turn.conversation))[1][0] is TurnState.CANCELLED
    await accept(db, admission(message("next")))
    assert (await claimed(db, turn.conversation)).notes == (ChangeNote(ANN, "", None),)


async def test_an_edit_of_what_was_read_is_told_with_the_next_turn(db: Database) -> None:
    turn = await begun(db)
    second = message("blue")
    await accept(db, admission(second))
    found = await numbers(db, turn)
    await accept(db, changed(second, "red"))
    await joined(db, turn, *found)
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    await accept(db, admission(message("next")))
    assert (await claimed(db, turn.conversation)).notes == (ChangeNote(ANN, "blue", "red"),)


async def test_the_accept_transaction_says_what_steers(db: Database) -> None:
    turn = await begun(db)

    async def taken(busy: Busy) -> Accepted:
        [accepted] = await accept(db, admission(message("more"), busy=busy))
        return accepted

    assert (await taken(Busy.STEER)).steers
    assert not (await taken(Busy.QUEUE)).steers
    await db.transact(set_busy_mode, turn.conversation, "steer")
    assert (await taken(Busy.QUEUE)).steers
    loaded = (await db.transact(load_turn, turn.id)).turn
    assert loaded is not None
    assert loaded.busy == "steer"


async def test_others_join_where_they_may_and_then_count_as_requesters(db: Database) -> None:
    [accepted] = await accept(db, admission(message("first", kind=ChatKind.GROUP, message_id="m1")))
    turn = await claimed(db, accepted.conversation)
    more = message("second", kind=ChatKind.GROUP, reply_to="m1", message_id="m2", sender=BEN)
    await accept(db, admission(more))

    async def found(turn: Turn, allowed: Sequence[str]) -> list[int]:
        steerable = await db.transact(load_steerable, turn, 102.0, lambda sender: sender.key in allowed)
        return [one.id for one in steerable.messages]

    assert await found(turn, []) == []
    assert await found(replace(turn, approved=("bash",)), [BEN.key]) == [], "Ann alone has the approval"
    [second] = await found(turn, [BEN.key])
    await db.transact(open_interrupt, turn, "i1", ["Approve", "Reject"], 103.0, joined=[second])
    askers, _, _ = await db.transact(origin_of, turn.conversation)
    assert [one.key for one in askers] == [ANN.key, BEN.key]
