"""Forgetting on SQLite and on PostgreSQL: what is too old, and what is kept about a person."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    Part,
    PartKind,
    PartState,
    ProgressState,
    ToolStep,
)
from bot.features.privacy import expired_texts
from bot.features.privacy.expired_texts import delete_conversation, erase_old_texts
from bot.features.privacy.leaving_threads import (
    drop_abandoned_thread,
    has_abandoned_threads,
    list_abandoned_threads,
)
from bot.features.privacy.written_messages import (
    WrittenMessage,
    erase_person,
    iterate_written,
)
from bot.features.record.privacy import RecordData
from bot.features.record.record_store import list_recorded
from bot.features.usage.usage_store import load_person_usage, sum_usage
from bot.store import Database
from bot.store.admission_types import Accepted, RecordOnly
from bot.store.audit import Actor, list_audit_entries
from bot.store.connection import Connection, sql
from bot.store.conversations import list_conversations, list_threads, load_conversation
from bot.store.person_data import PersonKey
from bot.store.read_models import TurnFilter, list_turns
from bot.store.retries import find_last_answered, repeat_answer
from bot.store.stopped_answers import mark_stopped
from bot.store.traces import load_times
from bot.store.turns import PartChange, claim_turn, save_turn
from bot.store.usage import TurnUsage
from bot.store.usage_limits import UNLIMITED
from bot.turn import ModelCall, RunTrace, Stopped, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message
from tests.harness.person_data import list_person_data

DAY = 86_400.0
NOW = 100 * DAY
ANN_HERE = PersonKey("telegram", ANN.id)
DATA = list_person_data()
fresh = itertools.count(1)


def new_id() -> str:
    return f"fresh-{next(fresh)}"


async def answered(
    db: Database, accepted: Accepted, text: str = "fine", *, at: float = 101.0, person: str = ""
) -> None:
    """The turn of an accepted message is answered."""
    await db.transact(claim_turn, accepted.conversation, at)
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, platform_id="m")
    spent = TurnUsage(person, 1, 1, 2) if person else None
    await db.transact(save_turn, accepted.turn, [PartChange(part)], at, state=TurnState.DONE, spent=spent)


async def asks(db: Database, text: str = "hello", *, now: float = 100.0, **more: object) -> Accepted:
    [accepted] = await accept(db, admission(message(text, **more)), now=now)  # type: ignore[arg-type]
    return accepted


async def texts(db: Database, conversation: int) -> list[tuple[list[str], list[str]]]:
    """What stands of a conversation's turns, oldest first: messages and answers."""
    found = await db.transact(list_turns, conversation)
    return [
        ([one.text for one in view.messages], [part.content for part in view.parts])
        for view in reversed(found)
    ]


async def forget(db: Database, before: float) -> None:
    while (await db.transact(erase_old_texts, "tg", before, NOW, new_id, DATA)).more:
        pass


async def thread(db: Database, conversation: int) -> str:
    view = await db.transact(load_conversation, conversation)
    assert view is not None
    return view.thread_id


async def written(db: Database, person: PersonKey = ANN_HERE) -> list[WrittenMessage]:
    return [one async for found in iterate_written(db, person) for one in found]


async def test_old_texts_go_and_a_thread_that_is_used_stays(db: Database) -> None:
    old = await asks(db, "old", now=1 * DAY)
    await answered(db, old, at=1 * DAY, person="telegram:7")
    young = await asks(db, "young", now=9 * DAY)
    await answered(db, young, at=9 * DAY)
    before = await thread(db, old.conversation)
    await forget(db, 5 * DAY)
    assert await texts(db, old.conversation) == [([], []), (["young"], ["fine"])]
    assert await thread(db, old.conversation) == before
    assert await db.transact(list_abandoned_threads) == []
    assert (await db.transact(sum_usage, 0.0)).total_tokens == 2


async def test_a_thread_that_nobody_used_since_leaves(db: Database) -> None:
    old = await asks(db, "old", now=1 * DAY)
    await answered(db, old, at=1 * DAY)
    before = await thread(db, old.conversation)
    await forget(db, 5 * DAY)
    assert await db.transact(list_abandoned_threads) == [before]
    assert await thread(db, old.conversation) != before
    view = await db.transact(load_conversation, old.conversation)
    assert view is not None and view.title == ""
    assert await db.transact(list_threads, old.conversation) == []
    await db.transact(drop_abandoned_thread, before)
    assert not await db.transact(has_abandoned_threads)


async def test_what_is_worked_on_stays_and_goes_later(db: Database) -> None:
    first = await asks(db, "one", now=1 * DAY)
    await db.transact(claim_turn, first.conversation, 1 * DAY)
    await forget(db, 5 * DAY)
    assert await texts(db, first.conversation) == [(["one"], [])]
    await answered(db, first, at=6 * DAY)
    await forget(db, 5 * DAY)
    assert await texts(db, first.conversation) == [([], [])]


async def test_accounts_are_apart_and_many_turns_go_in_steps(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [await asks(db, f"{number}", now=1 * DAY, chat=f"c{number}") for number in range(7)]
    for one in taken:
        await answered(db, one, at=1 * DAY)
    monkeypatch.setattr(expired_texts, "STEP", 3)
    assert (await db.transact(erase_old_texts, "other", 5 * DAY, NOW, new_id, DATA)).upto == 3
    assert await texts(db, taken[0].conversation) == [(["0"], ["fine"])]
    await forget(db, 5 * DAY)
    assert [await texts(db, one.conversation) for one in taken] == [[([], [])]] * 7
    assert len(await db.transact(list_abandoned_threads)) == 7


async def test_what_is_kept_about_somebody(db: Database) -> None:
    file = Attachment(AttachmentKind.FILE, "plan.pdf", "ref")
    one = await asks(db, "my question", attachments=(file,))
    await answered(db, one, "my answer")
    group = {"chat": "g", "kind": ChatKind.GROUP}
    await asks(db, "bens", sender=BEN, **group)
    await accept(db, RecordOnly(message("heard", chat="g", kind=ChatKind.GROUP)))
    [found] = await written(db)
    assert (found.text, found.files, found.answer) == ("my question", ("plan.pdf",), "my answer")
    assert (found.account, found.chat) == ("tg", "c1")
    [heard] = (await db.transact(RecordData().export, ANN_HERE, NOW))["record"]
    assert heard["text"] == "heard"
    assert await written(db, PersonKey("slack", ANN.id)) == []
    assert [one.text for one in await written(db, PersonKey("telegram", BEN.id))] == ["bens"]


async def answered_again(db: Database, conversation: int) -> int:
    """The turn in which the last answer is given again."""
    last, view = (
        await db.transact(find_last_answered, conversation),
        await db.transact(load_conversation, conversation),
    )
    assert last is not None
    assert view is not None
    ways = {"checkpoint": "", "thread_id": last.thread_id, "model": "", "limits": UNLIMITED}
    return await db.transact(
        repeat_answer, last, view, **ways, actor=Actor("key", "web:owner", "", "web", ""), now=103.0
    )  # type: ignore[arg-type]


async def test_tool_calls_are_kept_and_go_with_the_answer(db: Database) -> None:
    step = ToolStep("read_file", "path: /a", ProgressState.DONE, "my words", 1.5)
    one = await asks(db)
    await answered(db, one)
    trace = RunTrace(100.0, 101.0, (ModelCall("m", 100.0, 101.0),))
    await db.transact(save_turn, one.turn, [], 102.0, steps=(step,), trace=trace)
    assert (await db.transact(load_times, one.conversation, one.turn)).run == trace
    assert (await db.transact(list_turns, one.conversation))[0].steps == (step,)
    assert [found.tools for found in await written(db)] == [("read_file path: /a",)]
    again = await answered_again(db, one.conversation)
    await db.transact(
        save_turn, again, [PartChange(Part(0, PartKind.TEXT, "ann's, again"))], 104.0, steps=(step,)
    )
    await db.transact(save_turn, again, [], 105.0, state=TurnState.DONE)
    await erase(db)
    assert [(view.steps, view.parts) for view in await db.transact(list_turns, one.conversation)] == [
        ((), ())
    ] * 2
    assert (await db.transact(load_times, one.conversation, one.turn)).run is None
    old = await asks(db, "old", now=1 * DAY, chat="c2")
    await answered(db, old, at=1 * DAY)
    await db.transact(save_turn, old.turn, [], 1 * DAY, trace=trace)
    await forget(db, 5 * DAY)
    found = await db.transact(load_times, old.conversation, old.turn)
    assert (found.run, found.messages, found.parts) == (None, {}, {})


async def test_who_stopped_an_answer_goes_with_its_texts(db: Database) -> None:
    one = await asks(db, now=1 * DAY)
    await db.transact(claim_turn, one.conversation, 1 * DAY)
    by = Actor("key", f"telegram:{BEN.id}", "Ben", "tg", "c")
    assert await db.transact(mark_stopped, one.conversation, Stopped.ASKED, by) == one.turn
    await db.transact(save_turn, one.turn, [], 1 * DAY, state=TurnState.CANCELLED)
    assert await db.transact(_list_stoppers) == ["Ben"]
    await forget(db, 5 * DAY)
    assert await db.transact(_list_stoppers) == []


@pytest.mark.guard(
    "the first stop counts",
    "bot/store/stopped_answers.py",
    "stopper_name = CASE stopped WHEN 0 THEN :name ELSE stopper_name END",
    "stopper_name = :name",
    against="stopped answers",
)
async def test_the_first_stop_counts(db: Database) -> None:
    one = await asks(db)
    await db.transact(claim_turn, one.conversation, 101.0)
    for sender in (BEN, ANN):
        by = Actor("key", f"telegram:{sender.id}", sender.name, "tg", "c")
        assert await db.transact(mark_stopped, one.conversation, Stopped.ASKED, by) == one.turn
    assert await db.transact(_list_stoppers) == ["Ben"]
    assert await db.transact(mark_stopped, one.conversation, Stopped.INTERRUPTED) == one.turn
    assert await db.transact(_list_stoppers) == ["Ben"]


def _list_stoppers(connection: Connection) -> list[str]:
    found = connection.execute(
        sql("SELECT stopper_name FROM turns WHERE stopper <> '' OR stopper_name <> ''")
    )
    return [str(row.stopper_name) for row in found.all()]


async def erase(db: Database, person: PersonKey = ANN_HERE) -> tuple[int, int]:
    counts, in_progress = await erase_person(db, person, DATA, NOW)
    return counts["messages"], in_progress


async def test_a_private_conversation_is_erased_whole(db: Database) -> None:
    first = message("secret")
    [one] = await accept(db, admission(first))
    await accept(db, changed(first, "another secret"))
    await answered(db, one, "the secret is safe", person="telegram:7")
    assert await erase(db) == (1, 0)
    assert await written(db) == []
    assert await texts(db, one.conversation) == [([""], [])]
    assert (await db.transact(load_person_usage, 0.0, "telegram:7")).spending.turns == 0
    assert (await db.transact(sum_usage, 0.0)).turns == 1
    # The same event again is still known.
    assert await accept(db, admission(first)) == []
    assert await erase(db) == (0, 0)


async def test_what_others_wrote_stays(db: Database) -> None:
    group: dict[str, object] = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t"}
    mine = await asks(db, "mine", **group)
    await answered(db, mine, "to Ann")
    bens = await asks(db, "bens", sender=BEN, **group)
    assert bens.conversation == mine.conversation
    await answered(db, bens, "to Ben")
    await accept(db, RecordOnly(message("a", chat="g", kind=ChatKind.GROUP)))
    await accept(db, RecordOnly(message("b", chat="g", kind=ChatKind.GROUP, sender=BEN)))
    assert await erase(db) == (1, 0)
    assert await texts(db, mine.conversation) == [([""], []), (["bens"], ["to Ben"])]
    assert [one.text for one in await db.transact(list_recorded, "tg", "g", 0.0, 1e9)] == ["b"]


async def test_an_answer_to_several_stays_for_the_others(db: Database) -> None:
    group: dict[str, object] = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t"}
    both: Sequence[Accepted] = [
        await asks(db, "mine", **group),
        await asks(db, "bens", sender=BEN, **group),
    ]
    assert both[0].turn == both[1].turn
    await answered(db, both[0], "to both")
    await erase(db)
    assert await texts(db, both[0].conversation) == [(["", "bens"], ["to both"])]


async def test_what_is_being_worked_on_is_counted_and_stays(db: Database) -> None:
    one = await asks(db, "now")
    await db.transact(claim_turn, one.conversation, 101.0)
    assert await erase(db) == (0, 1)
    await answered(db, one)
    assert await erase(db) == (1, 0)


async def test_a_thread_waits_for_its_last_run(db: Database) -> None:
    old = await asks(db, "old", now=1 * DAY)
    await answered(db, old, at=1 * DAY)
    before = await thread(db, old.conversation)
    await forget(db, 5 * DAY)
    # A turn that was accepted for the old thread meanwhile, as a crash may leave it.
    await accept(db, replace(admission(message("late")), thread_id=before, new_thread=True), now=NOW)
    assert await db.transact(list_abandoned_threads) == []


async def test_a_deleted_conversation_leaves_its_usage(db: Database) -> None:
    gone, stays = await asks(db, "secret"), await asks(db, "other", chat="c2", sender=BEN)
    await answered(db, gone, "of mine", person="telegram:7")

    async def delete(accepted: Accepted) -> bool:
        view = await db.transact(load_conversation, accepted.conversation)
        assert view is not None
        actor = Actor(f"delete {view.id}", "telegram:7", "Ann", "tg", "c1")
        return await db.transact(delete_conversation, view, actor, NOW, new_id, DATA)

    assert not await delete(stays), "it is being answered"
    assert await delete(gone)
    view = await db.transact(load_conversation, gone.conversation)
    assert view is not None
    assert view.is_deleted
    for words in ("secret", "mine"):
        assert await db.transact(list_turns, None, only=TurnFilter(text=words)) == []
    assert [one.id for one in await db.transact(list_conversations, "tg")] == [stays.conversation]
    assert await texts(db, gone.conversation) == [([], [])]
    assert (await db.transact(sum_usage, 0.0)).total_tokens == 2
    [entry] = await db.transact(list_audit_entries)
    assert entry.deed.action == "conversation deleted"
