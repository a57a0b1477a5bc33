"""Questions of the agent that stay open until somebody answers, as every database keeps them."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind, InboundMessage, Part, PartKind, PartState
from bot.store import Database
from bot.store.admission_types import Admission, Refusal, Verdict
from bot.store.audit import list_audit_entries
from bot.store.conversations import list_conversations, load_lane
from bot.store.inbox import accept_batch, load_cursor
from bot.store.interrupts import open_interrupt
from bot.store.read_models import list_turns
from bot.store.retries import find_last_answered, open_retry
from bot.store.turns import Idle, PartChange, claim_turn, load_turn, save_turn, set_run, stop_turn
from bot.turn import Stopped, Turn, TurnKind, TurnState

from .inbound_messages import BEN, QUEUE, accept, admission, message, refused

ASKED = "b1"


async def asking(db: Database, *, posted: str = ASKED, kind: ChatKind = ChatKind.PRIVATE) -> Turn:
    """A turn whose run stopped with a question, which stands in the chat."""
    [accepted] = await accept(db, admission(message("go", kind=kind)))
    turn = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert turn is not None
    await db.transact(set_run, turn.id, "run-1", 1)
    await db.transact(open_interrupt, turn, "i1")
    state = PartState.FINAL if posted else PartState.INTENDED
    part = Part(0, PartKind.TEXT, "Which?", state, posted, choices=("red", "blue"))
    seen = (turn.address, turn.conversation, [posted]) if posted and kind is ChatKind.GROUP else None
    await db.transact(save_turn, turn.id, [PartChange(part)], 102.0, state=TurnState.DONE, seen=seen)
    return turn


async def told(db: Database, one: Admission) -> str:
    """What who clicked in vain is told."""
    [found] = await refused(db, one)
    assert found.event_id == one.message.event_id
    return found.text


def click(text: str = "red", on: str = ASKED, **more: object) -> InboundMessage:
    return message(text, message_id=on, reply_to=on, clicked=True, **more)  # type: ignore[arg-type]


async def test_a_click_answers_the_open_question(db: Database) -> None:
    asked = await asking(db)
    [answer] = await accept(db, admission(click()))
    assert (answer.kind, answer.refused, answer.conversation) == (TurnKind.CHAT, False, asked.conversation)
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, turn.thread_id) == ("i1", asked.thread_id)
    assert [one.text for one in turn.messages] == ["red"]
    again = (await db.transact(load_turn, turn.id)).turn
    assert again is not None
    assert again.answers == "i1"


async def test_what_is_written_next_answers_it_too(db: Database) -> None:
    asked = await asking(db)
    await accept(db, admission(message("the green one")))
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert turn.answers == "i1"
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    await accept(db, admission(message("thanks")))
    after = (await db.transact(claim_turn, asked.conversation, 105.0)).turn
    assert after is not None
    assert after.answers == ""


async def test_a_second_click_is_told_that_it_is_stale(db: Database) -> None:
    asked = await asking(db)
    first, second = admission(click()), admission(click("blue", sender=BEN))
    taken = await db.transact(accept_batch, "tg", [first, second], "7", 100.0, QUEUE)
    assert taken[1:] == [Refusal(second.message.event_id, "stale")]
    assert await db.transact(load_cursor, "tg") == "7"
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert [one.text for one in turn.messages] == ["red"]
    assert len(await db.transact(list_turns, asked.conversation)) == 2


async def test_the_click_that_counted_may_come_again(db: Database) -> None:
    await asking(db)
    first, second = admission(click()), admission(click("blue"))
    for _ in range(3):
        assert await refused(db, first) == []
        assert await told(db, second) == "stale"


@pytest.mark.parametrize("on", ["b0", "b2"])
async def test_the_buttons_of_another_message_do_nothing(db: Database, on: str) -> None:
    await asking(db)
    assert await told(db, admission(click(on=on))) == "stale"
    [taken] = await accept(db, admission(click()))
    assert not taken.refused


@pytest.mark.parametrize("kind", list(ChatKind))
async def test_a_click_without_any_question_is_stale(db: Database, kind: ChatKind) -> None:
    assert await told(db, admission(click(kind=kind))) == "stale"
    assert await db.transact(list_conversations, "tg") == []


async def test_a_click_that_finds_the_queue_full_is_told_so(db: Database) -> None:
    asked = await asking(db)
    for number in range(QUEUE):
        await accept(db, admission(message(f"m{number}")))
    assert await told(db, admission(click())) == "full"
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, len(turn.messages)) == ("i1", QUEUE)


async def test_a_click_may_come_before_the_receipt_of_the_post(db: Database) -> None:
    await asking(db, posted="")
    [taken] = await accept(db, admission(click()))
    assert not taken.refused


async def test_an_older_question_is_not_taken_for_one_that_is_on_its_way(db: Database) -> None:
    asked = await asking(db)
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    left = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert left is not None
    await db.transact(save_turn, left.id, [], 103.0, state=TurnState.CANCELLED)
    await asking(db, posted="")
    assert await told(db, admission(click())) == "stale"
    [taken] = await accept(db, admission(click(on="b2")))
    assert not taken.refused


async def test_in_a_group_it_finds_its_conversation(db: Database) -> None:
    asked = await asking(db, kind=ChatKind.GROUP)
    [taken] = await accept(db, admission(click(kind=ChatKind.GROUP, sender=BEN)))
    assert (taken.refused, taken.conversation) == (False, asked.conversation)
    assert taken.address.reply_to == ASKED


async def test_a_fresh_thread_closes_the_question(db: Database) -> None:
    asked = await asking(db)
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    assert await told(db, admission(click())) == "stale"
    await accept(db, admission(message("hello")))
    assert await shows_left(db, asked)
    assert await db.transact(list_audit_entries) == [], "no approval was left"
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, [one.text for one in turn.messages]) == ("", ["hello"])


async def shows_left(db: Database, asked: Turn) -> bool:
    """Whether what comes next only shows that a question was left."""
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    again = (await db.transact(load_turn, turn.id)).turn
    assert again is not None
    assert (again.stopped, again.asked_by, again.thread_id) == (turn.stopped, turn.asked_by, turn.thread_id)
    lane = await db.transact(load_lane, asked.conversation)
    assert lane.turn is None, "it is no work"
    assert await db.transact(stop_turn, asked.conversation, None, 103.0) == 0, "nor can it be stopped"
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.CANCELLED)
    left = (turn.stopped, turn.messages, turn.asked_by) == (Stopped.LEFT, (), asked.id)
    return left and turn.thread_id == asked.thread_id


async def test_so_does_going_back_to_another_thread(db: Database) -> None:
    [accepted] = await accept(db, admission(message("first")))
    first = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert first is not None
    await db.transact(save_turn, first.id, [], 102.0, state=TurnState.DONE)
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    asked = await asking(db)
    await accept(db, admission(message("/resume 2"), Verdict.COMMAND, resume=2))
    assert await db.transact(claim_turn, asked.conversation, 103.0) == Idle(), "it is there already"
    await accept(db, admission(message("/resume 1"), Verdict.COMMAND, resume=1))
    assert await told(db, admission(click())) == "stale"
    assert await shows_left(db, asked)
    assert await db.transact(claim_turn, asked.conversation, 103.0) == Idle()


async def test_what_is_answered_leaves_nothing_behind(db: Database) -> None:
    asked = await asking(db)
    await accept(db, admission(click()))
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, turn.stopped, turn.asked_by) == ("i1", Stopped.NO, asked.id)
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    assert await db.transact(claim_turn, asked.conversation, 105.0) == Idle()


async def test_a_question_on_a_thread_that_was_left_is_not_open(db: Database) -> None:
    [accepted] = await accept(db, admission(message("go")))
    turn = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert turn is not None
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    for _ in range(2):
        await db.transact(open_interrupt, turn, "i1")
    await db.transact(save_turn, turn.id, [], 102.0, state=TurnState.DONE)
    await accept(db, admission(message("fresh")))
    assert await shows_left(db, turn)
    after = (await db.transact(claim_turn, accepted.conversation, 103.0)).turn
    assert after is not None
    assert after.answers == ""


async def test_a_retry_of_an_answer_answers_the_same_question(db: Database) -> None:
    asked = await asking(db)
    await accept(db, admission(click()))
    turn = (await db.transact(claim_turn, asked.conversation, 103.0)).turn
    assert turn is not None
    await db.transact(set_run, turn.id, "run-2", 1)
    await db.transact(save_turn, turn.id, [], 104.0, state=TurnState.DONE)
    [command] = await accept(db, admission(message("/retry"), Verdict.COMMAND))
    answered = await db.transact(find_last_answered, asked.conversation)
    commanding = (await db.transact(load_turn, command.turn)).turn
    assert answered is not None
    assert commanding is not None
    await db.transact(
        open_retry, commanding, answered, checkpoint="cp", thread_id=answered.thread_id, text="ok", now=105.0
    )
    again = (await db.transact(claim_turn, asked.conversation, 106.0)).turn
    assert again is not None
    assert (again.answers, again.checkpoint, again.asked_by) == ("i1", "cp", 0)
