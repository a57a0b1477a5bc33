"""Schedules on SQLite and on PostgreSQL: a firing is taken once, and its outcome is what its turn came to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.domain import ChatKind, Part, PartKind, PartState
from bot.features.schedules.run_history import list_runs_between, list_scheduled_runs
from bot.features.schedules.run_store import (
    DueRun,
    OpenedTurn,
    SkipReason,
    attempt_of,
    find_next_due,
    has_unjudged_runs,
    judge_run,
    list_due_retries,
    list_ended_runs,
    open_due_run,
    open_run_retry,
    trigger_schedule,
)
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleKind,
    ScheduleState,
    add_schedule,
    count_chat_schedules,
    delete_schedule,
    list_chat_schedules,
    list_due_schedules,
    list_schedules,
    load_schedule,
    purge_schedules,
    update_schedule,
)
from bot.store import Database
from bot.store.audit import Actor, list_audit_entries
from bot.store.chat_migration import migrate_chat
from bot.store.chats import load_person_zone, load_time_zone, set_time_zone
from bot.store.conversations import load_conversation
from bot.store.interrupts import open_interrupt
from bot.store.retries import find_last_answered, repeat_answer
from bot.store.turns import PartChange, load_turn, save_turn
from bot.store.usage_limits import UNLIMITED
from bot.turn import TurnKind, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.contract.store.test_usage import answered

ACTOR = Actor("turn:1", "telegram:7", "Ann", "tg", "c1")
ONE = Schedule(
    id=0,
    kind=ScheduleKind.PROMPT,
    state=ScheduleState.ACTIVE,
    text="what is new?",
    spoken="hourly",
    rule="0 * * * *",
    zone="UTC",
    account="tg",
    platform="telegram",
    chat="c1",
    chat_kind=ChatKind.GROUP,
    topic="",
    conversation=0,
    made_in=1,
    maker=ANN,
    made_at=0.0,
    next_at=3600.0,
)


async def made(db: Database, one: Schedule = ONE) -> Schedule:
    """A schedule in the store, of a chat in which somebody has written."""
    await accept(db, admission(message(chat=one.chat)))
    number = await db.transact(add_schedule, one, ACTOR, 100.0)
    found = await db.transact(load_schedule, number)
    assert found is not None
    return found


def fire(one: Schedule, **more: object) -> DueRun:
    """Its firing that is due."""
    return replace(DueRun(one, one.next_at, one.next_at + 3600.0, "now: what is new?", "thread-9"), **more)  # type: ignore[arg-type]


async def opened(db: Database, of: DueRun, now: float = 3600.0) -> OpenedTurn:
    found = await db.transact(open_due_run, of, now)
    assert found is not None
    [turn] = found
    return turn


async def end(
    db: Database,
    turn: int,
    state: TurnState = TurnState.DONE,
    *,
    part: PartState = PartState.FINAL,
    why: str = "",
) -> None:
    """The turn ends with one part."""
    shown = Part(0, PartKind.TEXT, "text", part, platform_id="m1" if part is PartState.FINAL else "")
    error = "" if state is TurnState.DONE else "runtime"
    await db.transact(save_turn, turn, [PartChange(shown, why)], 4000.0, state=state, error=error)


async def due_again(db: Database, one: Schedule) -> Schedule:
    """What has become of it since."""
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    return after


async def test_it_comes_back_as_it_was_written(db: Database) -> None:
    found = await made(db)
    assert found == replace(ONE, id=found.id, made_at=100.0)
    assert await db.transact(list_schedules) == [found]
    assert await db.transact(list_chat_schedules, "tg", "c1") == [found]
    assert await db.transact(list_chat_schedules, "tg", "c2") == []
    assert await db.transact(find_next_due) == 3600.0
    assert await db.transact(list_due_schedules, 3599.0) == []
    assert await db.transact(list_due_schedules, 3600.0) == [found]
    [deed] = [
        entry.deed for entry in await db.transact(list_audit_entries) if entry.deed.action == "schedule"
    ]
    assert (deed.subject, deed.detail) == (f"schedule {found.id}", "hourly")


async def test_a_firing_is_taken_once_however_many_ask(db: Database) -> None:
    one = await made(db)
    taken = await asyncio.gather(*(db.transact(open_due_run, fire(one), 3600.0) for _ in range(8)))
    [turn] = [found[0] for found in taken if found]
    loaded = (await db.transact(load_turn, turn.turn)).turn
    assert loaded is not None
    assert (loaded.kind, loaded.state, loaded.thread_id) == (TurnKind.CHAT, TurnState.ACCEPTED, "thread-9")
    assert [(told.text, told.sender) for told in loaded.messages] == [("now: what is new?", ANN)]
    assert (loaded.address.chat, loaded.address.topic, loaded.address.reply_to) == ("c1", "", "")
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    assert after.next_at == 7200.0
    assert len(await db.transact(list_scheduled_runs, one.id)) == 1


async def test_an_instant_is_fired_for_once_even_when_it_comes_again(db: Database) -> None:
    one = await made(db)
    await end(db, (await opened(db, fire(one))).turn)
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    again = replace(after, next_at=3600.0)
    assert await db.transact(update_schedule, after, again, ACTOR, 3700.0)
    assert await db.transact(open_due_run, fire(again), 3700.0) is None
    assert len(await db.transact(list_scheduled_runs, one.id)) == 1


async def test_the_last_firing_ends_it(db: Database) -> None:
    one = await made(db)
    await opened(db, fire(one, following=0.0))
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    assert (after.state, after.next_at) == (ScheduleState.DONE, 0.0)
    assert await db.transact(find_next_due) == 0.0


async def test_what_is_skipped_is_written_down(db: Database) -> None:
    one = await made(db)
    told = await opened(db, fire(one, skip=SkipReason.MISSED, missed=4, notice="missed"))
    assert [part.content for part in (await db.transact(load_turn, told.turn)).parts] == ["missed"]
    later = await db.transact(load_schedule, one.id)
    assert later is not None
    turn = await opened(db, fire(later), 7200.0)
    last = await db.transact(load_schedule, one.id)
    assert last is not None
    assert await db.transact(open_due_run, fire(last), 10800.0) == []
    overlap, open_, missed = await db.transact(list_scheduled_runs, one.id)
    assert (overlap.skipped, overlap.turn) == ("overlap", 0)
    assert (open_.skipped, open_.turn, open_.state, open_.delivered) == (
        "",
        turn.turn,
        TurnState.ACCEPTED,
        False,
    )
    assert (missed.skipped, missed.missed) == ("missed", 4)


async def test_delivered_is_what_the_platform_has_named(db: Database) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    assert await db.transact(list_ended_runs) == []
    assert await db.transact(has_unjudged_runs)
    await end(db, turn.turn, part=PartState.UNDELIVERED, why="permission")
    [closed] = await db.transact(list_ended_runs)
    assert (closed.good, closed.permanent, closed.problem) == (False, True, "permission")
    [firing] = await db.transact(list_scheduled_runs, one.id)
    assert (firing.state, firing.delivered, firing.problem) == (TurnState.DONE, False, "permission")
    assert await db.transact(judge_run, closed, 0.0, "alert", 4000.0) is None
    assert await db.transact(list_ended_runs) == []
    assert not await db.transact(has_unjudged_runs)
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    assert after.failures == 1


async def test_a_retry_is_another_turn_of_the_same_firing(db: Database) -> None:
    one = await made(db)
    await end(db, (await opened(db, fire(one))).turn, TurnState.FAILED)
    [closed] = await db.transact(list_ended_runs)
    assert (closed.good, closed.permanent, closed.attempt) == (False, False, 1)
    assert await db.transact(judge_run, closed, 3660.0, "alert", 3600.0) is None
    assert await db.transact(list_due_retries, 3659.0) == []
    [retry] = await db.transact(list_due_retries, 3660.0)
    taken = await asyncio.gather(*(db.transact(open_run_retry, retry, fire(one), 3660.0) for _ in range(4)))
    [again] = [found for found in taken if found]
    await end(db, again.turn)
    [good] = await db.transact(list_ended_runs)
    assert (good.good, good.attempt) == (True, 2)
    await db.transact(judge_run, good, 0.0, "", 3700.0)
    [firing] = await db.transact(list_scheduled_runs, one.id)
    assert (firing.attempt, firing.delivered, firing.turn) == (2, True, again.turn)


async def test_who_made_it_is_told_once_after_three_failures(db: Database) -> None:
    one = await made(db)
    told = []
    for number in range(5):
        now = await db.transact(load_schedule, one.id)
        assert now is not None
        await end(db, (await opened(db, fire(now), now.next_at)).turn, TurnState.FAILED)
        [closed] = await db.transact(list_ended_runs)
        told.append(await db.transact(judge_run, closed, 0.0, f"failed {number}", 4000.0))
    assert [found is not None for found in told] == [False, False, True, False, False]
    assert told[2] is not None
    [part] = (await db.transact(load_turn, told[2].turn)).parts
    assert part.content == "failed 2"


async def test_a_command_that_is_carried_out_again_does_not_fire_it_again(db: Database) -> None:
    one = await made(db)
    command = replace(ACTOR, key="turn:2")
    opened_now = await db.transact(trigger_schedule, fire(one), command, 200.0)
    assert opened_now is not None
    [turn] = opened_now
    await end(db, turn.turn)
    assert await db.transact(trigger_schedule, fire(one), command, 230.0) == []
    assert len(await db.transact(list_scheduled_runs, one.id)) == 1
    assert await db.transact(trigger_schedule, fire(one), replace(ACTOR, key="turn:3"), 240.0)
    assert await db.transact(trigger_schedule, fire(one), replace(ACTOR, key="turn:4"), 250.0) is None


async def test_a_paused_or_deleted_one_fires_no_more(db: Database) -> None:
    one = await made(db)
    paused = replace(one, state=ScheduleState.PAUSED, next_at=0.0)
    assert await db.transact(update_schedule, one, paused, ACTOR, 200.0)
    assert not await db.transact(update_schedule, one, paused, ACTOR, 200.0)
    assert await db.transact(list_due_schedules, 1e9) == []
    assert await db.transact(open_due_run, fire(one), 3600.0) is None
    assert await db.transact(delete_schedule, one.id, ACTOR, 300.0)
    assert not await db.transact(delete_schedule, one.id, ACTOR, 300.0)
    assert await db.transact(load_schedule, one.id) is None


async def test_drafts_are_forgotten(db: Database) -> None:
    draft = await made(db, replace(ONE, state=ScheduleState.DRAFT))
    assert await db.transact(list_schedules) == []
    assert await db.transact(count_chat_schedules, "tg", "c1") == 0
    await db.transact(purge_schedules, 100.0, 0.0)
    assert await db.transact(load_schedule, draft.id) is not None
    await db.transact(purge_schedules, 101.0, 0.0)
    assert await db.transact(load_schedule, draft.id) is None


async def test_the_time_zone_of_a_chat(db: Database) -> None:
    assert await db.transact(load_time_zone, "tg", "c1") == ""
    for name in ("Europe/Berlin", "Asia/Tokyo"):
        await db.transact(set_time_zone, "tg", "c1", name)
        assert await db.transact(load_time_zone, "tg", "c1") == name
    assert await db.transact(load_time_zone, "tg", "c2") == ""


async def test_the_time_zone_of_a_person_is_that_of_their_private_chat(db: Database) -> None:
    await answered(db, 100)
    await answered(db, 100, sender=BEN, chat="c2")
    assert await db.transact(load_person_zone, "tg", "telegram:7") == ""
    await db.transact(set_time_zone, "tg", "c1", "Asia/Tokyo")
    assert await db.transact(load_person_zone, "tg", "telegram:7") == "Asia/Tokyo"
    assert await db.transact(load_person_zone, "tg", "telegram:8") == ""
    assert await db.transact(load_person_zone, "other", "telegram:7") == ""


async def test_a_chat_that_moves_takes_its_schedules_along(db: Database) -> None:
    one = await made(db)
    await db.transact(set_time_zone, "tg", "c1", "Asia/Tokyo")
    await db.transact(migrate_chat, "tg", "c1", "c2")
    moved = await db.transact(load_schedule, one.id)
    assert moved is not None
    assert moved.chat == "c2"
    assert await db.transact(load_time_zone, "tg", "c2") == "Asia/Tokyo"


async def test_a_thread_below_its_result_goes_on_with_it(db: Database) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    address = one.address
    await db.transact(save_turn, turn.turn, [], 3700.0, seen=(address, turn.conversation, ["m77"]))
    inside = message("and yesterday?", chat="c1", kind=ChatKind.GROUP, topic="m77", reply_to="m99")
    [taken] = await accept(db, admission(inside))
    assert taken.conversation == turn.conversation
    assert (taken.address.topic, taken.address.chat) == ("m77", "c1")
    elsewhere = message("hello", chat="c1", kind=ChatKind.GROUP, topic="m78")
    [other] = await accept(db, admission(elsewhere))
    assert other.conversation != turn.conversation


async def test_a_firing_leaves_alone_what_people_talk_about_below_an_earlier_one(db: Database) -> None:
    one = await made(db)
    first = await opened(db, fire(one))
    asking = (await db.transact(load_turn, first.turn)).turn
    assert asking is not None
    await end(db, first.turn)
    await db.transact(save_turn, first.turn, [], 3700.0, seen=(one.address, first.conversation, ["m77"]))
    await db.transact(open_interrupt, asking, "i1", ["yes", "no"], 3700.0)
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    second = await opened(db, fire(after, thread_id="thread-10"), now=7200.0)
    assert second.conversation != first.conversation
    word = message("yes", chat="c1", kind=ChatKind.GROUP, reply_to="m77")
    [taken] = await accept(db, admission(word))
    answer = (await db.transact(load_turn, taken.turn)).turn
    assert answer is not None
    assert (answer.conversation, answer.thread_id, answer.answers) == (first.conversation, "thread-9", "i1")


async def test_a_firing_begins_anew_where_nobody_talks(db: Database) -> None:
    one = await made(db)
    first = await opened(db, fire(one))
    await end(db, first.turn)
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    second = await opened(db, fire(after, thread_id="thread-10"), now=7200.0)
    turn = (await db.transact(load_turn, second.turn)).turn
    assert turn is not None
    assert (turn.conversation, turn.thread_id) == (first.conversation, "thread-10")


async def test_firings_of_all_schedules_within_a_span(db: Database) -> None:
    one, other = await made(db), await made(db, replace(ONE, chat="c2", next_at=7200.0))
    turn = await opened(db, fire(one))
    await end(db, turn.turn)
    await opened(db, fire(other), now=7200.0)
    found = await db.transact(list_runs_between, 3600.0, 7200.0, 10)
    [first] = found
    assert (first.schedule, first.due_at, first.delivered) == (one.id, 3600.0, True)
    found = await db.transact(list_runs_between, 0.0, 7201.0, 10)
    assert [firing.schedule for firing in found] == [one.id, other.id]
    assert len(await db.transact(list_runs_between, 0.0, 7201.0, 1)) == 1


async def test_what_stands_in_part_is_not_tried_again(db: Database) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    shown = Part(0, PartKind.TEXT, "one", PartState.FINAL, platform_id="m1")
    lost = Part(1, PartKind.TEXT, "two", PartState.UNDELIVERED)
    parts = [PartChange(shown), PartChange(lost, "transient")]
    await db.transact(save_turn, turn.turn, parts, 4000.0, state=TurnState.FAILED, error="undelivered")
    [closed] = await db.transact(list_ended_runs)
    assert (closed.good, closed.permanent, closed.problem) == (False, True, "transient")


@pytest.mark.parametrize("sent", [{"repeated": True}, {"platform_id": "m1"}])
async def test_what_may_stand_is_not_tried_again(db: Database, sent: dict[str, Any]) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    lost = replace(Part(0, PartKind.TEXT, "one", PartState.UNDELIVERED), **sent)
    parts = [PartChange(lost, "transient")]
    await db.transact(save_turn, turn.turn, parts, 4000.0, state=TurnState.FAILED, error="undelivered")
    [closed] = await db.transact(list_ended_runs)
    assert (closed.good, closed.permanent, closed.problem) == (False, True, "transient")


async def test_what_was_refused_is_tried_again(db: Database) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    lost = Part(0, PartKind.TEXT, "one", PartState.UNDELIVERED)
    parts = [PartChange(lost, "transient")]
    await db.transact(save_turn, turn.turn, parts, 4000.0, state=TurnState.FAILED, error="undelivered")
    [closed] = await db.transact(list_ended_runs)
    assert (closed.good, closed.permanent, closed.problem) == (False, False, "transient")


async def test_how_far_a_digest_came_outlives_its_firing(db: Database) -> None:
    one = await made(db, replace(ONE, kind=ScheduleKind.DIGEST))
    await end(db, (await opened(db, fire(one))).turn)
    [closed] = await db.transact(list_ended_runs)
    assert await db.transact(judge_run, closed, 0.0, "", 4000.0) is None
    await db.transact(purge_schedules, 0.0, 1e9)
    assert await db.transact(list_scheduled_runs, one.id) == []
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    assert after.digested_at == 3600.0
    assert await db.transact(open_due_run, fire(after, skip=SkipReason.QUIET), 7200.0) == []
    quiet = await db.transact(load_schedule, one.id)
    assert quiet is not None
    assert quiet.digested_at == 7200.0
    turn = await opened(db, fire(quiet), 10_800.0)
    await end(db, turn.turn, TurnState.FAILED)
    [failed] = await db.transact(list_ended_runs)
    await db.transact(judge_run, failed, 0.0, "", 11_000.0)
    same = await db.transact(load_schedule, one.id)
    assert same is not None
    assert same.digested_at == 7200.0


async def test_a_retry_that_brings_nothing_is_given_up_and_says_why_once(db: Database) -> None:
    one = await made(db)
    await end(db, (await opened(db, fire(one))).turn, TurnState.FAILED)
    [closed] = await db.transact(list_ended_runs)
    await db.transact(judge_run, closed, 3660.0, "alert", 3600.0)
    [retry] = await db.transact(list_due_retries, 3660.0)
    nothing = fire(one, skip=SkipReason.BUDGET, notice="The budget is used up.")
    taken = await asyncio.gather(*(db.transact(open_run_retry, retry, nothing, 3660.0) for _ in range(4)))
    [told] = [found for found in taken if found]
    [part] = (await db.transact(load_turn, told.turn)).parts
    assert part.content == "The budget is used up."
    assert await db.transact(list_due_retries, 1e9) == []


async def test_what_somebody_had_answered_again_is_not_tried_again(db: Database) -> None:
    one = await made(db)
    turn = await opened(db, fire(one))
    await end(db, turn.turn, TurnState.FAILED)
    [closed] = await db.transact(list_ended_runs)
    await db.transact(judge_run, closed, 3660.0, "alert", 3600.0)
    answered = await db.transact(find_last_answered, turn.conversation)
    view = await db.transact(load_conversation, turn.conversation)
    assert answered is not None
    assert view is not None
    again = {"checkpoint": "", "thread_id": "thread-9", "model": "", "limits": UNLIMITED}
    assert await db.transact(repeat_answer, answered, view, **again, actor=ACTOR, now=3630.0)  # type: ignore[arg-type]
    assert await db.transact(list_due_retries, 1e9) == []


async def test_a_retry_that_is_dropped_counts(db: Database) -> None:
    one = await made(db)
    await end(db, (await opened(db, fire(one))).turn, TurnState.FAILED)
    [closed] = await db.transact(list_ended_runs)
    await db.transact(judge_run, closed, 3660.0, "alert", 3600.0)
    [retry] = await db.transact(list_due_retries, 3660.0)
    assert await db.transact(open_run_retry, retry, None, 3660.0) is None
    after = await db.transact(load_schedule, one.id)
    assert after is not None
    assert after.failures == 1


async def test_a_retry_is_dropped_while_a_newer_run_works(db: Database) -> None:
    one = await made(db)
    failed = await opened(db, fire(one))
    await end(db, failed.turn, TurnState.FAILED)
    [closed] = await db.transact(list_ended_runs)
    await db.transact(judge_run, closed, 7260.0, "alert", 6660.0)
    one = await due_again(db, one)
    newer = await opened(db, fire(one), now=one.next_at)
    [retry] = await db.transact(list_due_retries, 7260.0)
    assert await db.transact(open_run_retry, retry, fire(one), 7260.0) is None
    assert await db.transact(list_due_retries, 1e9) == []
    assert [run.turn for run in await db.transact(list_scheduled_runs, one.id)] == [newer.turn, failed.turn]
    assert (await due_again(db, one)).failures == 1


async def test_a_question_that_nobody_answers_for_a_day_holds_nothing_up(db: Database) -> None:
    one = await made(db)
    first = await opened(db, fire(one))
    asking = (await db.transact(load_turn, first.turn)).turn
    assert asking is not None
    await end(db, first.turn)
    await db.transact(open_interrupt, asking, "i1", None, 3700.0)
    one = await due_again(db, one)
    soon = await opened(db, fire(one, thread_id="thread-10"), now=one.next_at)
    assert soon.conversation != first.conversation
    await end(db, soon.turn)
    one = await due_again(db, one)
    late = await opened(db, fire(one, thread_id="thread-11"), now=3700.0 + 25 * 3600.0)
    assert late.conversation == first.conversation


def test_which_try_a_message_stands_for() -> None:
    for event, attempt in (
        ("schedule:7", 0),
        ("schedule:7:3600:one", 0),
        ("schedule:7:3600:1:1", 0),
        ("schedule:7:3600:1", 1),
        ("schedule:7:3600.0:3", 3),
        ("schedule:7:now:3600.5", 1),
        ("1700000000.000100", 0),
    ):
        assert attempt_of(event) == attempt
