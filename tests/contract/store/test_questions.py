"""Questions of the agent that stay open until somebody answers, as every database keeps them."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind, InboundMessage, Part, PartKind, PartState, Turn, TurnKind, TurnState
from bot.store import BotStore
from bot.store.admitted import Verdict
from bot.store.turns import PartChange

from .made import BEN, accept, admission, message

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
    first, second = await accept(store, admission(click()), admission(click("blue", sender=BEN)))
    assert (first.refused, second.refused) == (False, True)
    notice = await store.load(second.turn)
    assert [part.content for part in notice.parts] == ["stale"]
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert [one.text for one in turn.messages] == ["red"]


@pytest.mark.parametrize("on", ["b0", "b2"])
async def test_the_buttons_of_another_message_do_nothing(store: BotStore, on: str) -> None:
    await asking(store)
    [refused] = await accept(store, admission(click(on=on)))
    assert refused.refused
    [taken] = await accept(store, admission(click()))
    assert not taken.refused


async def test_a_click_without_any_question_is_stale(store: BotStore) -> None:
    [refused] = await accept(store, admission(click()))
    assert refused.refused


async def test_a_click_may_come_before_the_receipt_of_the_post(store: BotStore) -> None:
    await asking(store, posted="")
    [taken] = await accept(store, admission(click()))
    assert not taken.refused


async def test_in_a_group_it_finds_its_conversation(store: BotStore) -> None:
    asked = await asking(store, kind=ChatKind.GROUP)
    [taken] = await accept(store, admission(click(kind=ChatKind.GROUP, sender=BEN)))
    assert (taken.refused, taken.conversation) == (False, asked.conversation)
    assert taken.address.reply_to == ASKED


async def test_a_fresh_thread_closes_the_question(store: BotStore) -> None:
    asked = await asking(store)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    [refused] = await accept(store, admission(click()))
    assert refused.refused
    await accept(store, admission(message("hello")))
    turn = (await store.claim(asked.conversation, 103.0)).turn
    assert turn is not None
    assert turn.answers == ""


async def test_a_question_on_a_thread_that_was_left_is_not_open(store: BotStore) -> None:
    [accepted] = await accept(store, admission(message("go")))
    turn = (await store.claim(accepted.conversation, 101.0)).turn
    assert turn is not None
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    await store.ask(turn, "i1")
    await store.save(turn.id, [], 102.0, state=TurnState.DONE)
    await accept(store, admission(message("fresh")))
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
    assert (again.answers, again.checkpoint) == ("i1", "cp")
