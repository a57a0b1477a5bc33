"""Schedules proposed by the agent, each stored as a draft until the addressed person decides.

The key is the turn and the interrupt, so a call that is answered again finds its draft. A decision is stored
in the transaction of the change, and only if the schedule has not changed since the draft was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from bot.features.schedules.schedule_store import (
    SCHEDULE_COLUMNS,
    Schedule,
    ScheduleState,
    add_schedule,
    decode_schedule,
    delete_schedule,
    load_schedule,
    update_schedule,
)
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql
from bot.turn import Turn, turn_author

_COLUMNS = "turn_id, interrupt, conversation_id, draft, action, target, decision, made_at"
ADD_PROPOSAL = sql(
    f"""INSERT INTO schedule_proposals ({_COLUMNS}) VALUES (:turn, :interrupt, :conversation, :draft, :action,
    :target, '', :now)"""
)
LIST_OF_TURN = sql(f"SELECT {_COLUMNS} FROM schedule_proposals WHERE turn_id = :turn ORDER BY draft")
LIST_OPEN = sql(
    f"""SELECT {_COLUMNS} FROM schedule_proposals WHERE conversation_id = :conversation AND turn_id < :turn
    AND decision = '' AND action <> 'delete' ORDER BY draft"""
)
# Find the proposal of a draft. SQLite may give the id of a deleted draft to another schedule.
FIND_PROPOSAL = sql(f"SELECT {_COLUMNS} FROM schedule_proposals WHERE draft = :draft ORDER BY made_at DESC")
GET_DRAFTS = sql(
    f"SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE state = 'draft' AND id IN :ids ORDER BY id", "ids"
)
# Remove a draft that was carried out; the draft of a new schedule has become the schedule itself.
DELETE_DRAFT = sql("DELETE FROM schedules WHERE id = :draft AND state = 'draft'")
DECIDE = sql(
    """UPDATE schedule_proposals SET decision = :decision WHERE draft = :draft AND decision = ''
    RETURNING draft"""
)
# List decisions reported to no turn yet, or only to this turn and turns with the same messages.
LIST_UNTOLD = sql(
    f"""SELECT {_COLUMNS} FROM schedule_proposals WHERE conversation_id = :conversation AND decision <> ''
    AND turn_id <> :turn AND (told_in IN (0, :turn) OR told_in IN (SELECT t.id FROM turns t
    WHERE t.conversation_id = :conversation AND :source IN (t.id, t.repeats))) ORDER BY draft"""
)
SET_TOLD = sql(
    """UPDATE schedule_proposals SET told_in = :turn WHERE conversation_id = :conversation
    AND decision <> '' AND turn_id <> :turn AND told_in = 0"""
)


class ProposalAction(StrEnum):
    """The effect of the person's confirmation."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


class ProposalDecision(StrEnum):
    """The person's decision: the proposal was carried out or not."""

    CONFIRMED = "confirmed"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal in a turn, made by the call with this `interrupt`.

    `draft` is the schedule that waits for confirmation: the one to create, or what `target` becomes. For a
    deletion, it has no text. `target` is 0 for a schedule to create. `decision` is None until there is one.
    """

    turn: int
    interrupt: str
    conversation: int
    draft: int
    action: ProposalAction
    target: int = 0
    decision: ProposalDecision | None = None


def add_proposal(connection: Connection, made: Proposal, draft: Schedule, now: float) -> int:
    """Store a proposal with its draft, and return the draft's id.

    A call that is answered again after a crash, and one with the same content in its turn, get the existing
    draft.
    """
    known = _list_of_turn(connection, made.turn)
    for one in known:
        if one.interrupt == made.interrupt:
            return one.draft
    drafts = _load_drafts(connection, [one.draft for one in known if one.decision is None])
    for one in known:
        stored = drafts.get(one.draft)
        is_same = (one.action, one.target) == (made.action, made.target)
        if stored is not None and is_same and _content(stored) == _content(draft):
            return one.draft
    number = add_schedule(connection, replace(draft, state=ScheduleState.DRAFT, next_at=0.0), None, now)
    values = {"turn": made.turn, "interrupt": made.interrupt, "conversation": made.conversation}
    values |= {"draft": number, "action": made.action.value, "target": made.target, "now": now}
    connection.execute(ADD_PROPOSAL, values)
    return number


def list_proposals(connection: Connection, turn: int) -> list[tuple[Proposal, Schedule]]:
    """Return the undecided proposals of a turn with their drafts."""
    known = [one for one in _list_of_turn(connection, turn) if one.decision is None]
    drafts = _load_drafts(connection, [one.draft for one in known])
    return [(one, drafts[one.draft]) for one in known if one.draft in drafts]


def list_drafts_above(connection: Connection, turn: Turn) -> list[tuple[Proposal, Schedule]]:
    """Return the undecided proposals above the question that a turn answers, except deletions.

    They are from the same person and conversation.
    """
    if not turn.answers:
        return []
    here = {"conversation": turn.conversation, "turn": turn.id}
    known = [_decode(row) for row in connection.execute(LIST_OPEN, here).all()]
    drafts = _load_drafts(connection, [one.draft for one in known])
    person = turn_author(turn)
    return [
        (one, drafts[one.draft])
        for one in known
        if one.draft in drafts and drafts[one.draft].person == person
    ]


def find_proposal(connection: Connection, draft: int) -> Proposal | None:
    """Return a draft's newest proposal, or None if the agent did not make it."""
    row = connection.execute(FIND_PROPOSAL, {"draft": draft}).first()
    return None if row is None else _decode(row)


def carry_out_proposal(
    connection: Connection, draft: int, before: Schedule, after: Schedule | None, actor: Actor, now: float
) -> bool:
    """Change a schedule according to its proposal, or delete it if `after` is None, and remove the draft.

    Returns False, without any change, if the proposal is already decided or the schedule has changed since.
    """
    if load_schedule(connection, before.id) != before:
        return False
    if (
        connection.execute(DECIDE, {"draft": draft, "decision": ProposalDecision.CONFIRMED.value}).first()
        is None
    ):
        return False
    connection.execute(DELETE_DRAFT, {"draft": draft})
    if after is None:
        return delete_schedule(connection, before.id, actor, now)
    return update_schedule(connection, before, after, actor, now)


def discard_proposal(connection: Connection, made: Proposal, actor: Actor, now: float) -> bool:
    """Discard a proposal with its draft; return False if it has already been decided. As with the command,
    this is audited only for a proposal to create a schedule, since otherwise nothing has changed.
    """
    values = {"draft": made.draft, "decision": ProposalDecision.DISCARDED.value}
    if connection.execute(DECIDE, values).first() is None:
        return False
    connection.execute(DELETE_DRAFT, {"draft": made.draft})
    if made.action is ProposalAction.CREATE:
        record_event(connection, actor, AuditEvent("schedule deleted", f"schedule {made.draft}"), now)
    return True


def take_decisions(connection: Connection, turn: Turn) -> list[Proposal]:
    """Return decisions about earlier proposals in a turn's conversation that the agent does not know.

    Repeated calls for a turn, and retries of it, return the same.
    """
    here = {"conversation": turn.conversation, "turn": turn.id}
    source = turn.repeats or turn.id
    found = [_decode(row) for row in connection.execute(LIST_UNTOLD, {**here, "source": source}).all()]
    if found:
        connection.execute(SET_TOLD, here)
    return found


def _list_of_turn(connection: Connection, turn: int) -> list[Proposal]:
    return [_decode(row) for row in connection.execute(LIST_OF_TURN, {"turn": turn}).all()]


def _load_drafts(connection: Connection, ids: list[int]) -> dict[int, Schedule]:
    if not ids:
        return {}
    found = (decode_schedule(row) for row in connection.execute(GET_DRAFTS, {"ids": ids}).all())
    return {one.id: one for one in found}


def _content(one: Schedule) -> tuple[str, ...]:
    return one.kind.value, one.text, one.rule, one.zone


def _decode(row: Any) -> Proposal:
    return Proposal(
        turn=row.turn_id,
        interrupt=row.interrupt,
        conversation=row.conversation_id,
        draft=row.draft,
        action=ProposalAction(row.action),
        target=row.target,
        decision=ProposalDecision(row.decision) if row.decision else None,
    )
