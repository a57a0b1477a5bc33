"""Accepted turns: claim, load, save, stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bot.domain import Part, ReplyAddress, Sender, ToolStep, person_of
from bot.store.audit import Actor
from bot.store.connection import (
    AT_WORK,
    OPEN,
    Accounts,
    Connection,
    decode_address,
    decode_message,
    decode_part,
    decode_senders,
    decode_turn,
    encode_steps,
    on_accounts,
    sql,
)
from bot.store.interrupts import (
    CLOSE_INTERRUPT,
    abandon_question,
    decode_approval,
    is_from_nobody_asked,
    origin_of,
    stop_interrupt,
)
from bot.store.message_edits import list_notes, take_notes
from bot.store.new_turn import SET_STATE, save_part
from bot.store.retries import THE_LAST
from bot.store.steering import join_messages
from bot.store.stopped_answers import list_stopped, mark_stopped, take_stopped
from bot.store.tool_grants import list_granted_tools
from bot.store.traces import save_trace
from bot.store.usage import TurnUsage, save_usage
from bot.store.usage_limits import UsageLimits
from bot.turn import (
    OPEN_STATES,
    Busy,
    OpenedTurn,
    RunTrace,
    Stopped,
    Turn,
    TurnKind,
    TurnMessage,
    TurnState,
)


@dataclass(frozen=True, slots=True)
class Begin:
    """A turn started by this claim; it has no reply parts yet."""

    turn: Turn
    parts: ClassVar[tuple[Part, ...]] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """A stored turn with its existing reply parts."""

    turn: Turn
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """A queued retry, by its turn's id; the turn to repeat is not determined yet."""

    turn: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A turn that is not ready yet; the claim may be repeated at this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Idle:
    """No turn can be processed now."""


Claim = Begin | Resume | Retry | Wait | Idle


@dataclass(frozen=True, slots=True)
class PartChange:
    """A changed reply part; `category` is the reason of a failed delivery."""

    part: Part
    category: str = ""


@dataclass(frozen=True, slots=True)
class AgentHandoff:
    """The busy mode and limits for a command's turn that is handed to the agent."""

    busy: Busy
    limits: UsageLimits
    queue_limit: int
    texts: Callable[..., str]


Guard = Callable[[Connection, str], None]
"""Raises OwnershipLost unless this process owns an account."""
ConnectedAt = Callable[[str], float | None]
"""Returns when an account connected (s since the epoch), or None while it is not connected."""
QUESTION_PATIENCE = 600.0
"""Seconds in which people can answer a question before a turn of an app, or of the group itself, gives it
up."""
TURN_COLUMNS = (
    "id, conversation_id, kind, state, address, platform, thread_id, attempt, run_id, last_attempt,"
    " last_run_id, checkpoint, model,"
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
# Find the next open chat turn: a started one first, then an answer to an interrupt, then the oldest.
NEXT_TURN = sql(
    f"""SELECT {TURN_COLUMNS} FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN {OPEN} ORDER BY CASE WHEN state <> 'accepted' THEN 0 WHEN answers <> '' THEN 1 ELSE 2 END,
    id LIMIT 1"""
)
# List the turns that wait behind another one.
LATER_TURNS = sql(
    f"""SELECT {TURN_COLUMNS} FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state = 'accepted' AND answers = '' AND repeats = 0 AND id > :id ORDER BY id LIMIT 20"""
)
# Start an accepted turn with the conversation's settings, unless it was moved to another thread.
START_TURN = sql(
    """UPDATE turns SET state = 'running', model = :model, plan = :plan, agent = :agent,
    answers = :answers WHERE id = :id AND state = 'accepted' AND thread_id = :thread_id RETURNING size"""
)
# Read the settings and the open interrupt of a conversation.
CONVERSATION_SETTINGS = sql(
    """SELECT c.model, c.plan, c.agent, c.question, c.askers, c.decisions, c.remembered, c.asked_at,
    c.thread_id, COALESCE((SELECT t.finished_at FROM turns t WHERE t.id = c.asked_by), 0) AS delivered_at
    FROM conversations c WHERE c.id = :id"""
)
# List the conversations in which a turn of an app, or of the group itself, waits behind a question that was
# asked before an instant. The index of open turns needs their whole condition.
OVERDUE_QUESTIONS = sql(
    f"""SELECT DISTINCT t.conversation_id FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.kind = 'chat' AND t.state = 'accepted' AND t.state IN {OPEN} AND c.question <> ''
    AND c.decisions = ''
    AND c.asked_at <= :before AND EXISTS (SELECT 1 FROM inbound i WHERE i.turn_id = t.id AND i.turn_id > 0
    AND (i.sender LIKE '["app:%' OR i.sender LIKE '["' || c.chat || '",%')) ORDER BY t.conversation_id"""
)
GET_TURN = sql(f"SELECT {TURN_COLUMNS} FROM turns WHERE id = :id")
TURN_MESSAGES = sql(
    """SELECT id, event_id, message_id, sender, text, attachments, quotations, mentions, sent_at, deleted
    FROM inbound WHERE turn_id = :turn AND turn_id > 0 ORDER BY id"""
)
TURN_PARTS = sql(
    """SELECT position, kind, state, content, filename, platform_id, repeated, choices FROM parts
    WHERE turn_id = :turn ORDER BY position"""
)
# List the open turns that came after another one, of some accounts or all, those of a conversation in their
# order.
OPEN_TURNS = sql(
    f"""SELECT t.id, t.conversation_id, t.kind FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.state IN {OPEN} AND t.id > :after AND (:all = 1 OR c.account IN :accounts)
    ORDER BY t.conversation_id, t.id""",
    "accounts",
)
# Set the first run of a turn, which has no others yet.
SET_RUN = sql(
    "UPDATE turns SET run_id = :run_id, attempt = :attempt, last_run_id = '', last_attempt = 0 WHERE id = :id"
)
# Set the newest of the runs that continue the first.
SET_LAST_RUN = sql("UPDATE turns SET last_run_id = :run_id, last_attempt = :attempt WHERE id = :id")
# Delete the parts from an index on, and those without content.
DROP_PARTS = sql("DELETE FROM parts WHERE turn_id = :turn AND (position >= :count OR content = '')")
# Turn an accepted command into a chat turn.
MAKE_CHAT_TURN = sql(
    "UPDATE turns SET kind = 'chat' WHERE id = :id AND kind = 'command' AND state = 'accepted'"
)
# Check whether a conversation has a running turn.
IS_RUNNING = sql(
    f"""SELECT id FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN ('running', 'waiting') AND {AT_WORK}"""
)
SET_STEPS = sql("UPDATE turns SET steps = :steps WHERE id = :id")


def claim_turn(
    connection: Connection,
    conversation: int,
    now: float,
    connected_at: ConnectedAt = lambda _account: 0.0,
    guard: Guard = lambda _connection, _account: None,
) -> Claim:
    """Claim the next open chat turn of a conversation.

    An accepted turn is started, which closes it to further messages. While an approval is open, only its
    decision can be claimed. A question is given up only QUESTION_PATIENCE seconds after its account
    connected. Raises the OwnershipLost of `guard`.
    """
    row = connection.execute(NEXT_TURN, {"conversation": conversation}).first()
    if row is None:
        return Idle()
    guard(connection, decode_address(row.address).account)
    if row.state != TurnState.ACCEPTED.value:
        return load_turn(connection, row.id) or Idle()
    if row.repeats == THE_LAST:
        return Retry(row.id)
    if row.ready_at > now:
        return Wait(row.ready_at - now)
    return _begin(connection, row, now, connected_at)


def _begin(connection: Connection, row: Any, now: float, connected_at: ConnectedAt) -> Claim:
    settings = connection.execute(CONVERSATION_SETTINGS, {"id": row.conversation_id}).one()
    model = settings.model or row.model
    # An ordinary run would discard an open interrupt, so the next turn answers it.
    question = settings.question if settings.thread_id == row.thread_id and not row.repeats else ""
    if question and not row.answers and _needs_own_words(connection, row, settings):
        found = _find_answer(connection, row, settings, now)
        if isinstance(found, Idle) and _is_left(connection, row, settings, now, connected_at):
            abandon_question(connection, row.conversation_id, now)
            return claim_turn(connection, row.conversation_id, now, connected_at)
        if isinstance(found, Wait | Idle):
            return found
        row = found
    answers = question or row.answers
    chosen = {"model": model, "plan": settings.plan, "agent": settings.agent, "answers": answers}
    if connection.execute(START_TURN, {"id": row.id, "thread_id": row.thread_id, **chosen}).first() is None:
        return Wait(0.01)
    if question:
        connection.execute(CLOSE_INTERRUPT, {"id": row.conversation_id})
    # A click or a decision is passed on as is; notes go with the next turn.
    notes = (
        () if row.answers else take_notes(connection, row.id, row.conversation_id, row.thread_id, row.repeats)
    )
    stopped = (
        ()
        if row.answers
        else take_stopped(connection, row.id, row.conversation_id, row.thread_id, row.repeats)
    )
    askers = _load_askers(connection, row, answers)
    messages = _load_messages(connection, row.repeats or row.id)
    granted = _load_grants(connection, row, messages, askers[0])
    turn = decode_turn(row, messages, notes, *askers, approved=granted, cut_off=stopped)
    plan, agent = bool(settings.plan), settings.agent
    return Begin(replace(turn, state=TurnState.RUNNING, model=model, plan=plan, agent=agent, answers=answers))


def _find_answer(connection: Connection, row: Any, settings: Any, now: float) -> Any:
    """Return the next turn that answers an open question, skipping turns of apps: `Wait` if it is not ready
    yet, `Idle` if there is none.
    """
    if decode_approval(settings) is not None:
        return Idle()
    behind = _list_behind(connection, row, settings)
    answers = [one for one in behind if not _needs_own_words(connection, one, settings)]
    if not answers:
        return Idle()
    ready = (one for one in answers if one.ready_at <= now)
    return next(ready, Wait(min(one.ready_at for one in answers) - now))


def _list_behind(connection: Connection, row: Any, settings: Any) -> list[Any]:
    """Return the turns that wait behind another turn on the conversation's thread."""
    behind = connection.execute(LATER_TURNS, {"conversation": row.conversation_id, "id": row.id}).all()
    return [one for one in behind if one.thread_id == settings.thread_id]


def _is_left(connection: Connection, row: Any, settings: Any, now: float, connected_at: ConnectedAt) -> bool:
    """Return whether to give up an open question for a turn by an app or by the group itself, which cannot
    answer it and would otherwise wait forever: immediately if only apps were asked and wrote, otherwise once
    QUESTION_PATIENCE has passed without an answer.
    """
    if decode_approval(settings) is not None:
        return False
    askers = decode_senders(settings.askers)
    wrote = [one.sender for one in _list_left(connection, row)]
    if askers and all(sender.is_bot for sender in (*askers, *wrote)):
        return True
    waiting = [row, *_list_behind(connection, row, settings)]
    if not _is_overdue(row, settings, now, connected_at):
        return False
    return any(_is_by_nobody_asked(connection, one, settings) for one in waiting)


def _is_overdue(row: Any, settings: Any, now: float, connected_at: ConnectedAt) -> bool:
    """Return whether people have had QUESTION_PATIENCE to answer a question. Its delivery may have taken
    time, and messages written while the account was disconnected may not have arrived yet.
    """
    connected = connected_at(decode_address(row.address).account)
    if connected is None:
        return False
    answerable_at: float = max(settings.asked_at, settings.delivered_at, connected)
    return now - answerable_at >= QUESTION_PATIENCE


def _list_left(connection: Connection, row: Any) -> list[TurnMessage]:
    """Return a turn's messages without deleted ones."""
    return [message for message in _load_messages(connection, row.id) if not message.deleted]


def _is_by_nobody_asked(connection: Connection, row: Any, settings: Any) -> bool:
    """Return whether a turn has only messages by apps, or on behalf of a group that was not asked."""
    left = _list_left(connection, row)
    return bool(left) and all(_cannot_answer(one.sender, row, settings) for one in left)


def _cannot_answer(sender: Sender, row: Any, settings: Any) -> bool:
    address = decode_address(row.address)
    askers = [one.key for one in decode_senders(settings.askers)]
    return sender.is_bot or is_from_nobody_asked(sender, askers, address.chat, address.chat_kind)


def _needs_own_words(connection: Connection, row: Any, settings: Any) -> bool:
    """Return whether a turn can't answer the open interrupt and must wait for a person's message. An approval
    accepts decisions only; a question accepts no answer from uninvolved people, apps or the group itself.
    """
    if decode_approval(settings) is not None:
        return True
    left = _list_left(connection, row)
    return bool(left) and all(
        message.says_nothing or _cannot_answer(message.sender, row, settings) for message in left
    )


def load_turn(connection: Connection, turn: int) -> Resume | None:
    """Return a turn with its reply parts, or None if it does not exist."""
    row = connection.execute(GET_TURN, {"id": turn}).first()
    return None if row is None else _load(connection, row)


def _load(connection: Connection, row: Any) -> Resume:
    parts = connection.execute(TURN_PARTS, {"turn": row.id}).all()
    messages = _load_messages(connection, row.repeats or row.id)
    notes = list_notes(connection, row.id, row.conversation_id, row.thread_id, row.repeats)
    stopped = list_stopped(connection, row.id, row.conversation_id, row.repeats)
    askers = _load_askers(connection, row, row.answers)
    granted = _load_grants(connection, row, messages, askers[0])
    turn = decode_turn(row, messages, notes, *askers, approved=granted, cut_off=stopped)
    return Resume(turn, tuple(decode_part(part) for part in parts))


def _load_askers(connection: Connection, row: Any, answers: str) -> tuple[tuple[Sender, ...], int, str]:
    """Return the requesters of the work that an answer continues, the turn with the interrupt (0 for a retry,
    since the interrupt already shows its answer), and the call that an approval covers.
    """
    if not answers:
        return (), 0, ""
    askers, asked_by, covers = origin_of(connection, row.conversation_id)
    return askers, 0 if row.repeats else asked_by, covers


def _load_grants(
    connection: Connection, row: Any, messages: Sequence[TurnMessage], askers: Sequence[Sender]
) -> Sequence[str]:
    """Return the granted tools; an answer continues the work of its requesters."""
    account, people = decode_address(row.address).account, askers or [one.sender for one in messages]
    authors = {person_of(row.platform, one) for one in people}
    return list_granted_tools(connection, account, row.conversation_id, authors, row.created_at)


def _load_messages(connection: Connection, turn: int) -> Sequence[TurnMessage]:
    return [decode_message(row) for row in connection.execute(TURN_MESSAGES, {"turn": turn}).all()]


def set_run(connection: Connection, turn: int, run_id: str, attempt: int) -> None:
    """Store a turn's first run ("" before a new one is created) and clear all others."""
    connection.execute(SET_RUN, {"id": turn, "run_id": run_id, "attempt": attempt})


def set_last_run(connection: Connection, turn: int, run_id: str, attempt: int) -> None:
    """Store the newest run of a turn, which continues the first."""
    connection.execute(SET_LAST_RUN, {"id": turn, "run_id": run_id, "attempt": attempt})


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
    trace: RunTrace | None = None,
) -> None:
    """Store reply parts and, if given, the turn's new state. `keep` deletes the parts from that index on, and
    parts without content.

    `spent` replaces the token usage, `steps` the tool calls, `trace` the trace. `seen` names the bot's
    messages in a group (address, conversation, platform ids), so that replies to them are routed; `joined`
    are waiting messages that the run has read.
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
    if trace is not None:
        save_trace(connection, turn, trace)
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
    """Mark the running turn as stopped, or close the open question or approval, which opens a stopped turn.
    Return its id, or 0 if there is nothing to stop.
    """
    running = mark_stopped(connection, conversation, Stopped.ASKED, actor)
    return running or stop_interrupt(connection, conversation, actor, now)


def hand_off_to_agent(
    connection: Connection, command: Turn, how: AgentHandoff, now: float
) -> tuple[str, bool]:
    """Convert a command's turn into a chat turn, as if it were a message.

    Returns the reason for a refusal ("" for none), and whether the running turn was interrupted.
    """
    here = {"conversation": command.conversation}
    running = connection.execute(IS_RUNNING, here).first() is not None
    if running and how.busy is Busy.REJECT:
        return how.texts("busy_rejects"), False
    if refusal := how.limits.find_refusal(connection, now):
        return refusal, False
    if connection.execute(COUNT_QUEUED, here).scalar_one() >= how.queue_limit:
        return how.texts("queue_full", limit=how.queue_limit), False
    how.limits.count_message(connection, now)
    connection.execute(MAKE_CHAT_TURN, {"id": command.id})
    if running and how.busy is Busy.INTERRUPT:
        mark_stopped(connection, command.conversation, Stopped.INTERRUPTED)
    return "", running and how.busy is Busy.INTERRUPT


def list_open_turns(
    connection: Connection, accounts: Accounts = None, after: int = 0
) -> Sequence[OpenedTurn]:
    """Return the open turns with higher ids than `after`, for recovery after a restart, and for turns that
    other replicas have accepted.
    """
    rows = connection.execute(OPEN_TURNS, {"after": after, **on_accounts(accounts)}).all()
    return [OpenedTurn(row.id, row.conversation_id, TurnKind(row.kind)) for row in rows]


def list_overdue_questions(connection: Connection, now: float) -> list[int]:
    """Return the ids of conversations where a turn by an app may give up a question that is older than
    QUESTION_PATIENCE.
    """
    found = connection.execute(OVERDUE_QUESTIONS, {"before": now - QUESTION_PATIENCE}).all()
    return [int(row[0]) for row in found]
