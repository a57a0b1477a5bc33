"""Scheduled runs. A single transaction advances a schedule, stores its run and opens the turn, so that each
time runs once even with several schedulers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.shared.text import to_one_line
from bot.domain import ChatKind, ConversationKey, ReplyAddress
from bot.features.schedules.run_history import DELIVERED_PARTS, FAILURE_CATEGORY, LOST_PARTS, find_problem
from bot.features.schedules.schedule_store import (
    BATCH,
    NOW,
    Schedule,
    ScheduleKind,
    ScheduleState,
    list_due_schedules,
    load_schedule,
)
from bot.store.audit import Actor, AuditEvent, is_recorded, record_event
from bot.store.connection import OPEN, Connection, sql
from bot.store.conversations import take_conversation
from bot.store.interrupts import abandon_interrupt
from bot.store.new_turn import add_service_message, open_notice, open_turn
from bot.store.web_sessions import find_chat_owner
from bot.turn import SCHEDULED_EVENT, SCHEDULED_TOPIC, OpenedTurn, TurnKind, TurnState

UNDELIVERED = "undelivered"
"""Error of a turn whose answer exists but could not be delivered completely."""
PERMANENT = frozenset({"auth", "permission", "not_found", "invalid_payload"})
ALERT_AFTER = 3
"""Number of consecutive failed runs after which the creator of the schedule is notified."""
LONGEST_TITLE = 60
ASKED_FOR = 24 * 3600.0


class SkipReason(StrEnum):
    """The reason for skipping a run."""

    OVERLAP = "overlap"
    MISSED = "missed"
    ACCESS = "access"
    ACCOUNT = "account"
    QUIET = "quiet"
    UNRECORDED = "unrecorded"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run due at `due`, after `missed` earlier ones that were too late; `following` is the next time (0.0:
    none). `skip` is the reason for skipping it, in which case `notice` is sent to the chat. `text` is its
    message or prompt, `thread_id` the id for a new thread, `model` the account's model.
    """

    schedule: Schedule
    due: float
    following: float
    text: str
    thread_id: str
    model: str = ""
    missed: int = 0
    skip: SkipReason | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose turn is closed. `good`: it was completed and fully delivered; `permanent`: a retry would
    not help, or could repeat messages that may have been sent.
    """

    id: int
    schedule: int
    attempt: int
    good: bool
    permanent: bool
    problem: str


@dataclass(frozen=True, slots=True)
class DueRetry:
    """A run whose retry has been due since `retry_at`."""

    id: int
    schedule: int
    due_at: float
    attempt: int
    retry_at: float


NEXT_DUE = sql("SELECT MIN(next_at) FROM schedules WHERE state = 'active'")
# Move a schedule to its next time, unless another scheduler has done so.
ADVANCE_SCHEDULE = sql(
    """UPDATE schedules SET next_at = :following, state = :state WHERE id = :id AND state = 'active'
    AND next_at = :next_at RETURNING id"""
)
# Insert a run, once per instant; returns its id.
ADD_RUN = sql(
    """INSERT INTO firings (schedule_id, due_at, at, attempt, missed) VALUES (:schedule, :due, :now, 1,
    :missed) ON CONFLICT (schedule_id, due_at) DO NOTHING RETURNING id"""
)
SKIP_RUN = sql("UPDATE firings SET skipped = :reason, judged = 1, turn_id = :turn WHERE id = :id")
SET_RUN_TURN = sql("UPDATE firings SET turn_id = :turn WHERE id = :id")
# Check whether a run of a schedule is still in progress.
FIND_OPEN_RUN = sql(
    f"""SELECT 1 FROM firings f JOIN turns t ON t.id = f.turn_id WHERE f.schedule_id = :schedule
    AND f.judged = 0 AND t.state IN {OPEN}"""
)
# Parts that were sent or may have been: a post of unknown outcome is repeated once before it is given up.
SENT_PARTS = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND (p.platform_id <> '' OR p.repeated = 1"
    " OR p.state = 'final'))"
)
# List the runs whose turns are closed and whose result has not been stored.
LIST_ENDED = sql(
    f"""SELECT f.id, f.schedule_id, f.attempt, t.state, t.error, {DELIVERED_PARTS} AS delivered,
    {LOST_PARTS} AS lost,
    {SENT_PARTS} AS sent, {FAILURE_CATEGORY} AS category FROM firings f JOIN turns t ON t.id = f.turn_id
    WHERE f.judged = 0 AND f.turn_id > 0 AND t.state NOT IN {OPEN} ORDER BY f.id LIMIT :limit"""
)
# Check whether a run was not judged yet.
FIND_UNJUDGED = sql("SELECT 1 FROM firings WHERE judged = 0 AND turn_id > 0 LIMIT 1")
# Mark an attempt as judged, once.
JUDGE_RUN = sql(
    """UPDATE firings SET judged = 1, retry_at = :retry_at WHERE id = :id AND judged = 0
    AND attempt = :attempt RETURNING id"""
)
RESET_FAILURES = sql("UPDATE schedules SET failures = 0, alerted = 0 WHERE id = :id")
# Store how far a digest came, since its run may be deleted before the next one. A retried run has read up
# to the retry's turn.
SET_DIGESTED_AT = sql(
    """UPDATE schedules SET digested_at = (
    SELECT CASE WHEN t.id IS NULL THEN f.at ELSE t.created_at END FROM firings f
    LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0 WHERE f.id = :firing)
    WHERE kind = 'digest' AND id = (SELECT f.schedule_id FROM firings f WHERE f.id = :firing)"""
)
COUNT_FAILURE = sql("UPDATE schedules SET failures = failures + 1 WHERE id = :id RETURNING failures, alerted")
# Mark that the failures of a schedule were reported.
MARK_ALERTED = sql("UPDATE schedules SET alerted = 1 WHERE id = :id")
LIST_DUE_RETRIES = sql(
    """SELECT id, schedule_id, due_at, attempt, retry_at FROM firings WHERE retry_at > 0 AND retry_at <= :now
    ORDER BY retry_at LIMIT :limit"""
)
NEXT_RETRY = sql("SELECT MIN(retry_at) FROM firings WHERE retry_at > 0")
# Start the retry of a run, unless another scheduler has done so.
TAKE_RETRY = sql(
    """UPDATE firings SET retry_at = 0, judged = 0, attempt = attempt + 1 WHERE id = :id
    AND retry_at = :retry_at RETURNING attempt"""
)
# Cancel the retry of a run.
DROP_RETRY = sql("UPDATE firings SET retry_at = 0 WHERE id = :id AND retry_at = :retry_at RETURNING id")
# Find the private chat in which a person was answered last.
PRIVATE_CHAT_OF = sql(
    """SELECT c.id, c.platform, c.account, c.chat, c.chat_kind FROM turns t
    JOIN conversations c ON c.id = t.conversation_id WHERE t.person = :person AND t.total_tokens > 0
    AND c.account = :account AND c.chat_kind = 'private' ORDER BY t.created_at DESC LIMIT 1"""
)
# Read the thread of a conversation without open turns or an open interrupt, which a scheduled turn would
# answer.
QUIET_THREAD = sql(
    f"""SELECT thread_id FROM conversations WHERE id = :id AND question = '' AND NOT EXISTS (SELECT 1
    FROM turns t WHERE t.conversation_id = conversations.id AND t.kind = 'chat' AND t.state IN {OPEN})"""
)
# Read the thread of a conversation without open turns, whose interrupt, if any, has been unanswered for a
# long time.
IDLE_THREAD = sql(
    f"""SELECT thread_id FROM conversations WHERE id = :id AND (question = '' OR asked_at < :before)
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = conversations.id AND t.kind = 'chat'
    AND t.state IN {OPEN})"""
)


@dataclass(frozen=True, slots=True)
class DueWork:
    """Runs with a result to store, retries and schedules that are due.

    `next_at` is when the next run or retry is due (0.0: none); `unjudged` is whether results are pending.
    """

    ended: Sequence[EndedRun]
    retries: Sequence[DueRetry]
    schedules: Sequence[Schedule]
    next_at: float
    unjudged: bool

    def __bool__(self) -> bool:
        """Return whether there is something to do now."""
        return bool(self.ended or self.retries or self.schedules)


def attempt_of(event: str) -> int:
    """Return the attempt number of a run from its message's event id; 0 for other messages."""
    parts = event.split(":")
    if not event.startswith(SCHEDULED_EVENT) or len(parts) != 4:
        return 0
    _, _, due, last = parts
    return 1 if due == NOW else int(last) if last.isdecimal() else 0


def decode_ended_run(row: Any) -> EndedRun:
    """Decode the row of an ended run."""
    good = row.state == TurnState.DONE.value and row.delivered > 0 and row.lost == 0
    partly = row.error == UNDELIVERED and row.sent > 0
    permanent = partly or row.category in PERMANENT or row.state == TurnState.CANCELLED.value
    return EndedRun(row.id, row.schedule_id, row.attempt, good, permanent, "" if good else find_problem(row))


def open_due_run(connection: Connection, one: DueRun, now: float) -> list[OpenedTurn] | None:
    """Advance a schedule and open the turn of its run.

    Returns None if another scheduler has done it, or the instant was run before.
    """
    schedule = one.schedule
    state = ScheduleState.ACTIVE if one.following else ScheduleState.DONE
    advance = {"id": schedule.id, "next_at": schedule.next_at, "following": one.following}
    if connection.execute(ADVANCE_SCHEDULE, {**advance, "state": state.value}).first() is None:
        return None
    firing = {"schedule": schedule.id, "due": one.due, "now": now, "missed": one.missed}
    added = connection.execute(ADD_RUN, firing).scalar_one_or_none()
    if added is None:
        return None
    overlaps = connection.execute(FIND_OPEN_RUN, {"schedule": schedule.id}).first() is not None
    skip = one.skip or (SkipReason.OVERLAP if overlaps else None)
    if skip is not None:
        told = _tell(connection, schedule, one.notice, now) if one.notice and one.skip else None
        connection.execute(SKIP_RUN, {"id": added, "reason": skip.value, "turn": told.turn if told else 0})
        if skip is SkipReason.QUIET:
            connection.execute(SET_DIGESTED_AT, {"firing": added})
        return [told] if told else []
    opened = _open(connection, one, f"{SCHEDULED_EVENT}{schedule.id}:{one.due:.0f}:1", now)
    connection.execute(SET_RUN_TURN, {"id": added, "turn": opened.turn})
    return [opened]


def trigger_schedule(
    connection: Connection, one: DueRun, actor: Actor, now: float
) -> list[OpenedTurn] | None:
    """Run a schedule now; return None if an earlier run is still in progress.

    A command that is executed again after a crash opens nothing.
    """
    schedule = one.schedule
    if is_recorded(connection, actor):
        return []
    if connection.execute(FIND_OPEN_RUN, {"schedule": schedule.id}).first() is not None:
        return None
    firing = {"schedule": schedule.id, "due": now, "now": now, "missed": 0}
    added = connection.execute(ADD_RUN, firing).scalar_one_or_none()
    if added is None:
        return None
    opened = _open(connection, one, f"{SCHEDULED_EVENT}{schedule.id}:{NOW}:{now}", now)
    connection.execute(SET_RUN_TURN, {"id": added, "turn": opened.turn})
    record_event(connection, actor, AuditEvent("schedule triggered", f"schedule {schedule.id}"), now)
    return [opened]


def list_ended_runs(connection: Connection) -> list[EndedRun]:
    """Return the runs whose turns are closed and whose result has not been stored yet."""
    return [decode_ended_run(row) for row in connection.execute(LIST_ENDED, {"limit": BATCH}).all()]


def judge_run(
    connection: Connection, one: EndedRun, retry_at: float, alert: str, now: float
) -> OpenedTurn | None:
    """Store a run's result. For a retry its time is set; a failure is counted, and after several consecutive
    failures the schedule's maker is notified once (`alert`).
    """
    judged = {"id": one.id, "attempt": one.attempt, "retry_at": retry_at}
    if connection.execute(JUDGE_RUN, judged).first() is None or retry_at:
        return None
    if one.good:
        connection.execute(RESET_FAILURES, {"id": one.schedule})
        connection.execute(SET_DIGESTED_AT, {"firing": one.id})
        return None
    failed = connection.execute(COUNT_FAILURE, {"id": one.schedule}).first()
    if failed is None or failed.failures < ALERT_AFTER or failed.alerted:
        return None
    connection.execute(MARK_ALERTED, {"id": one.schedule})
    schedule = load_schedule(connection, one.schedule)
    return None if schedule is None else _alert(connection, schedule, alert, now)


def list_due_retries(connection: Connection, now: float) -> list[DueRetry]:
    """Return the runs whose retry is due."""
    found = connection.execute(LIST_DUE_RETRIES, {"now": now, "limit": BATCH}).all()
    return [DueRetry(row.id, row.schedule_id, row.due_at, row.attempt, row.retry_at) for row in found]


def open_run_retry(
    connection: Connection, one: DueRetry, again: DueRun | None, now: float
) -> OpenedTurn | None:
    """Open another turn for a run, unless another scheduler has done so. The retry is cancelled if `again` is
    None, if the run is skipped (its notice is sent, since failed attempts have sent nothing), or if another
    run of the schedule is in progress, which would do the same work.
    """
    here = {"id": one.id, "retry_at": one.retry_at}
    overlaps = connection.execute(FIND_OPEN_RUN, {"schedule": one.schedule}).first() is not None
    if again is None or again.skip is not None or overlaps:
        if connection.execute(DROP_RETRY, here).first() is None:
            return None
        if again is None or again.skip is not SkipReason.QUIET:
            connection.execute(COUNT_FAILURE, {"id": one.schedule}).first()
        return _tell(connection, again.schedule, again.notice, now) if again and again.notice else None
    taken = connection.execute(TAKE_RETRY, here).first()
    if taken is None:
        return None
    opened = _open(connection, again, f"{SCHEDULED_EVENT}{one.schedule}:{one.due_at}:{taken.attempt}", now)
    connection.execute(SET_RUN_TURN, {"id": one.id, "turn": opened.turn})
    return opened


def find_next_due(connection: Connection) -> float:
    """Return when the next run or retry is due, or 0.0 if none is."""
    found = [connection.execute(one).scalar_one_or_none() for one in (NEXT_DUE, NEXT_RETRY)]
    return min((float(one) for one in found if one), default=0.0)


def has_unjudged_runs(connection: Connection) -> bool:
    """Check whether any run's result has not been stored yet."""
    return connection.execute(FIND_UNJUDGED).first() is not None


def find_due_work(connection: Connection, now: float) -> DueWork:
    """Return what a scheduler has to do now, and when to check again."""
    return DueWork(
        list_ended_runs(connection),
        list_due_retries(connection, now),
        list_due_schedules(connection, now),
        find_next_due(connection),
        has_unjudged_runs(connection),
    )


def _open(connection: Connection, one: DueRun, event: str, now: float) -> OpenedTurn:
    schedule = one.schedule
    conversation, thread = _conversation(connection, schedule, one.thread_id, now)
    here = (schedule.address, schedule.platform, thread)
    if schedule.kind is ScheduleKind.MESSAGE:
        turn = open_notice(connection, conversation, *here, one.text, now, model=one.model, size=0)
        return OpenedTurn(turn, conversation, TurnKind.NOTICE)
    address, platform, _ = here
    turn = open_turn(connection, conversation, TurnKind.CHAT, address, platform, thread, now, model=one.model)
    add_service_message(connection, turn, schedule.account, event, schedule.maker, one.text, now)
    return OpenedTurn(turn, conversation, TurnKind.CHAT)


def _conversation(connection: Connection, schedule: Schedule, thread_id: str, now: float) -> tuple[int, str]:
    """Return a run's conversation and thread: the one to continue if it has no open turn or interrupt, or
    else the schedule's own with a new thread, or a separate one if people use that conversation.
    """
    if schedule.conversation:
        row = connection.execute(QUIET_THREAD, {"id": schedule.conversation}).first()
        if row is not None:
            return schedule.conversation, row.thread_id
    name = f"{SCHEDULED_TOPIC}{schedule.id}"
    row = _own(connection, schedule, name, thread_id, now)
    if row.thread_id != thread_id:
        if connection.execute(IDLE_THREAD, {"id": row.id, "before": now - ASKED_FOR}).first() is None:
            # The run must not interfere with a discussion of an earlier run, or with an open question.
            return _own(connection, schedule, f"{name}-{thread_id}", thread_id, now).id, thread_id
        abandon_interrupt(connection, row.id, thread_id, None, now)
    return row.id, thread_id


def _own(connection: Connection, schedule: Schedule, topic: str, thread_id: str, now: float) -> Any:
    """Return the schedule's own conversation row, creating it if needed."""
    key, title = ConversationKey(schedule.account, schedule.chat, topic), to_one_line(schedule.text)
    of = schedule.platform, schedule.chat_kind, thread_id, _owner(connection, schedule)
    return take_conversation(connection, key, *of, title[:LONGEST_TITLE], now)


def _owner(connection: Connection, schedule: Schedule) -> str:
    """Return the owner of a run's private chat."""
    if schedule.chat_kind is not ChatKind.PRIVATE:
        return ""
    return find_chat_owner(connection, schedule.account, schedule.chat) or schedule.person


def _tell(connection: Connection, schedule: Schedule, text: str, now: float) -> OpenedTurn:
    turn = open_notice(
        connection, schedule.made_in, schedule.address, schedule.platform, "", text, now, size=0
    )
    return OpenedTurn(turn, schedule.made_in, TurnKind.NOTICE)


def _alert(connection: Connection, schedule: Schedule, text: str, now: float) -> OpenedTurn:
    """Notify a schedule's maker, in private if they have received an answer there before."""
    given = {"person": schedule.person, "account": schedule.account}
    row = connection.execute(PRIVATE_CHAT_OF, given).first()
    if row is None:
        return _tell(connection, schedule, text, now)
    address = ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind))
    turn = open_notice(connection, row.id, address, row.platform, "", text, now, size=0)
    return OpenedTurn(turn, row.id, TurnKind.NOTICE)
