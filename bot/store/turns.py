"""The transactions of a turn's life after it was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.domain import (
    OPEN_STATES,
    Busy,
    Part,
    ReplyAddress,
    Sender,
    Stopped,
    ToolStep,
    Turn,
    TurnMessage,
    TurnState,
)
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.budgets import Limit, count_message, find_refusal
from bot.store.connection import Connection, sql
from bot.store.interrupts import CLOSE_INTERRUPT, STOP_TURN, decode_approval, give_up_approval, origin_of
from bot.store.message_edits import list_notes, take_notes
from bot.store.new_turn import SET_STATE, save_part
from bot.store.retries import THE_LAST
from bot.store.rows import (
    AT_WORK,
    OPEN,
    decode_address,
    decode_message,
    decode_part,
    decode_turn,
    encode_steps,
)
from bot.store.steering import join_messages
from bot.store.tool_grants import list_granted_tools
from bot.store.usage import TurnUsage, save_usage


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn to work on, with what is known of its reply.

    `wait` > 0: nothing yet, ask again in so many seconds. `resumed` says that it was begun before this claim.
    `retry` is a turn that is to answer again what was answered last, which has to be found out first.
    """

    turn: Turn | None = None
    parts: tuple[Part, ...] = ()
    wait: float = 0.0
    resumed: bool = False
    retry: int = 0


@dataclass(frozen=True, slots=True)
class PartChange:
    """How a part changed; `category` says why it could not be delivered."""

    part: Part
    category: str = ""


@dataclass(frozen=True, slots=True)
class AgentHandoff:
    """How a command's turn is given to the agent: what `busy` means there, and what its author is held to.
    The notices say why not.
    """

    busy: Busy
    limits: Sequence[Limit]
    queue_limit: int
    busy_notice: str
    full_notice: str


TURN_COLUMNS = (
    "id, conversation_id, kind, state, address, platform, thread_id, attempt, run_id, checkpoint, model,"
    " plan, agent, repeats, stopped, answers, size, ready_at, created_at, error,"
    " (SELECT c.busy FROM conversations c WHERE c.id = conversation_id) AS busy"
)
# Remember which conversation a group message belongs to.
REMEMBER_MESSAGE = sql(
    """INSERT INTO known_messages (account, chat, message_id, conversation_id, seen_at)
    VALUES (:account, :chat, :message_id, :conversation, :now)
    ON CONFLICT (account, chat, message_id) DO NOTHING"""
)
# Count the messages that wait in a conversation.
COUNT_QUEUED = sql(
    """SELECT COALESCE(SUM(size), 0) FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state = 'accepted'"""
)
# Find the next open chat turn: one already begun first, then an answer to an interrupt, then the oldest.
NEXT_TURN = sql(
    f"""SELECT {TURN_COLUMNS} FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN {OPEN} ORDER BY CASE WHEN state <> 'accepted' THEN 0 WHEN answers <> '' THEN 1 ELSE 2 END,
    id LIMIT 1"""
)
# Set an accepted turn running with the conversation's settings.
START_TURN = sql(
    """UPDATE turns SET state = 'running', model = :model, plan = :plan, agent = :agent,
    answers = :answers WHERE id = :id AND state = 'accepted' RETURNING size"""
)
# Read the settings and the open interrupt of a conversation.
CONVERSATION_SETTINGS = sql(
    "SELECT model, plan, agent, question, askers, decisions, remembered, thread_id FROM conversations"
    " WHERE id = :id"
)
# Read a turn.
GET_TURN = sql(f"SELECT {TURN_COLUMNS} FROM turns WHERE id = :id")
# List the messages of a turn.
TURN_MESSAGES = sql(
    """SELECT id, event_id, message_id, sender, text, attachments, sent_at, deleted FROM inbound
    WHERE turn_id = :turn AND turn_id > 0 ORDER BY id"""
)
# List the reply parts of a turn.
TURN_PARTS = sql(
    """SELECT position, kind, state, content, filename, platform_id, repeated, choices FROM parts
    WHERE turn_id = :turn ORDER BY position"""
)
# List the conversations with open chat turns.
OPEN_LANES = sql(
    f"SELECT DISTINCT conversation_id FROM turns WHERE kind = 'chat' AND state IN {OPEN} ORDER BY 1"
)
# List the open turns of commands and notices.
OPEN_CONTROL_TURNS = sql(
    f"SELECT id FROM turns WHERE kind <> 'chat' AND state IN {OPEN} ORDER BY conversation_id, id"
)
# Set the runtime's run id of a turn.
SET_RUN = sql("UPDATE turns SET run_id = :run_id, attempt = :attempt WHERE id = :id")
# Delete the parts from an index on, and those without content.
DROP_PARTS = sql("DELETE FROM parts WHERE turn_id = :turn AND (position >= :count OR content = '')")
# Turn an accepted command into a chat turn.
MAKE_CHAT_TURN = sql(
    "UPDATE turns SET kind = 'chat' WHERE id = :id AND kind = 'command' AND state = 'accepted'"
)
# Mark the running turn of a conversation as stopped; returns its id.
STOP_RUNNING = sql(
    f"""UPDATE turns SET stopped = :why WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN ('running', 'waiting') AND {AT_WORK} RETURNING id"""
)
# Check whether a conversation has a running turn.
IS_RUNNING = sql(
    f"""SELECT id FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN ('running', 'waiting') AND {AT_WORK}"""
)
# Store the tool calls of a turn.
SET_STEPS = sql("UPDATE turns SET steps = :steps WHERE id = :id")


def claim_turn(connection: Connection, conversation: int, now: float) -> Claim:
    """The next open chat turn of a conversation; an accepted one is sealed and becomes running.

    While an approval is open only what decides it goes on: what else was accepted waits for that.
    """
    row = connection.execute(NEXT_TURN, {"conversation": conversation}).first()
    if row is None:
        return Claim()
    if row.state != TurnState.ACCEPTED.value:
        return load_turn(connection, row.id)
    if (later := _waiting(row, now)) is not None:
        return later
    now_there = connection.execute(CONVERSATION_SETTINGS, {"id": conversation}).one()
    model = now_there.model or row.model
    # A run that starts plainly would discard an open question, so whatever comes next answers it.
    question = now_there.question if now_there.thread_id == row.thread_id and not row.repeats else ""
    if question and not row.answers and decode_approval(now_there) is not None:
        return Claim()
    answers = question or row.answers
    chosen = {"model": model, "plan": now_there.plan, "agent": now_there.agent, "answers": answers}
    started = connection.execute(START_TURN, {"id": row.id, **chosen}).first()
    if started is None:
        return Claim(wait=0.01)
    if question:
        connection.execute(CLOSE_INTERRUPT, {"id": conversation})
    # A click or a decision stays the bare word that it is; notes go with the next turn.
    told = () if row.answers else take_notes(connection, row.id, conversation, row.thread_id, row.repeats)
    asked = _asked(connection, row, answers)
    messages, may = _messages(connection, row.repeats or row.id), _approved(connection, row)
    turn = decode_turn(row, messages, told, *asked, approved=may)
    plan, agent = bool(now_there.plan), now_there.agent
    return Claim(replace(turn, state=TurnState.RUNNING, model=model, plan=plan, agent=agent, answers=answers))


def _waiting(row: Any, now: float) -> Claim | None:
    """What has to come before an accepted turn can begin, None for nothing."""
    if row.repeats == THE_LAST:
        return Claim(retry=row.id)
    return Claim(wait=row.ready_at - now) if row.ready_at > now else None


def load_turn(connection: Connection, turn: int) -> Claim:
    """A turn as it stands."""
    row = connection.execute(GET_TURN, {"id": turn}).first()
    if row is None:
        return Claim()
    parts = connection.execute(TURN_PARTS, {"turn": turn}).all()
    return Claim(
        decode_turn(
            row,
            _messages(connection, row.repeats or row.id),
            list_notes(connection, row.id, row.thread_id, row.repeats),
            *_asked(connection, row, row.answers),
            approved=_approved(connection, row),
        ),
        tuple(decode_part(part) for part in parts),
        resumed=True,
    )


def _asked(connection: Connection, row: Any, answers: str) -> tuple[tuple[Sender, ...], int]:
    """Whose work a turn goes on with that answers a question, and the turn that asked; where it is answered
    again the question shows it already.
    """
    if not answers:
        return (), 0
    askers, asked_by = origin_of(connection, row.conversation_id)
    return askers, 0 if row.repeats else asked_by


def _approved(connection: Connection, row: Any) -> Sequence[str]:
    account = decode_address(row.address).account
    return list_granted_tools(connection, account, row.conversation_id)


def _messages(connection: Connection, turn: int) -> Sequence[TurnMessage]:
    return [decode_message(row) for row in connection.execute(TURN_MESSAGES, {"turn": turn}).all()]


def set_run(connection: Connection, turn: int, run_id: str, attempt: int) -> None:
    """The runtime has named the run of a turn ("" before a new one is made)."""
    connection.execute(SET_RUN, {"id": turn, "run_id": run_id, "attempt": attempt})


def save_turn(
    connection: Connection,
    turn: int,
    changes: Sequence[PartChange],
    now: float,
    *,
    state: TurnState | None = None,
    error: str = "",
    keep: int | None = None,
    seen: tuple[ReplyAddress, int, Sequence[str]] | None = None,
    spent: TurnUsage | None = None,
    joined: Sequence[int] = (),
    steps: Sequence[ToolStep] = (),
) -> None:
    """Record parts and, where given, the turn's new state; `keep` drops the parts from that index on, and
    those without content.

    `spent` is what the turn cost, in place of what was known. `seen` names messages of ours in a group
    (address, conversation, platform ids), for replies to them; `joined` waiting messages that the turn's run
    has taken in, `steps` the tools that it called, in place of what was known.
    """
    for change in changes:
        save_part(connection, turn, change.part, now, change.category)
    if keep is not None:
        connection.execute(DROP_PARTS, {"turn": turn, "count": keep})
    if state is not None:
        finished = 0.0 if state in OPEN_STATES else now
        connection.execute(
            SET_STATE, {"id": turn, "state": state.value, "error": error, "finished_at": finished}
        )
    if spent is not None:
        save_usage(connection, turn, spent)
    if steps:
        connection.execute(SET_STEPS, {"steps": encode_steps(steps), "id": turn})
    if joined:
        join_messages(connection, turn, joined, now)
    if seen is not None:
        address, conversation, ids = seen
        for message_id in ids:
            connection.execute(
                REMEMBER_MESSAGE,
                {
                    "account": address.account,
                    "chat": address.chat,
                    "message_id": message_id,
                    "conversation": conversation,
                    "now": now,
                },
            )


def stop_turn(connection: Connection, conversation: int, actor: Actor | None, now: float) -> int:
    """Mark the running turn as to be stopped, or give up the approval that work waits for: a turn that is
    stopped before it begins. Returns its id, 0 where nothing is under way.
    """
    given = {"conversation": conversation, "why": Stopped.ASKED.value}
    running = connection.execute(STOP_RUNNING, given).scalar_one_or_none()
    if running is not None:
        return int(running)
    asked_by, turn = give_up_approval(connection, conversation, now)
    if turn and actor is not None:
        record_event(connection, actor, AuditEvent("approval", f"turn {asked_by}", "stopped"), now)
    if turn:
        connection.execute(STOP_TURN, {"id": turn, "why": Stopped.ASKED.value})
    return turn


def hand_off_to_agent(
    connection: Connection, command: Turn, how: AgentHandoff, now: float
) -> tuple[str, bool]:
    """A command turn becomes a chat turn, in the order of its id, as a message would: why not ("" where it
    does), and whether a run ends for it.
    """
    here = {"conversation": command.conversation}
    running = connection.execute(IS_RUNNING, here).first() is not None
    if running and how.busy is Busy.REJECT:
        return how.busy_notice, False
    if refusal := find_refusal(connection, how.limits, now):
        return refusal, False
    if connection.execute(COUNT_QUEUED, here).scalar_one() >= how.queue_limit:
        return how.full_notice, False
    count_message(connection, how.limits, now)
    connection.execute(MAKE_CHAT_TURN, {"id": command.id})
    if running and how.busy is Busy.INTERRUPT:
        connection.execute(STOP_RUNNING, {**here, "why": Stopped.INTERRUPTED.value})
    return "", running and how.busy is Busy.INTERRUPT


def list_open_lanes(connection: Connection) -> list[int]:
    """Return the ids of conversations with open chat turns, for recovery after a restart."""
    return [int(row[0]) for row in connection.execute(OPEN_LANES).all()]


def list_open_control_turns(connection: Connection) -> list[int]:
    """Return the ids of open command and notice turns, for recovery after a restart."""
    return [int(row[0]) for row in connection.execute(OPEN_CONTROL_TURNS).all()]
