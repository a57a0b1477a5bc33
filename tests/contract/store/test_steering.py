"""Messages that join the turn before them, as every database keeps them."""

from __future__ import annotations

from bot.domain import Attachment, AttachmentKind, Busy, ChangeNote, ChatKind, Turn, TurnState
from bot.store import BotStore
from bot.store.admission_types import Accepted, Verdict

from .inbound_messages import ANN, BEN, accept, admission, changed, message

FILE = Attachment(AttachmentKind.IMAGE, "cat.png", "ref-1", 12, "image/png")


async def begun(store: BotStore, text: str = "first") -> Turn:
    """A turn that runs."""
    [accepted] = await accept(store, admission(message(text)))
    return await claimed(store, accepted.conversation)


async def claimed(store: BotStore, conversation: int) -> Turn:
    turn = (await store.claim(conversation, 101.0)).turn
    assert turn is not None
    return turn


async def behind(store: BotStore, turn: Turn, now: float = 102.0) -> list[str]:
    return [one.text for one in (await store.behind(turn, now)).messages]


async def joined(store: BotStore, turn: Turn, *ids: int) -> None:
    """The turn's final is written down."""
    await store.set_run(turn.id, f"run-{turn.id}", 1)
    await store.save(turn.id, [], 103.0, state=TurnState.DELIVERING, joined=ids)


async def numbers(store: BotStore, turn: Turn) -> list[int]:
    return [one.id for one in (await store.behind(turn, 102.0)).messages]


async def turns(store: BotStore, conversation: int) -> list[tuple[TurnState, list[str]]]:
    views = await store.turns(conversation)
    return [(view.state, [one.text for one in view.messages]) for view in reversed(views)]


async def test_what_joins_is_part_of_the_turn_and_the_emptied_one_is_done(store: BotStore) -> None:
    turn = await begun(store)
    await accept(store, admission(message("second")), admission(message("third")))
    assert await behind(store, turn) == ["second", "third"]
    await joined(store, turn, *await numbers(store, turn))
    assert await turns(store, turn.conversation) == [
        (TurnState.DELIVERING, ["first", "second", "third"]),
        (TurnState.DONE, []),
    ]
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    assert (await store.claim(turn.conversation, 105.0)).turn is None
    assert (await store.lane(turn.conversation)).queued == 0


async def test_what_stays_is_answered_next_and_replied_to(store: BotStore) -> None:
    turn = await begun(store)
    second, third = message("second"), message("third")
    await accept(store, admission(second), admission(third))
    await joined(store, turn, (await numbers(store, turn))[0])
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    rest = await claimed(store, turn.conversation)
    assert [one.text for one in rest.messages] == ["third"]


async def test_in_a_group_the_reply_answers_a_message_that_is_there(store: BotStore) -> None:
    first = message("first", kind=ChatKind.GROUP, message_id="m1")
    [accepted] = await accept(store, admission(first))
    turn = await claimed(store, accepted.conversation)
    more = [message(text, kind=ChatKind.GROUP, reply_to="m1", message_id=f"m{text}") for text in ("2", "3")]
    await accept(store, *map(admission, more))
    last = (await numbers(store, turn))[-1]
    await joined(store, turn, last)
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    assert (await claimed(store, turn.conversation)).address.reply_to == "m2"


async def test_joining_twice_changes_nothing(store: BotStore) -> None:
    turn = await begun(store)
    await accept(store, admission(message("second")))
    found = await numbers(store, turn)
    await joined(store, turn, *found)
    await joined(store, turn, *found, 10**6)
    assert (await turns(store, turn.conversation))[0][1] == ["first", "second"]


async def test_only_messages_of_the_conversation_join(store: BotStore) -> None:
    turn = await begun(store)
    [other] = await accept(store, admission(message("elsewhere", chat="c2")))
    view = (await store.turns(other.conversation))[0]
    await joined(store, turn, view.messages[0].id)
    assert await turns(store, other.conversation) == [(TurnState.ACCEPTED, ["elsewhere"])]


async def test_what_may_not_join_keeps_all_that_follows(store: BotStore) -> None:
    for hindrance in (
        admission(message("theirs", sender=BEN, chat="a")),
        admission(message("file", attachments=(FILE,), chat="b")),
    ):
        chat = hindrance.message.origin.chat
        [accepted] = await accept(store, admission(message("first", chat=chat)))
        turn = await claimed(store, accepted.conversation)
        await accept(store, admission(message("mine", chat=chat)), hindrance)
        await accept(store, admission(message("mine too", chat=chat)))
        assert await behind(store, turn) == ["mine"]


async def test_what_is_for_another_thread_stays(store: BotStore) -> None:
    turn = await begun(store)
    await accept(store, admission(message("/new"), Verdict.COMMAND, rotate=True))
    await accept(store, admission(message("afresh")))
    assert await behind(store, turn) == []


async def test_a_part_of_an_album_waits_for_the_others(store: BotStore) -> None:
    turn = await begun(store)
    await accept(store, admission(message("one"), hold=5.0), now=102.0)
    early = await store.behind(turn, 103.0)
    assert (early.messages, early.more) == ((), 4.0)
    assert await behind(store, turn, 108.0) == ["one"]


async def test_what_was_deleted_does_not_join_unless_it_was_read(store: BotStore) -> None:
    turn = await begun(store)
    second = message("second")
    await accept(store, admission(second))
    [number] = await numbers(store, turn)
    await accept(store, changed(second, None))
    assert await behind(store, turn) == []
    await joined(store, turn, number)
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    assert (await turns(store, turn.conversation))[1][0] is TurnState.CANCELLED
    await accept(store, admission(message("next")))
    assert (await claimed(store, turn.conversation)).notes == (ChangeNote(ANN, "", None),)


async def test_an_edit_of_what_was_read_is_told_with_the_next_turn(store: BotStore) -> None:
    turn = await begun(store)
    second = message("blue")
    await accept(store, admission(second))
    found = await numbers(store, turn)
    await accept(store, changed(second, "red"))
    await joined(store, turn, *found)
    await store.save(turn.id, [], 104.0, state=TurnState.DONE)
    await accept(store, admission(message("next")))
    assert (await claimed(store, turn.conversation)).notes == (ChangeNote(ANN, "blue", "red"),)


async def test_the_accept_transaction_says_what_steers(store: BotStore) -> None:
    turn = await begun(store)

    async def taken(busy: Busy) -> Accepted:
        [accepted] = await accept(store, admission(message("more"), busy=busy))
        return accepted

    assert (await taken(Busy.STEER)).steers
    assert not (await taken(Busy.QUEUE)).steers
    await store.set_busy(turn.conversation, "steer")
    assert (await taken(Busy.QUEUE)).steers
    loaded = (await store.load(turn.id)).turn
    assert loaded is not None
    assert loaded.busy == "steer"
