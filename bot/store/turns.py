"""The transactions of a turn's life after it was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from bot.domain import (
    OPEN_STATES,
    Busy,
    Part,
    PartKind,
    ReplyAddress,
    Sender,
    Stopped,
    ToolStep,
    Turn,
    TurnMessage,
    TurnState,
)
from bot.store import audit, budgets, interrupts, people, rows, steering, threads, tool_grants, usage
from bot.store import message_edits as changes
from bot.store import statements as sql
from bot.store.budgets import Limit
from bot.store.connection import Connection
from bot.store.new_turn import save_part
from bot.store.threads import Audience
from bot.store.tool_grants import Remembered

THE_LAST = -1
"""What a turn repeats that waits for the one before it: whatever was answered last by then."""
WORDS = ("approve", "reject")
"""What decides an approval that offers no answers of its own."""


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


def claim(connection: Connection, conversation: int, now: float) -> Claim:
    """The next open chat turn of a conversation; an accepted one is sealed and becomes running.

    While an approval is open only what decides it goes on: what else was accepted waits for that.
    """
    row = connection.execute(sql.NEXT_TURN, {"conversation": conversation}).first()
    if row is None:
        return Claim()
    if row.state != TurnState.ACCEPTED.value:
        return load(connection, row.id)
    if (later := _waiting(row, now)) is not None:
        return later
    now_there = connection.execute(sql.CONVERSATION_NOW, {"id": conversation}).one()
    model = now_there.model or row.model
    # A run that starts plainly would discard an open question, so whatever comes next answers it.
    question = now_there.question if now_there.thread_id == row.thread_id and not row.repeats else ""
    if question and not row.answers and interrupts.approval_in(now_there) is not None:
        return Claim()
    answers = question or row.answers
    chosen = {"model": model, "plan": now_there.plan, "agent": now_there.agent, "answers": answers}
    started = connection.execute(sql.START_TURN, {"id": row.id, **chosen}).first()
    if started is None:
        return Claim(wait=0.01)
    if question:
        connection.execute(sql.CLOSE_QUESTION, {"id": conversation})
    # A click or a decision stays the bare word that it is; notes go with the next turn.
    told = (
        ()
        if row.answers
        else changes.take_notes(connection, row.id, conversation, row.thread_id, row.repeats)
    )
    asked = _asked(connection, row, answers)
    messages, may = _messages(connection, row.repeats or row.id), _approved(connection, row)
    turn = rows.turn_in(row, messages, told, *asked, approved=may)
    plan, agent = bool(now_there.plan), now_there.agent
    return Claim(replace(turn, state=TurnState.RUNNING, model=model, plan=plan, agent=agent, answers=answers))


def _waiting(row: Any, now: float) -> Claim | None:
    """What has to come before an accepted turn can begin, None for nothing."""
    if row.repeats == THE_LAST:
        return Claim(retry=row.id)
    return Claim(wait=row.ready_at - now) if row.ready_at > now else None


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
            *_asked(connection, row, row.answers),
            approved=_approved(connection, row),
        ),
        tuple(rows.part_in(part) for part in parts),
        resumed=True,
    )


def _asked(connection: Connection, row: Any, answers: str) -> tuple[tuple[Sender, ...], int]:
    """Whose work a turn goes on with that answers a question, and the turn that asked; where it is answered
    again the question shows it already.
    """
    if not answers:
        return (), 0
    askers, asked_by = interrupts.origin_of(connection, row.conversation_id)
    return askers, 0 if row.repeats else asked_by


def _approved(connection: Connection, row: Any) -> Sequence[str]:
    account = rows.address_in(row.address).account
    return tool_grants.approved(connection, account, row.conversation_id)


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
        connection.execute(sql.DROP_PARTS, {"turn": turn, "count": keep})
    if state is not None:
        finished = 0.0 if state in OPEN_STATES else now
        connection.execute(
            sql.SET_STATE, {"id": turn, "state": state.value, "error": error, "finished_at": finished}
        )
    if spent is not None:
        usage.put_down(connection, turn, spent)
    if steps:
        connection.execute(sql.SET_STEPS, {"steps": rows.steps_out(steps), "id": turn})
    if joined:
        steering.join(connection, turn, joined, now)
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


def stop(connection: Connection, conversation: int, actor: audit.Actor | None, now: float) -> int:
    """Mark the running turn as to be stopped, or give up the approval that work waits for: a turn that is
    stopped before it begins. Returns its id, 0 where nothing is under way.
    """
    given = {"conversation": conversation, "why": Stopped.ASKED.value}
    running = connection.execute(sql.STOP_RUNNING, given).scalar_one_or_none()
    if running is not None:
        return int(running)
    asked_by, turn = interrupts.give_up(connection, conversation, now)
    if turn and actor is not None:
        audit.note(connection, actor, audit.Deed("approval", f"turn {asked_by}", "stopped"), now)
    if turn:
        connection.execute(sql.STOP_TURN, {"id": turn, "why": Stopped.ASKED.value})
    return turn


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


@dataclass(frozen=True, slots=True)
class Handed:
    """How a command's turn is given to the agent: what `busy` means there, and what its author is held to.
    The notices say why not.
    """

    busy: Busy
    limits: Sequence[Limit]
    queue_limit: int
    busy_notice: str
    full_notice: str


def answer_by_agent(connection: Connection, command: Turn, how: Handed, now: float) -> tuple[str, bool]:
    """A command turn becomes a chat turn, in the order of its id, as a message would: why not ("" where it
    does), and whether a run ends for it.
    """
    here = {"conversation": command.conversation}
    running = connection.execute(sql.IS_RUNNING, here).first() is not None
    if running and how.busy is Busy.REJECT:
        return how.busy_notice, False
    if refusal := budgets.refusal(connection, how.limits, now):
        return refusal, False
    if connection.execute(sql.QUEUED, here).scalar_one() >= how.queue_limit:
        return how.full_notice, False
    budgets.count(connection, how.limits, now)
    connection.execute(sql.MAKE_CHAT_TURN, {"id": command.id})
    if running and how.busy is Busy.INTERRUPT:
        connection.execute(sql.STOP_RUNNING, {**here, "why": Stopped.INTERRUPTED.value})
    return "", running and how.busy is Busy.INTERRUPT


def answer(connection: Connection, command: Turn, text: str, now: float) -> None:
    """Record a command's answer with what it does, so that a crash does not do it twice."""
    part = PartChange(Part(0, PartKind.TEXT, text))
    save(connection, command.id, [part], now, state=TurnState.DELIVERING)


def admit(
    connection: Connection, code: str, role: str, welcome: str, command: Turn, text: str, now: float
) -> int | None:
    """See `people.admit`; the answer of the command that does it is recorded with it."""
    opened = people.admit(connection, code, role, welcome, audit.author_of(command), now)
    if opened is not None:
        answer(connection, command, text, now)
    return opened


class DecisionWord(Enum):
    """What `/approve` and `/reject` say: yes for once, for this conversation, on the whole account, or no."""

    ONCE = auto()
    HERE = auto()
    ALWAYS = auto()
    NO = auto()


class Decided(Enum):
    """What came of `/approve` or `/reject`: done, no such approval, several, not theirs to give, for admins,
    or only for once.
    """

    DONE = auto()
    SENIOR = auto()
    ONCE = auto()
    NONE = auto()
    SEVERAL = auto()
    FOREIGN = auto()


def decide(
    connection: Connection, command: Turn, number: int, now: float, given: DecisionWord, *, senior: bool
) -> tuple[Decided, int]:
    """Make the decision that a command is: of the approval that the turn `number` asked for in this chat, or
    of the only one (0). The command's turn goes on as that decision; with it the id of its conversation.
    """
    here = {"account": command.address.account, "chat": command.address.chat}
    found = [
        row
        for row in connection.execute(sql.APPROVALS_IN, here).all()
        if not number or row.asked_by == number
    ]
    if len(found) != 1:
        return (Decided.SEVERAL if found else Decided.NONE), 0
    row, message = found[0], command.messages[-1]
    approval, words = interrupts.approval_in(row), rows.choices_in(row.decisions)
    if approval is None or (message.sender.id not in approval.people and not senior):
        return Decided.FOREIGN, 0
    if given is DecisionWord.ALWAYS and not senior:
        return Decided.SENIOR, 0
    kept = approval.remembered
    if kept is None and given in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return Decided.ONCE, 0
    word = _word(given, words, kept)
    connection.execute(sql.CHANGE_INBOUND, {"text": word, "at": now, "id": message.id})
    address = connection.execute(sql.ADDRESS_OF, {"id": row.asked_by}).scalar_one()
    turned = {"conversation": row.id, "thread_id": row.thread_id, "address": address, "answers": row.question}
    connection.execute(sql.MAKE_DECISION, {**turned, "id": command.id})
    connection.execute(sql.CLOSE_QUESTION, {"id": row.id})
    deed = audit.Deed("approval", f"turn {row.asked_by}", word)
    actor = audit.author_of(command)
    audit.note(connection, actor, deed, now)
    tool_grants.given(connection, kept, word, int(row.id), actor, now)
    return Decided.DONE, int(row.id)


def _word(given: DecisionWord, words: Sequence[str], kept: Remembered | None) -> str:
    """How the approval itself calls that decision."""
    if kept is not None and given in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return kept.here if given is DecisionWord.HERE else kept.always
    yes, no = (words[0], words[-1]) if len(words) > 1 else WORDS
    return no if given is DecisionWord.NO else yes


def announce(
    connection: Connection, chosen: Sequence[Audience], text: str, command: Turn, told: str, now: float
) -> list[int]:
    """See `threads.announce`; the answer of the command that does it is recorded with it."""
    opened = threads.announce(connection, chosen, text, now)
    answer(connection, command, told, now)
    return opened
