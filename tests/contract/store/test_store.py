"""What every database must do for the bot: one suite, run on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    Isolation,
    IsolationPolicy,
    Part,
    PartKind,
    PartState,
)
from bot.errors import StoreError, StoreUnavailable
from bot.store import Database
from bot.store.admission_types import Admission, Verdict
from bot.store.audit import Actor, list_audit_entries
from bot.store.chat_migration import migrate_chat
from bot.store.connection import Connection, Statement
from bot.store.conversations import (
    list_conversations,
    load_conversation,
    load_lane,
    set_agent,
    set_model,
    set_plan_mode,
)
from bot.store.database import PostgresDatabase, urgent
from bot.store.inbox import accept_batch, load_cursor
from bot.store.read_models import list_turns
from bot.store.retries import find_last_answered, open_retry, repeat_answer
from bot.store.turns import (
    AgentHandoff,
    Begin,
    PartChange,
    Resume,
    claim_turn,
    hand_off_to_agent,
    load_turn,
    save_turn,
    set_last_run,
    set_run,
    stop_turn,
)
from bot.store.usage import increment_counter, list_counters
from bot.store.usage_limits import UNLIMITED
from bot.turn import Busy, TurnKind, TurnState
from tests.contract.store.inbound_messages import words
from tests.harness.open_turns import list_open_control_turns, list_open_lanes
from tests.harness.store_templates import open_store

from .inbound_messages import ANN, BEN, QUEUE, accept, admission, changed, message


def handed(queue_limit: int) -> AgentHandoff:
    """How a command is given to the agent."""
    return AgentHandoff(Busy.QUEUE, UNLIMITED, queue_limit, words)


async def test_a_message_becomes_a_turn_that_can_be_claimed(db: Database) -> None:
    file = Attachment(AttachmentKind.IMAGE, "cat.png", "ref-1", 12, "image/png")
    [accepted] = await accept(db, admission(message("hi", attachments=(file,))), cursor="41")
    claim = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(claim, Begin)
    assert claim.turn.state is TurnState.RUNNING
    assert [(m.text, m.sender, m.attachments) for m in claim.turn.messages] == [("hi", ANN, (file,))]
    assert claim.turn.address.chat == "c1"
    assert claim.turn.address.reply_to == ""
    assert await db.transact(load_cursor, "tg") == "41"


async def test_the_same_event_is_stored_once(db: Database) -> None:
    first = admission(message(event="same"))
    assert len(await accept(db, first)) == 1
    assert await accept(db, first, cursor="9") == []
    assert await db.transact(load_cursor, "tg") == "9"
    assert len(await db.transact(list_turns, 1)) == 1


async def test_events_of_two_accounts_do_not_collide(db: Database) -> None:
    one = message(event="same")
    other = replace(one, origin=replace(one.origin, account="tg2"))
    assert len(await accept(db, admission(one))) == 1
    assert len(await db.transact(accept_batch, "tg2", [admission(other)], "", 1.0, QUEUE)) == 1


async def test_what_queues_up_merges_into_the_next_turn(db: Database) -> None:
    [first] = await accept(db, admission(message("one")))
    running = await db.transact(claim_turn, first.conversation, 101.0)
    merged = await accept(db, admission(message("two")), admission(message("three")))
    assert {turn.turn for turn in merged} != {first.turn}
    assert len({turn.turn for turn in merged}) == 1
    again = await db.transact(claim_turn, first.conversation, 102.0)
    assert again.turn is not None
    assert running.turn is not None
    assert again.turn.id == running.turn.id
    assert isinstance(again, Resume)
    await db.transact(save_turn, running.turn.id, [], 103.0, state=TurnState.DONE)
    following = await db.transact(claim_turn, first.conversation, 104.0)
    assert following.turn is not None
    assert [m.text for m in following.turn.messages] == ["two", "three"]


async def test_a_queue_holds_so_many_and_refuses_with_a_notice(db: Database) -> None:
    await accept(db, *(admission(message(f"{n}")) for n in range(QUEUE)))
    [refused] = await accept(db, admission(message("too much")))
    assert refused.kind is TurnKind.NOTICE
    assert refused.refused
    notice = await db.transact(load_turn, refused.turn)
    assert notice.turn is not None
    assert notice.turn.state is TurnState.DELIVERING
    assert [part.content for part in notice.parts] == ["full"]
    claim = await db.transact(claim_turn, refused.conversation, 101.0)
    assert claim.turn is not None
    assert len(claim.turn.messages) == QUEUE


async def test_a_command_has_a_turn_of_its_own(db: Database) -> None:
    [chat, command] = await accept(
        db, admission(message("hi")), admission(message("/status"), Verdict.COMMAND)
    )
    assert command.kind is TurnKind.COMMAND
    assert command.turn != chat.turn
    assert command.conversation == chat.conversation
    assert await db.transact(list_open_control_turns) == [command.turn]
    assert await db.transact(list_open_lanes) == [chat.conversation]


async def test_a_command_may_become_the_agents(db: Database) -> None:
    [running] = await accept(db, admission(message("hi")))
    assert (await db.transact(claim_turn, running.conversation, 101.0)).turn is not None
    [waits, asked] = await accept(
        db, admission(message("waits")), admission(message("/skill x"), Verdict.COMMAND)
    )
    command = (await db.transact(load_turn, asked.turn)).turn
    assert command is not None
    assert await db.transact(hand_off_to_agent, command, handed(1), 103.0) == ("full", False), (
        "one waits already"
    )
    assert await db.transact(list_open_control_turns) == [asked.turn]
    assert await db.transact(hand_off_to_agent, command, handed(2), 103.0) == ("", False)
    assert await db.transact(list_open_control_turns) == []
    [later] = await accept(db, admission(message("later")))
    assert later.turn == asked.turn, "what comes later joins what came last"
    for turn, texts in ((running.turn, ["hi"]), (waits.turn, ["waits"]), (asked.turn, ["/skill x", "later"])):
        claim = await db.transact(claim_turn, running.conversation, 102.0)
        assert claim.turn is not None
        assert (claim.turn.id, [m.text for m in claim.turn.messages]) == (turn, texts)
        await db.transact(save_turn, turn, [], 103.0, state=TurnState.DONE)
    assert await db.transact(list_open_lanes) == []


async def test_a_command_that_is_answered_stays_one(db: Database) -> None:
    [asked] = await accept(db, admission(message("/x"), Verdict.COMMAND))
    command = (await db.transact(load_turn, asked.turn)).turn
    assert command is not None
    await db.transact(save_turn, asked.turn, [], 102.0, state=TurnState.DONE)
    await db.transact(hand_off_to_agent, command, handed(QUEUE), 103.0)
    assert await db.transact(list_open_lanes) == []
    loaded = (await db.transact(load_turn, asked.turn)).turn
    assert loaded is not None
    assert loaded.kind is TurnKind.COMMAND


async def test_new_turns_the_thread_within_the_transaction(db: Database) -> None:
    await accept(db, admission(message("old")))
    [_, after] = await accept(
        db,
        admission(message("/new"), Verdict.COMMAND, new_thread=True, thread_id="fresh"),
        admission(message("new")),
    )
    first = await db.transact(claim_turn, after.conversation, 101.0)
    assert first.turn is not None
    assert [m.text for m in first.turn.messages] == ["old"]
    assert first.turn.thread_id != "fresh"
    await db.transact(save_turn, first.turn.id, [], 102.0, state=TurnState.DONE)
    second = await db.transact(claim_turn, after.conversation, 103.0)
    assert second.turn is not None
    assert [m.text for m in second.turn.messages] == ["new"]
    assert second.turn.thread_id == "fresh"


async def test_an_album_is_held_until_its_parts_are_there(db: Database) -> None:
    [one] = await accept(db, admission(message("a"), hold_seconds=0.7), now=100.0)
    assert (await db.transact(claim_turn, one.conversation, 100.5)).seconds == pytest.approx(0.2)
    await accept(db, admission(message("b"), hold_seconds=0.7), now=100.5)
    assert (await db.transact(claim_turn, one.conversation, 101.0)).seconds == pytest.approx(0.2)
    claim = await db.transact(claim_turn, one.conversation, 101.3)
    assert claim.turn is not None
    assert len(claim.turn.messages) == 2


async def test_a_stranger_is_told_once_a_day_and_nothing_of_theirs_is_kept(db: Database) -> None:
    def knock() -> Admission:
        return admission(message("secret"), Verdict.NOTICE, notice="who are you", notice_kind="stranger")

    assert len(await accept(db, knock(), now=1000.0)) == 1
    assert await accept(db, knock(), now=1000.0 + 3600) == []
    assert len(await accept(db, knock(), now=1000.0 + 25 * 3600)) == 1


@pytest.mark.parametrize(
    ("isolation", "same"),
    [(Isolation.CHAT, True), (Isolation.TOPIC, False), (Isolation.MEMBER, False)],
)
async def test_isolation_decides_what_a_conversation_is(
    db: Database, isolation: Isolation, same: bool
) -> None:
    policy = IsolationPolicy(isolation)
    taken = await accept(
        db,
        admission(message(kind=ChatKind.GROUP, topic="t1"), policy=policy),
        admission(message(kind=ChatKind.GROUP, topic="t2", sender=BEN), policy=policy),
    )
    assert (taken[0].conversation == taken[1].conversation) is same


async def test_member_isolation_splits_one_topic(db: Database) -> None:
    policy = IsolationPolicy(Isolation.MEMBER)
    taken = await accept(
        db,
        admission(message(kind=ChatKind.GROUP, topic="t"), policy=policy),
        admission(message(kind=ChatKind.GROUP, topic="t", sender=BEN), policy=policy),
        admission(message(kind=ChatKind.GROUP, topic="t"), policy=policy),
    )
    assert taken[0].conversation != taken[1].conversation
    assert taken[0].conversation == taken[2].conversation


async def test_replies_in_a_group_find_their_chain(db: Database) -> None:
    [root] = await accept(db, admission(message(kind=ChatKind.GROUP, message_id="m1")))
    [reply] = await accept(db, admission(message(kind=ChatKind.GROUP, message_id="m2", reply_to="m1")))
    [deeper] = await accept(db, admission(message(kind=ChatKind.GROUP, message_id="m3", reply_to="m2")))
    [other] = await accept(db, admission(message(kind=ChatKind.GROUP, message_id="m4")))
    assert root.conversation == reply.conversation == deeper.conversation
    assert other.conversation != root.conversation
    claim = await db.transact(claim_turn, root.conversation, 101.0)
    assert claim.turn is not None
    assert claim.turn.address.reply_to == "m3"


async def test_replies_to_our_own_messages_find_their_chain(db: Database) -> None:
    [root] = await accept(db, admission(message(kind=ChatKind.GROUP, message_id="m1")))
    claim = await db.transact(claim_turn, root.conversation, 101.0)
    assert claim.turn is not None
    await db.transact(
        save_turn, claim.turn.id, [], 102.0, seen=(claim.turn.address, root.conversation, ["b1"])
    )
    [reply] = await accept(db, admission(message(kind=ChatKind.GROUP, reply_to="b1")))
    assert reply.conversation == root.conversation


async def test_a_command_in_a_group_means_the_latest_conversation(db: Database) -> None:
    await accept(db, admission(message(kind=ChatKind.GROUP)), now=100.0)
    [latest] = await accept(db, admission(message(kind=ChatKind.GROUP)), now=101.0)
    [command] = await accept(db, admission(message("/stop", kind=ChatKind.GROUP), Verdict.COMMAND), now=102.0)
    assert command.conversation == latest.conversation


async def test_a_migrated_group_keeps_its_conversation(db: Database) -> None:
    policy = IsolationPolicy(Isolation.CHAT)
    [before] = await accept(db, admission(message(chat="-1", kind=ChatKind.GROUP), policy=policy))
    await db.transact(migrate_chat, "tg", "-1", "-100")
    await db.transact(migrate_chat, "tg", "-1", "-100")
    [after] = await accept(db, admission(message(chat="-100", kind=ChatKind.GROUP), policy=policy))
    assert after.conversation == before.conversation
    claim = await db.transact(claim_turn, before.conversation, 101.0)
    assert claim.turn is not None
    assert claim.turn.address.chat == "-100"


async def test_a_reply_chain_goes_on_in_the_chat_that_its_group_became(db: Database) -> None:
    [before] = await accept(db, admission(message(chat="-1", kind=ChatKind.GROUP, message_id="5")))
    await db.transact(migrate_chat, "tg", "-1", "-100")
    turn = (await db.transact(claim_turn, before.conversation, 101.0)).turn
    assert turn is not None
    await db.transact(
        save_turn, turn.id, [], 102.0, state=TurnState.DONE, seen=(turn.address, turn.conversation, ["1"])
    )
    [reply] = await accept(db, admission(message(chat="-100", kind=ChatKind.GROUP, reply_to="1")))
    assert reply.conversation == before.conversation


async def test_messages_of_the_new_chat_are_not_taken_for_the_old_ones(db: Database) -> None:
    said = message("old", chat="-1", kind=ChatKind.GROUP, message_id="5")
    [before] = await accept(db, admission(said))
    await db.transact(migrate_chat, "tg", "-1", "-100")
    await db.transact(
        accept_batch, "tg", [changed(message(chat="-100", message_id="5"), "chatter")], "", 100.0, QUEUE
    )
    [after] = await accept(db, admission(message(chat="-100", kind=ChatKind.GROUP, message_id="5")))
    assert after.conversation != before.conversation
    turn = (await db.transact(claim_turn, before.conversation, 101.0)).turn
    assert turn is not None
    assert [one.text for one in turn.messages] == ["old"]


async def test_migration_into_a_known_chat_leaves_both(db: Database) -> None:
    policy = IsolationPolicy(Isolation.CHAT)
    [old] = await accept(db, admission(message(chat="-1", kind=ChatKind.GROUP), policy=policy))
    [new] = await accept(db, admission(message(chat="-100", kind=ChatKind.GROUP), policy=policy))
    await db.transact(migrate_chat, "tg", "-1", "-100")
    found = await db.transact(list_conversations, "tg")
    assert {view.id for view in found} == {old.conversation, new.conversation}


async def test_parts_survive_as_they_were_written(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    claim = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert claim.turn is not None
    parts = [
        Part(0, PartKind.TEXT, "héllo 👋", PartState.POSTED, "p1"),
        Part(1, PartKind.FILE, "/mnt/x.png", PartState.INTENDED, filename="x.png", repeated=True),
        Part(2, PartKind.TEXT, "gone", PartState.PLANNED),
    ]
    await db.transact(save_turn, claim.turn.id, [PartChange(part) for part in parts], 102.0)
    await db.transact(save_turn, claim.turn.id, [], 103.0, state=TurnState.DELIVERING, error="x", keep=2)
    found = await db.transact(load_turn, claim.turn.id)
    assert found.parts == tuple(parts[:2])
    assert found.turn is not None
    assert found.turn.state is TurnState.DELIVERING
    [view] = await db.transact(list_turns, accepted.conversation)
    assert view.error == "x"
    assert view.finished_at == 0.0


async def test_a_part_without_content_is_dropped_with_the_others_that_nobody_keeps(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    parts = [
        Part(0, PartKind.TEXT, "", PartState.POSTED, "p1"),
        Part(1, PartKind.FILE, "/mnt/x.png", PartState.FINAL, "p2", filename="x.png"),
    ]
    await db.transact(save_turn, accepted.turn, [PartChange(part) for part in parts], 102.0)
    await db.transact(save_turn, accepted.turn, [], 103.0, state=TurnState.DONE, keep=2)
    assert (await db.transact(load_turn, accepted.turn)).parts == tuple(parts[1:])


async def test_run_and_attempt_are_kept(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    claim = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert claim.turn is not None
    await db.transact(set_run, claim.turn.id, "run-1", 2)
    found = (await db.transact(load_turn, claim.turn.id)).turn
    assert found is not None
    assert (found.run_id, found.attempt) == ("run-1", 2)


async def test_the_first_run_is_kept_beside_the_newest(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    await db.transact(claim_turn, accepted.conversation, 101.0)
    await db.transact(set_run, accepted.turn, "run-1", 1)
    await db.transact(set_last_run, accepted.turn, "run-3", 3)
    found = (await db.transact(load_turn, accepted.turn)).turn
    assert found is not None
    assert (found.run_id, found.attempt, found.last_run_id, found.last_attempt) == ("run-1", 1, "run-3", 3)
    await db.transact(set_run, accepted.turn, "", 4)
    found = (await db.transact(load_turn, accepted.turn)).turn
    assert found is not None
    assert (found.run_id, found.attempt, found.last_run_id, found.last_attempt) == ("", 4, "", 0)


async def test_stop_marks_only_what_runs(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    assert await db.transact(stop_turn, accepted.conversation, None, 104.0) == 0
    await db.transact(claim_turn, accepted.conversation, 101.0)
    assert await db.transact(stop_turn, accepted.conversation, None, 104.0) == accepted.turn
    found = (await db.transact(load_turn, accepted.turn)).turn
    assert found is not None
    assert found.stopped


async def test_retry_opens_a_turn_with_the_same_messages(db: Database) -> None:
    [accepted] = await accept(db, admission(message("again")))
    await db.transact(claim_turn, accepted.conversation, 101.0)
    await db.transact(set_run, accepted.turn, "run-1", 1)
    await db.transact(save_turn, accepted.turn, [], 102.0, state=TurnState.DONE)
    [command] = await accept(db, admission(message("/retry"), Verdict.COMMAND))
    answered = await db.transact(find_last_answered, accepted.conversation)
    assert answered is not None
    assert (answered.id, answered.run_id) == (accepted.turn, "run-1")
    turn = (await db.transact(load_turn, command.turn)).turn
    assert turn is not None
    opened = await db.transact(
        open_retry, turn, answered, checkpoint="cp", thread_id=answered.thread_id, text="ok", now=103.0
    )
    claim = await db.transact(claim_turn, accepted.conversation, 104.0)
    assert claim.turn is not None
    assert claim.turn.id == opened
    assert [m.text for m in claim.turn.messages] == ["again"]
    assert claim.turn.checkpoint == "cp"
    views = {view.id: view for view in await db.transact(list_turns, accepted.conversation)}
    assert views[accepted.turn].replaced
    assert views[command.turn].state is TurnState.DELIVERING
    assert [part.content for part in views[command.turn].parts] == ["ok"]


async def test_a_turn_is_repeated_without_a_command(db: Database) -> None:
    [accepted] = await accept(db, admission(message("again")))
    await db.transact(claim_turn, accepted.conversation, 101.0)
    await db.transact(save_turn, accepted.turn, [], 102.0, state=TurnState.DONE)
    answered = await db.transact(find_last_answered, accepted.conversation)
    view = await db.transact(load_conversation, accepted.conversation)
    assert answered is not None
    assert view is not None

    async def repeat() -> int:
        actor = Actor("key", "web:owner", "", "web", "")
        return await db.transact(
            repeat_answer,
            answered,
            view,
            checkpoint="cp",
            thread_id=answered.thread_id,
            model="account-model",
            limits=UNLIMITED,
            actor=actor,
            now=103.0,
        )

    opened, *late = sorted(await asyncio.gather(*(repeat() for _ in range(4))), reverse=True)
    assert late == [0, 0, 0]
    assert await repeat() == 0, "it is under way"
    turn = (await db.transact(claim_turn, accepted.conversation, 104.0)).turn
    first = (await db.transact(load_turn, accepted.turn)).turn
    assert turn is not None
    assert first is not None
    assert (turn.id, turn.repeats, turn.checkpoint, turn.model) == (opened, first.id, "cp", "account-model")
    assert turn.address == first.address
    assert [one.text for one in turn.messages] == ["again"]
    await db.transact(save_turn, opened, [], 105.0, state=TurnState.DONE)
    assert await repeat() == 0, "another answer was given since"
    [entry] = await db.transact(list_audit_entries)
    assert (entry.person, entry.deed.action, entry.deed.subject) == ("web:owner", "retry", f"turn {first.id}")


async def test_a_chosen_model_goes_with_the_next_turn(db: Database) -> None:
    [accepted] = await accept(db, admission(message(), model="account-model"))
    first = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert first is not None
    assert first.model == "account-model"
    await db.transact(save_turn, first.id, [], 102.0, state=TurnState.DONE)
    await db.transact(set_model, accepted.conversation, "mine")
    await accept(db, admission(message()))
    second = (await db.transact(claim_turn, accepted.conversation, 103.0)).turn
    assert second is not None
    assert second.model == "mine"
    await db.transact(save_turn, second.id, [], 104.0, state=TurnState.DONE)
    await accept(db, admission(message(), model="account-model"))
    await db.transact(set_model, accepted.conversation, "")
    third = (await db.transact(claim_turn, accepted.conversation, 105.0)).turn
    assert third is not None
    assert third.model == "account-model", "also where the choice was taken back while it waited"


async def test_a_chosen_agent_goes_with_the_next_turn_and_stays_with_it(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    first = (await db.transact(claim_turn, accepted.conversation, 101.0)).turn
    assert first is not None
    assert first.agent == ""
    await db.transact(set_agent, accepted.conversation, "coder")
    assert (await db.transact(load_turn, first.id)).turn == first
    await db.transact(save_turn, first.id, [], 102.0, state=TurnState.DONE)
    [later] = await accept(db, admission(message()))
    second = (await db.transact(claim_turn, accepted.conversation, 103.0)).turn
    assert second is not None
    assert second.agent == "coder"
    await db.transact(set_agent, accepted.conversation, "")
    again = (await db.transact(claim_turn, accepted.conversation, 104.0)).turn
    assert again is not None
    assert (again.id, again.agent) == (later.turn, "coder")
    view = await db.transact(load_conversation, accepted.conversation)
    assert view is not None
    assert view.agent == ""


async def test_a_choice_is_of_one_conversation_and_outlives_its_thread(db: Database) -> None:
    [one] = await accept(db, admission(message(chat="c1")))
    [other] = await accept(db, admission(message(chat="c2")))
    await db.transact(set_agent, one.conversation, "coder")
    await db.transact(set_plan_mode, one.conversation, True)
    new = replace(admission(message("/new", chat="c1"), Verdict.COMMAND), new_thread=True)
    await accept(db, new)
    views = {view.id: view for view in await db.transact(list_conversations, "tg")}
    assert (views[one.conversation].agent, views[other.conversation].agent) == ("coder", "")
    assert views[one.conversation].plan


async def test_counts_go_up(db: Database) -> None:
    await db.transact(increment_counter, "tg", "possibly_repeated")
    await db.transact(increment_counter, "tg", "possibly_repeated")
    [counter] = await db.transact(list_counters)
    assert (counter.account, counter.name, counter.value) == ("tg", "possibly_repeated", 2)


async def test_the_lane_shows_work_and_queue(db: Database) -> None:
    [accepted] = await accept(db, admission(message()))
    assert (await db.transact(load_lane, accepted.conversation)).queued == 1
    await db.transact(claim_turn, accepted.conversation, 101.0)
    await accept(db, admission(message()), admission(message()))
    lane = await db.transact(load_lane, accepted.conversation)
    assert (lane.turn, lane.state, lane.queued) == (accepted.turn, TurnState.RUNNING, 2)


async def test_views_page_from_the_newest(db: Database) -> None:
    for n in range(5):
        await accept(db, admission(message(f"chat {n}", chat=f"c{n}")))
    newest = await db.transact(list_conversations, "tg", limit=2)
    assert [view.title for view in newest] == ["chat 4", "chat 3"]
    older = await db.transact(list_conversations, "tg", before=newest[-1].id, limit=2)
    assert [view.title for view in older] == ["chat 2", "chat 1"]


async def test_accepting_and_claiming_at_once_loses_no_message(db: Database) -> None:
    [first] = await accept(db, admission(message("m0")))
    seen: list[str] = []

    async def talk() -> None:
        for n in range(1, 40):
            await accept(db, admission(message(f"m{n}")))

    async def work() -> None:
        while len(seen) < 40:
            claim = await db.transact(claim_turn, first.conversation, 200.0)
            if isinstance(claim, Begin | Resume):
                seen.extend(m.text for m in claim.turn.messages)
                await db.transact(save_turn, claim.turn.id, [], 200.0, state=TurnState.DONE)
            await asyncio.sleep(0)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(talk())
        group.create_task(work())
    assert seen == [f"m{n}" for n in range(40)]


async def test_a_failing_transaction_leaves_nothing(db: Database, database: Database) -> None:
    good, bad = admission(message("good")), admission(message("bad"), thread_id=None)
    with pytest.raises(Exception, match=r"(?i)null"):
        await accept(db, good, bad, cursor="7")
    assert await db.transact(load_cursor, "tg") == ""
    assert await db.transact(list_open_lanes) == []


async def test_what_the_database_refuses_is_an_error_of_the_store(database: Database) -> None:
    def wrong(connection: Connection) -> None:
        connection.execute(Statement("SELECT missing FROM nowhere"))

    with pytest.raises(StoreError, match="nowhere"):
        await database.transact(wrong)


async def test_what_is_urgent_overtakes_what_waits(tmp_path: Path) -> None:
    database = await open_store(tmp_path)
    order: list[str] = []
    gate = threading.Event()

    def note(_connection: Connection, name: str) -> None:
        order.append(name)

    def hold(_connection: Connection) -> None:
        gate.wait(5)

    async def ask(name: str, *, first: bool = False) -> None:
        urgent.set(first)
        await database.transact(note, name)

    async with asyncio.TaskGroup() as group:
        group.create_task(database.transact(hold))
        await asyncio.sleep(0)
        for name in ("a", "b"):
            group.create_task(ask(name))
        group.create_task(ask("control", first=True))
        await asyncio.sleep(0)
        gate.set()
    assert order == ["control", "a", "b"]
    await database.close()


async def test_turns_of_all_conversations_are_listed_newest_first(db: Database) -> None:
    [one] = await accept(db, admission(message("first", chat="c1")))
    [other] = await accept(db, admission(message("second", chat="c2")))
    found = await db.transact(list_turns, None)
    assert [(view.id, view.conversation) for view in found] == [
        (other.turn, other.conversation),
        (one.turn, one.conversation),
    ]
    assert [view.messages[0].text for view in found] == ["second", "first"]
    assert [view.id for view in await db.transact(list_turns, None, other.turn)] == [one.turn]
    assert [view.id for view in await db.transact(list_turns, one.conversation)] == [one.turn]


@pytest.mark.may_block
@pytest.mark.postgres
async def test_a_transaction_that_gets_no_connection_reports_an_outage(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, wait=0.0)
    try:
        found = await asyncio.gather(
            *(database.transact(_do_nothing) for _ in range(40)), return_exceptions=True
        )
    finally:
        await database.close()
    assert {type(one) for one in found} == {type(None), StoreUnavailable}


def _do_nothing(connection: Connection) -> None:
    del connection
