"""Agent threads that an erasure replaces, on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bot.domain import ChatKind, Part, PartKind, PartState, ReplyAddress, Sender
from bot.features.privacy import erasures
from bot.features.privacy.leaving_threads import (
    drop_abandoned_thread,
    list_abandoned_threads,
    list_kept_messages,
)
from bot.features.privacy.thread_replacement import ReplacedThreads, collect_chats, replace_threads
from bot.features.privacy.written_messages import erase_person
from bot.store import Database
from bot.store.admission_types import Accepted, Verdict
from bot.store.audit import Actor
from bot.store.conversations import list_threads, load_conversation
from bot.store.exchanges import list_exchanges
from bot.store.interrupts import open_interrupt
from bot.store.person_data import ChatKey, PersonKey
from bot.store.read_models import list_turns
from bot.store.retries import find_last_answered, queue_retry
from bot.store.turns import Begin, PartChange, Resume, claim_turn, load_turn, save_turn, set_run
from bot.turn import Stopped, Turn, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.harness.person_data import list_person_data

ANN_HERE = PersonKey("telegram", ANN.id)
BY_ANN = Actor("k1", f"telegram:{ANN.id}", "Ann", "tg", "c")
GROUP = ChatKey("tg", "g")
DATA = list_person_data()
CLEO = Sender("9", "Cleo")


async def say(db: Database, text: str, sender: Sender, **more: object) -> Accepted:
    """A message in the group."""
    said = message(text, sender=sender, chat="g", kind=ChatKind.GROUP, topic="t", **more)  # type: ignore[arg-type]
    [taken] = await accept(db, admission(said))
    return taken


async def begin(db: Database, taken: Accepted, at: float = 101.0) -> Turn:
    """The turn of a message has a run."""
    begun = await db.transact(claim_turn, taken.conversation, at)
    assert isinstance(begun, Begin)
    await db.transact(set_run, begun.turn.id, f"run-{begun.turn.id}", 1)
    return begun.turn


async def end(db: Database, turn: Turn, text: str, at: float = 102.0) -> None:
    """The run of a turn ends with this answer."""
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, platform_id=f"m{turn.id}")
    await db.transact(save_turn, turn.id, [PartChange(part)], at, state=TurnState.DONE)


async def answered(db: Database, text: str, sender: Sender, answer: str) -> Turn:
    """A message in the group that was answered."""
    turn = await begin(db, await say(db, text, sender))
    await end(db, turn, answer)
    return turn


async def replace_all(db: Database, at: float = 200.0, describe: str = "renewed") -> ReplacedThreads:
    """Erase Ann's messages, then replace the threads of the group."""
    number = await db.transact(erasures.record_erasure, ANN_HERE, ("person:tg:telegram:7",), BY_ANN, at)
    said = await db.transact(erasures.list_said, ANN_HERE, 0, 100)
    assert await db.transact(collect_chats, number, [one.conversation for one in said], DATA) == [GROUP]
    await erase_person(db, ANN_HERE, DATA, 0.0)
    request = await db.transact(erasures.load_erasure, number)
    fresh = (f"fresh-{number}" for number in itertools.count(1))

    def text(address: ReplyAddress) -> str:
        assert (address.chat, address.reply_to) == ("g", "")
        return describe

    done = await db.transact(replace_threads, request, GROUP, lambda: next(fresh), text, at)
    assert await db.transact(collect_chats, number, (), DATA) == []
    return done


async def thread(db: Database, conversation: int) -> str:
    """The thread of a conversation."""
    view = await db.transact(load_conversation, conversation)
    assert view is not None
    return view.thread_id


async def kept(db: Database, turn: Turn) -> Sequence[str]:
    """What the agent gets of the record with a turn."""
    return [one.text for one in await db.transact(list_kept_messages, turn, 10)]


async def test_a_thread_is_replaced_and_the_next_run_gets_what_others_wrote(db: Database) -> None:
    ann = await answered(db, "my secret", ANN, "noted")
    await answered(db, "bens words", BEN, "Ann has a secret")
    done = await replace_all(db)
    assert (done.deleted, done.shared, done.conversations) == (0, 1, (ann.conversation,))
    assert await db.transact(list_abandoned_threads) == [ann.thread_id]
    assert await thread(db, ann.conversation) == "fresh-1"
    assert [one.thread_id for one in await db.transact(list_threads, ann.conversation)] == ["fresh-1"]
    [request] = await db.transact(erasures.list_open_erasures)
    assert request.scopes == ("person:tg:telegram:7", "group:tg:g")
    notice = await db.transact(load_turn, done.notice)
    assert isinstance(notice, Resume)
    assert [one.content for one in notice.parts] == ["renewed"]
    next_ = await begin(db, await say(db, "and now", CLEO))
    assert next_.thread_id == "fresh-1"
    assert await kept(db, next_) == ["bens words"]
    await end(db, next_, "fine")
    assert await kept(db, await begin(db, await say(db, "more", BEN))) == [], "the thread has it"


async def test_what_was_answered_on_a_replaced_thread_is_told_nobody(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    bens = await answered(db, "bens words", BEN, "Ann has a secret")
    said = message("new", sender=CLEO, chat="g", kind=ChatKind.GROUP, topic="t2")
    [taken] = await accept(db, admission(said), now=300.0)
    new = await db.transact(load_turn, taken.turn)
    assert new is not None
    before = await db.transact(list_exchanges, new.turn, 3600.0, 3)
    assert [one.text for one in before] == ["bens words", "my secret"]
    await replace_all(db, at=301.0)
    assert await db.transact(list_exchanges, new.turn, 3600.0, 3) == []
    [view] = [one for one in await db.transact(list_turns, bens.conversation) if one.id == bens.id]
    assert [part.content for part in view.parts] == ["Ann has a secret"], "it is the answer to Ben"


async def test_a_run_in_progress_ends_on_the_old_thread_and_no_message_is_lost(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    running = await begin(db, await say(db, "bens words", BEN), at=150.0)
    waiting = await say(db, "cleos words", CLEO)
    await replace_all(db)
    again = await db.transact(claim_turn, running.conversation, 201.0)
    assert isinstance(again, Resume)
    assert again.turn.thread_id == running.thread_id
    assert await db.transact(list_abandoned_threads) == [], "its run is in progress"
    await end(db, running, "Ann has a secret", at=202.0)
    next_ = await begin(db, waiting, at=203.0)
    assert (next_.id, next_.thread_id) == (waiting.turn, "fresh-1")
    assert await kept(db, next_) == ["bens words"]
    assert await db.transact(list_abandoned_threads) == [running.thread_id]
    await db.transact(drop_abandoned_thread, running.thread_id)
    assert await kept(db, next_) == ["bens words"]
    views = {one.id: one for one in await db.transact(list_turns, running.conversation)}
    assert views[running.id].parts == (), "nobody has looked for quotations in it"
    assert views[running.id].thread_id == "fresh-1"


async def test_an_open_question_is_closed_as_if_started_over(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    asking = await begin(db, await say(db, "bens words", BEN))
    await db.transact(open_interrupt, asking, "i1", ["yes", "no"], 103.0)
    await end(db, asking, "May I?")
    await replace_all(db)
    left = await db.transact(claim_turn, asking.conversation, 201.0)
    assert isinstance(left, Begin)
    assert (left.turn.answers, left.turn.stopped, left.turn.thread_id) == (
        "i1",
        Stopped.LEFT,
        asking.thread_id,
    )
    await end(db, left.turn, "", at=202.0)
    assert await db.transact(list_abandoned_threads) == [asking.thread_id]


async def test_a_chat_of_the_person_alone_is_not_notified(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    done = await replace_all(db)
    assert (done.deleted, done.shared, done.notice) == (1, 0, 0)


async def test_a_chat_of_an_account_that_is_gone_is_not_notified(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    await answered(db, "bens words", BEN, "fine")
    assert (await replace_all(db, describe="")).notice == 0


async def test_a_replacement_is_not_repeated(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    await answered(db, "bens words", BEN, "fine")
    await replace_all(db)
    [request] = await db.transact(erasures.list_open_erasures)
    done = await db.transact(
        replace_threads, request, GROUP, lambda: "other", lambda _address: "again", 201.0
    )
    assert (done.deleted, done.shared, done.notice) == (0, 0, 0)


async def test_an_answer_is_given_again_on_the_new_thread(db: Database) -> None:
    await answered(db, "my secret", ANN, "noted")
    await answered(db, "first", BEN, "one")
    last = await answered(db, "second", BEN, "two")
    command = message("/retry", sender=BEN, chat="g", kind=ChatKind.GROUP, topic="t")
    [taken] = await accept(db, admission(command, Verdict.COMMAND))
    retry = await db.transact(load_turn, taken.turn)
    assert retry is not None
    await db.transact(queue_retry, retry.turn, text="ok", now=150.0)
    await replace_all(db)
    found = await db.transact(find_last_answered, last.conversation)
    assert found is not None
    assert (found.id, found.thread_id, found.run_id) == (last.id, "fresh-1", "")
