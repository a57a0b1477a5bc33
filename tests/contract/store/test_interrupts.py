"""Questions of the agent that stay open until somebody answers, as every database keeps them."""

from __future__ import annotations

import pytest

from bot.domain import (
    ChatKind,
    InboundMessage,
    Part,
    PartKind,
    PartState,
    Stopped,
    Turn,
    TurnKind,
    TurnState,
)
from bot.store import BotStore
from bot.store.admission_types import Admission, Refusal, Verdict
from bot.store.turns import PartChange

from .inbound_messages import BEN, QUEUE, accept, admission, message, refused

ASKED = "b1"


async def asking(store: BotStore, *, posted: str = ASKED, kind: ChatKind = ChatKind.PRIVATE) -> Turn:
    """A turn whose run stopped with a question, which stands in the chat."""
    [accepted] = await accept(store, admission(message("go", kind=kind)))
    turn = (await store.claim(accepted.conversation, 101.0)).turn
    assert turn is not None
    await store.set_run(turn.id, "run-1", 1)
    await store.ask(turn, "i1")
    state = PartState.FINAL if posted else PartState.INTENDED
    part = Part(0, PartKind.TEXT, "Which?", state, posted, choices=("red", "blue"))
    seen = (turn.address, turn.conversation, [posted]) if posted and kind is ChatKind.GROUP else None
    await store.save(turn.id, [PartChange(part)], 102.0, state=TurnState.DONE, seen=seen)
    return turn


async def told(store: BotStore, one: Admission) -> str:
    """What who clicked in vain is told."""
    [found] = await refused(store, one)
    assert found.event_id == one.message.event_id
    return found.text


def click(text: str = "red", on: str = ASKED, **more: object) -> InboundMessage:
    return message(text, message_id=on, reply_to=on, clicked=True, **more)  # type: ignore[arg-type]


async def test_a_click_answers_the_open_question(store: BotStore) -> None:
    asked = await asking(store)
    [answer] = await accept(store, admission(click()))
    assert (answer.kind, answer.refused, answer.conversation) == (TurnKind.CHAT, False, asked.conversation)
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, turn.thread_id) == ("i1", asked.thread_id)
    assert [one.text for one in turn.messages] == ["red"]
    again = (await store.load(turn.id)).turn
    assert again is not None
    assert again.answers == "i1"


async def test_what_is_written_next_answers_it_too(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(message("the green one")))
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert turn.answers == "i1"
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    await accept(store, admission(message("thanks")))
    after = (await store.claim(asked.conversation, 105.0)).turn
    assert after is not None
    assert after.answers == ""


async def test_a_second_click_is_told_that_it_is_stale(store: BotStore) -> None:
    asked = await asking(store)
    first, second = admission(click()), admission(click("blue", sender=BEN))
    taken = await store.accept("tg", [first, second], "7", 100.0, QUEUE)
    assert taken[1:] == [Refusal(second.message.event_id, "stale")]
    assert await store.cursor("tg") == "7"
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert [one.text for one in turn.messages] == ["red"]
    assert len(await store.turns(asked.conversation)) == 2


async def test_the_click_that_counted_may_come_again(store: BotStore) -> None:
    await asking(store)
    first, second = admission(click()), admission(click("blue"))
    for _ in range(3):
        assert await refused(store, first) == []
        assert await told(store, second) == "stale"


@pytest.mark.parametrize("on", ["b0", "b2"])
async def test_the_buttons_of_another_message_do_nothing(store: BotStore, on: str) -> None:
    await asking(store)
    assert await told(store, admission(click(on=on))) == "stale"
    [taken] = await accept(store, admission(click()))
    assert not taken.refused


@pytest.mark.parametrize("kind", list(ChatKind))
async def test_a_click_without_any_question_is_stale(store: BotStore, kind: ChatKind) -> None:
    assert await told(store, admission(click(kind=kind))) == "stale"
    assert await store.conversations("tg") == []


async def test_a_click_that_finds_the_queue_full_is_told_so(store: BotStore) -> None:
    asked = await asking(store)
    for number in range(QUEUE):
        await accept(store, admission(message(f"m{number}")))
    assert await told(store, admission(click())) == "full"
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, len(turn.messages)) == ("i1", QUEUE)


async def test_a_click_may_come_before_the_receipt_of_the_post(store: BotStore) -> None:
    await asking(store, posted="")
    [taken] = await accept(store, admission(click()))
    assert not taken.refused


async def test_an_older_question_is_not_taken_for_one_that_is_on_its_way(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    left = (await store.claim(asked.conversation, 103.0)).turn
    assert left is not None
    await store.save(left.id, [], 103.0, state=TurnState.CANCELLED)
    await asking(store, posted="")
    assert await told(store, admission(click())) == "stale"
    [taken] = await accept(store, admission(click(on="b2")))
    assert not taken.refused


async def test_in_a_group_it_finds_its_conversation(store: BotStore) -> None:
    asked = await asking(store, kind=ChatKind.GROUP)
    [taken] = await accept(store, admission(click(kind=ChatKind.GROUP, sender=BEN)))
    assert (taken.refused, taken.conversation) == (False, asked.conversation)
    assert taken.address.reply_to == ASKED


async def test_a_fresh_thread_closes_the_question(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    assert await told(store, admission(click())) == "stale"
    await accept(store, admission(message("hello")))
    assert await shows_left(store, asked)
    assert await store.audit() == [], "no approval was left"
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, [one.text for one in turn.messages]) == ("", ["hello"])


async def shows_left(store: BotStore, asked: Turn) -> bool:
    """Whether what comes next only shows that a question was left."""
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    again = (await store.load(turn.id)).turn
    assert again is not None
    assert (again.stopped, again.asked_by, again.thread_id) == (turn.stopped, turn.asked_by, turn.thread_id)
    lane = await store.lane(asked.conversation)
    assert lane.turn is None, "it is no work"
    assert await store.stop(asked.conversation, None, 103.0) == 0, "nor can it be stopped"
    await store.save(turn.id, [], 104.0, state=TurnState.CANCELLED)
    left = (turn.stopped, turn.messages, turn.asked_by) == (Stopped.LEFT, (), asked.id)
    return left and turn.thread_id == asked.thread_id


async def test_so_does_going_back_to_another_thread(store: BotStore) -> None:
    [accepted] = await accept(store, admission(message("first")))
    first = (await store.claim(accepted.conversation, 101.0)).turn
    assert first is not None
    await store.save(first.id, [], 102.0, state=TurnState.DONE)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    asked = await asking(store)
    await accept(store, admission(message("/resume 2"), Verdict.COMMAND, resume=2))
    assert (await store.claim(asked.conversation, 103.0)).turn is None, "it is there already"
    await accept(store, admission(message("/resume 1"), Verdict.COMMAND, resume=1))
    assert await told(store, admission(click())) == "stale"
    assert await shows_left(store, asked)
    assert (await store.claim(asked.conversation, 103.0)).turn is None


async def test_what_is_answered_leaves_nothing_behind(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(click()))
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert (turn.answers, turn.stopped, turn.asked_by) == ("i1", Stopped.NO, asked.id)
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    assert (await store.claim(asked.conversation, 105.0)).turn is None


async def test_a_question_on_a_thread_that_was_left_is_not_open(store: BotStore) -> None:
    [accepted] = await accept(store, admission(message("go")))
    turn = (await store.claim(accepted.conversation, 101.0)).turn
    assert turn is not None
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    for _ in range(2):
        await store.ask(turn, "i1")
    await store.save(turn.id, [], 102.0, state=TurnState.DONE)
    await accept(store, admission(message("fresh")))
    assert await shows_left(store, turn)
    after = (await store.claim(accepted.conversation, 103.0)).turn
    assert after is not None
    assert after.answers == ""


async def test_a_retry_of_an_answer_answers_the_same_question(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(click()))
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    await store.set_run(turn.id, "run-2", 1)
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    [command] = await accept(store, admission(message("/retry"), Verdict.COMMAND))
    answered = await store.last_answered(asked.conversation)
    commanding = (await store.load(command.turn)).turn
    assert answered is not None
    assert commanding is not None
    await store.retry(
        commanding, answered, checkpoint="cp", thread_id=answered.thread_id, text="ok", now=105.0
    )
    again = (await store.claim(asked.conversation, 106.0)).turn
    assert again is not None
    assert (again.answers, again.checkpoint, again.asked_by) == ("i1", "cp", 0)
