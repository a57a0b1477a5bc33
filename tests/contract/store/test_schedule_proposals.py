"""What the agent proposed to schedule, on SQLite and on PostgreSQL: each is made once and decided once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import PressedButton
from bot.features.schedules.proposal_store import (
    Proposal,
    ProposalAction,
    ProposalDecision,
    add_proposal,
    carry_out_proposal,
    discard_proposal,
    find_proposal,
    list_proposals,
    take_decisions,
)
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleState,
    delete_schedule,
    list_schedules,
    load_schedule,
    purge_schedules,
    update_schedule,
)
from bot.store import Database
from bot.store.audit import list_audit_entries
from bot.store.command_buttons import find_pressed_button
from bot.store.person_data import PersonKey
from bot.store.turns import load_turn
from bot.turn import Turn
from tests.contract.store.inbound_messages import BEN, accept, admission, message
from tests.contract.store.test_schedules import ACTOR, ONE, made
from tests.harness.person_data import erase_features

FIRST = Proposal(turn=9, interrupt="i1", conversation=1, draft=0, action=ProposalAction.CREATE)
DRAFT = replace(ONE, state=ScheduleState.DRAFT, made_at=100.0, next_at=0.0)


async def proposed(db: Database, made_by: Proposal = FIRST, draft: Schedule = DRAFT) -> Schedule:
    """The draft of a proposal."""
    found = await db.transact(load_schedule, await db.transact(add_proposal, made_by, draft, 100.0))
    assert found is not None
    return found


async def next_turn(db: Database) -> Turn:
    """A turn in the conversation of the proposals."""
    [taken] = await accept(db, admission(message()))
    stored = await db.transact(load_turn, taken.turn)
    assert stored is not None
    assert stored.turn.conversation == FIRST.conversation
    return stored.turn


async def test_a_call_makes_one_draft_and_so_does_its_repetition(db: Database) -> None:
    draft = await proposed(db, draft=ONE)
    assert (draft.state, draft.next_at) == (ScheduleState.DRAFT, 0.0)
    again = await db.transact(add_proposal, FIRST, replace(DRAFT, text="another"), 101.0)
    same = await db.transact(add_proposal, replace(FIRST, interrupt="i2"), DRAFT, 101.0)
    other = await db.transact(
        add_proposal, replace(FIRST, interrupt="i3"), replace(DRAFT, zone="Asia/Tokyo"), 101.0
    )
    elsewhere = await db.transact(add_proposal, replace(FIRST, turn=10), DRAFT, 101.0)
    assert [again, same] == [draft.id] * 2
    assert len({draft.id, other, elsewhere}) == 3
    assert [one.draft for one, _ in await db.transact(list_proposals, 9)] == [draft.id, other]
    assert await db.transact(list_audit_entries) == []


async def test_a_confirmed_draft_is_a_schedule_and_is_told_once(db: Database) -> None:
    draft = await proposed(db)
    active = replace(draft, state=ScheduleState.ACTIVE, next_at=3600.0)
    assert await db.transact(update_schedule, draft, active, ACTOR, 110.0)
    assert not await db.transact(update_schedule, draft, active, ACTOR, 111.0)
    found = await db.transact(find_proposal, draft.id)
    assert found is not None
    assert found.decision is ProposalDecision.CONFIRMED
    assert await db.transact(list_proposals, 9) == []
    turn = await next_turn(db)
    assert [one.draft for one in await db.transact(take_decisions, turn)] == [draft.id]
    assert [one.draft for one in await db.transact(take_decisions, turn)] == [draft.id]
    assert await db.transact(take_decisions, replace(turn, id=turn.id + 1)) == []
    retry = replace(turn, id=turn.id + 2, repeats=turn.id)
    assert [one.draft for one in await db.transact(take_decisions, retry)] == [draft.id]
    assert await db.transact(take_decisions, replace(turn, conversation=99)) == []


@pytest.mark.parametrize("delete", [True, False])
async def test_a_proposal_is_carried_out_once(db: Database, delete: bool) -> None:
    one = await made(db)
    action = ProposalAction.DELETE if delete else ProposalAction.CHANGE
    draft = await proposed(db, replace(FIRST, action=action, target=one.id), replace(DRAFT, text="rather"))
    after = None if delete else replace(one, text="rather")
    stale = replace(one, text="meanwhile")
    assert not await db.transact(carry_out_proposal, draft.id, stale, after, ACTOR, 110.0)
    assert await db.transact(carry_out_proposal, draft.id, one, after, ACTOR, 110.0)
    assert await db.transact(load_schedule, one.id) == after
    assert await db.transact(load_schedule, draft.id) is None
    left = after or one
    assert not await db.transact(carry_out_proposal, draft.id, left, after, ACTOR, 111.0)


async def test_a_discarded_proposal_changes_nothing(db: Database) -> None:
    one = await made(db)
    draft = await proposed(db, replace(FIRST, action=ProposalAction.CHANGE, target=one.id))
    found = await db.transact(find_proposal, draft.id)
    assert found is not None
    before = await db.transact(list_audit_entries)
    assert await db.transact(discard_proposal, found, ACTOR, 110.0)
    assert not await db.transact(discard_proposal, found, ACTOR, 111.0)
    assert await db.transact(load_schedule, draft.id) is None
    assert await db.transact(load_schedule, one.id) == one
    assert await db.transact(list_audit_entries) == before
    [told] = await db.transact(take_decisions, await next_turn(db))
    assert told.decision is ProposalDecision.DISCARDED


async def test_what_was_proposed_for_a_schedule_goes_with_it(db: Database) -> None:
    """Another schedule may get its number."""
    one = await made(db)
    draft = await proposed(db, replace(FIRST, action=ProposalAction.DELETE, target=one.id))
    await db.transact(delete_schedule, one.id, ACTOR, 110.0)
    assert await db.transact(load_schedule, draft.id) is None
    found = await db.transact(find_proposal, draft.id)
    assert found is not None
    assert found.decision is ProposalDecision.DISCARDED


async def test_what_was_proposed_for_a_schedule_is_withdrawn_when_it_changes(db: Database) -> None:
    """The previews show what it was."""
    one = await made(db)
    calls = [(ProposalAction.CHANGE, "tea"), (ProposalAction.CHANGE, "coffee"), (ProposalAction.DELETE, "")]
    made_by = [replace(FIRST, interrupt=text, action=action, target=one.id) for action, text in calls]
    tea, coffee, gone = [
        await proposed(db, proposal, replace(DRAFT, text=proposal.interrupt)) for proposal in made_by
    ]
    paused = replace(one, state=ScheduleState.PAUSED, next_at=0.0)
    assert await db.transact(update_schedule, one, paused, ACTOR, 110.0)
    assert len(await db.transact(list_proposals, 9)) == 3
    changed = replace(paused, text="tea")
    assert await db.transact(carry_out_proposal, tea.id, paused, changed, ACTOR, 111.0)
    decided = [await db.transact(find_proposal, draft.id) for draft in (tea, coffee, gone)]
    assert [proposal and proposal.decision for proposal in decided] == [
        ProposalDecision.CONFIRMED,
        ProposalDecision.DISCARDED,
        ProposalDecision.DISCARDED,
    ]
    assert not await db.transact(carry_out_proposal, coffee.id, changed, None, ACTOR, 112.0)
    assert [await db.transact(load_schedule, draft.id) for draft in (tea, coffee, gone)] == [None] * 3


async def test_what_nobody_decided_is_forgotten_with_its_draft(db: Database) -> None:
    draft = await proposed(db)
    await db.transact(purge_schedules, 100.0, 0.0)
    assert await db.transact(find_proposal, draft.id) is not None
    await db.transact(purge_schedules, 101.0, 0.0)
    assert await db.transact(find_proposal, draft.id) is None
    assert await db.transact(load_schedule, draft.id) is None


async def test_an_erasure_takes_proposals_about_the_persons_schedules(db: Database) -> None:
    one = await made(db)
    by_ben = replace(DRAFT, maker=BEN)
    draft = await proposed(db, replace(FIRST, action=ProposalAction.DELETE, target=one.id), by_ben)
    await erase_features(db, PersonKey("telegram", one.maker.id))
    assert await db.transact(find_proposal, draft.id) is None
    assert await db.transact(load_schedule, draft.id) is None
    assert await db.transact(list_schedules) == []


async def test_a_click_on_another_message_is_no_button(db: Database) -> None:
    await made(db)
    await proposed(db)
    found: PressedButton | None = await db.transact(find_pressed_button, message(text="Save"))
    assert found is None
