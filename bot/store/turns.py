"""The transactions of a turn's life after it was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import OPEN_STATES, Part, PartKind, ReplyAddress, Turn, TurnKind, TurnMessage, TurnState
from bot.store import changes, questions, rows, usage
from bot.store import statements as sql
from bot.store.accept import save_part
from bot.store.connection import Connection


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn to work on, with what is known of its reply.

    `wait` > 0: nothing yet, ask again in so many seconds. `resumed` says that it was begun before this claim.
    """

    turn: Turn | None = None
    parts: tuple[Part, ...] = ()
    wait: float = 0.0
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class PartChange:
    """How a part changed; `category` says why it could not be delivered."""

    part: Part
    category: str = ""


def claim(connection: Connection, conversation: int, now: float) -> Claim:
    """The next open chat turn of a conversation; an accepted one is sealed and becomes running.

    While an approval is open only what decides it goes on: what else was accepted waits for that.
    """
    row = connection.execute(sql.NEXT_TURN, {"conversation": conversation}).first()
    if row is None:
        return Claim()
    if row.state != TurnState.ACCEPTED.value:
        return load(connection, row.id)
    if row.ready_at > now:
        return Claim(wait=row.ready_at - now)
    now_there = connection.execute(sql.CONVERSATION_NOW, {"id": conversation}).one()
    model = now_there.model or row.model
    # A run that starts plainly would discard an open question, so whatever comes next answers it.
    asked = now_there.question if now_there.thread_id == row.thread_id and not row.repeats else ""
    if asked and not row.answers and questions.approval_in(now_there) is not None:
        return Claim()
    answers = asked or row.answers
    chosen = {"model": model, "plan": now_there.plan, "agent": now_there.agent, "answers": answers}
    started = connection.execute(sql.START_TURN, {"id": row.id, **chosen}).first()
    if started is None:
        return Claim(wait=0.01)
    if asked:
        connection.execute(sql.CLOSE_QUESTION, {"id": conversation})
    # A click or a decision stays the bare word that it is; notes go with the next turn.
    told = (
        ()
        if row.answers
        else changes.take_notes(connection, row.id, conversation, row.thread_id, row.repeats)
    )
    askers = questions.askers(connection, conversation) if answers else ()
    turn = rows.turn_in(row, _messages(connection, row.repeats or row.id), told, askers)
    plan, agent = bool(now_there.plan), now_there.agent
    return Claim(replace(turn, state=TurnState.RUNNING, model=model, plan=plan, agent=agent, answers=answers))


def load(connection: Connection, turn: int) -> Claim:
    """A turn as it stands."""
    row = connection.execute(sql.GET_TURN, {"id": turn}).first()
    if row is None:
        return Claim()
    parts = connection.execute(sql.TURN_PARTS, {"turn": turn}).all()
    return Claim(
        rows.turn_in(
            row,
            _messages(connection, row.repeats or row.id),
            changes.notes(connection, row.id, row.thread_id, row.repeats),
            questions.askers(connection, row.conversation_id) if row.answers else (),
        ),
        tuple(rows.part_in(part) for part in parts),
        resumed=True,
    )


def _messages(connection: Connection, turn: int) -> Sequence[TurnMessage]:
    return [rows.message_in(row) for row in connection.execute(sql.TURN_MESSAGES, {"turn": turn}).all()]


def set_run(connection: Connection, turn: int, run_id: str, attempt: int) -> None:
    """The runtime has named the run of a turn ("" before a new one is made)."""
    connection.execute(sql.SET_RUN, {"id": turn, "run_id": run_id, "attempt": attempt})


def save(
    connection: Connection,
    turn: int,
    changes: Sequence[PartChange],
    now: float,
    *,
    state: TurnState | None = None,
    error: str = "",
    keep: int | None = None,
    seen: tuple[ReplyAddress, int, Sequence[str]] | None = None,
    spent: usage.Spent | None = None,
) -> None:
    """Record parts and, where given, the turn's new state; `keep` drops the parts from that index on, and
    those without content.

    `spent` is what the turn cost, in place of what was known. `seen` names messages of ours in a group
    (address, conversation, platform ids), for replies to them.
    """
    for change in changes:
        save_part(connection, turn, change.part, now, change.category)
    if keep is not None:
        connection.execute(sql.DROP_PARTS, {"turn": turn, "count": keep})
    if state is not None:
        finished = 0.0 if state in OPEN_STATES else now
        connection.execute(
            sql.SET_STATE, {"id": turn, "state": state.value, "error": error, "finished_at": finished}
        )
    if spent is not None:
        usage.put_down(connection, turn, spent)
    if seen is not None:
        address, conversation, ids = seen
        for message_id in ids:
            connection.execute(
                sql.REMEMBER,
                {
                    "account": address.account,
                    "chat": address.chat,
                    "message_id": message_id,
                    "conversation": conversation,
                    "now": now,
                },
            )


def stop(connection: Connection, conversation: int) -> int:
    """Mark the running turn as to be stopped; returns its id, 0 where none runs."""
    return int(connection.execute(sql.STOP_RUNNING, {"conversation": conversation}).scalar_one_or_none() or 0)


@dataclass(frozen=True, slots=True)
class Answered:
    """The last answered turn of a conversation; `source` is the turn whose messages it answered."""

    id: int
    source: int
    thread_id: str
    run_id: str


def last_answered(connection: Connection, conversation: int) -> Answered | None:
    """The turn that `/retry` would answer again: the last one of the thread that the conversation is on."""
    row = connection.execute(sql.LAST_ANSWERED, {"conversation": conversation}).first()
    return None if row is None else Answered(row.id, row.repeats or row.id, row.thread_id, row.run_id)


def answer_by_agent(connection: Connection, command: Turn, queue_limit: int) -> bool:
    """A command turn becomes a chat turn, in the order of its id; False where too many messages wait."""
    waiting = connection.execute(sql.QUEUED, {"conversation": command.conversation}).scalar_one()
    if waiting >= queue_limit:
        return False
    connection.execute(sql.MAKE_CHAT_TURN, {"id": command.id})
    return True


def retry(
    connection: Connection,
    command: Turn,
    answered: Answered,
    *,
    checkpoint: str,
    thread_id: str,
    text: str,
    now: float,
) -> int:
    """Open a turn that answers `answered` again, forked from `checkpoint` of `thread_id`; mark the old one.

    A `thread_id` other than the conversation's becomes the conversation's: there was nothing before that
    turn. The command's own answer `text` is recorded with it, so that a crash does not ask twice.
    """
    save(
        connection,
        command.id,
        [PartChange(Part(0, PartKind.TEXT, text))],
        now,
        state=TurnState.DELIVERING,
    )
    connection.execute(sql.MARK_REPLACED, {"id": answered.id})
    connection.execute(sql.ROTATE_THREAD, {"thread_id": thread_id, "id": command.conversation})
    opened = int(
        connection.execute(
            sql.ADD_TURN,
            {
                "conversation": command.conversation,
                "kind": TurnKind.CHAT.value,
                "state": TurnState.ACCEPTED.value,
                "address": rows.address_out(command.address),
                "platform": command.platform,
                "thread_id": thread_id,
                "model": command.model,
                "repeats": answered.source,
                "checkpoint": checkpoint,
                "size": 0,
                "ready_at": 0.0,
                "now": now,
            },
        ).scalar_one()
    )
    connection.execute(sql.COPY_ANSWERS, {"id": opened, "source": answered.source})
    return opened
