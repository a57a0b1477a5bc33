"""Scheduled runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.domain import ChatKind, ReplyAddress, TurnKind, TurnState
from bot.store import schedule_statements as sql
from bot.store import statements as common
from bot.store.audit import Actor, Deed, is_recorded, record_event
from bot.store.connection import Connection
from bot.store.interrupts import abandon_interrupt
from bot.store.new_turn import open_notice, open_turn
from bot.store.rows import NEWEST, sender_out
from bot.store.schedules import (
    BATCH,
    EVENT,
    NOW,
    SCHEDULED,
    Schedule,
    ScheduleKind,
    ScheduleState,
    load_schedule,
    schedule_in,
)
from bot.store.web_sessions import find_chat_owner


class Skip(StrEnum):
    """Why a firing brought nothing."""

    OVERLAP = "overlap"
    MISSED = "missed"
    ACCESS = "access"
    ACCOUNT = "account"
    QUIET = "quiet"
    UNRECORDED = "unrecorded"
    BUDGET = "budget"


def attempt_of(event: str) -> int:
    """Which try of a firing a message with this event id stands for; 0 where no schedule wrote it."""
    parts = event.split(":")
    if not event.startswith(EVENT) or len(parts) != 4:
        return 0
    _, _, due, last = parts
    return 1 if due == NOW else int(last) if last.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Fire:
    """A firing that is due: for the instant `due`, after `missed` others that came too late; `following` is
    the next one (0.0: none). `skip` says why it brings nothing, `notice` what the chat hears of that. `text`
    is what it brings or asks, `thread_id` a fresh thread's id, `model` the account's.
    """

    schedule: Schedule
    due: float
    following: float
    text: str
    thread_id: str
    model: str = ""
    missed: int = 0
    skip: Skip | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that a firing opened, for the dispatcher."""

    turn: int
    conversation: int
    kind: TurnKind


@dataclass(frozen=True, slots=True)
class Firing:
    """A firing as it stands. `state` is its turn's (None: there is none), `delivered` says that the platform
    has named every message of it; `problem` says what went wrong ("" for nothing).
    """

    id: int
    schedule: int
    due_at: float
    at: float
    attempt: int
    missed: int
    skipped: str
    retry_at: float
    turn: int
    state: TurnState | None
    delivered: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A firing whose turn has ended. `good`: it ran, and all of it was delivered; `permanent`: trying again
    does not help, or says again what stands there already or may stand.
    """

    id: int
    schedule: int
    attempt: int
    good: bool
    permanent: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A firing that is to be tried again since `retry_at`."""

    id: int
    schedule: int
    due_at: float
    attempt: int
    retry_at: float


UNDELIVERED = "undelivered"
"""The error of a turn whose answer is there and could not be brought whole."""


PERMANENT = frozenset({"auth", "permission", "not_found", "invalid_payload"})


def _problem(row: Any) -> str:
    if row.state is None or row.state == TurnState.DONE.value:
        return str(row.category or "")
    return str(row.category or row.error or row.state)


def closed_in(row: Any) -> Closed:
    """The ended firing of a row."""
    good = row.state == TurnState.DONE.value and row.delivered > 0 and row.lost == 0
    partly = row.error == UNDELIVERED and row.sent > 0
    permanent = partly or row.category in PERMANENT or row.state == TurnState.CANCELLED.value
    return Closed(row.id, row.schedule_id, row.attempt, good, permanent, "" if good else _problem(row))


def firing_in(row: Any) -> Firing:
    """The firing of a row."""
    state = TurnState(row.state) if row.state else None
    return Firing(
        id=row.id,
        schedule=row.schedule_id,
        due_at=row.due_at,
        at=row.at,
        attempt=row.attempt,
        missed=row.missed,
        skipped=row.skipped,
        retry_at=row.retry_at,
        turn=row.turn_id,
        state=state,
        delivered=row.delivered > 0 and row.lost == 0 and state is TurnState.DONE,
        problem=_problem(row),
    )


def open_due_run(connection: Connection, one: Fire, now: float) -> list[Opened] | None:
    """Advance a schedule and open the turn of its firing; what was opened.

    None where somebody else has taken it, or it fired for that instant before.
    """
    schedule = one.schedule
    state = ScheduleState.ACTIVE if one.following else ScheduleState.DONE
    advance = {"id": schedule.id, "next_at": schedule.next_at, "following": one.following}
    if connection.execute(sql.ADVANCE, {**advance, "state": state.value}).first() is None:
        return None
    firing = {"schedule": schedule.id, "due": one.due, "now": now, "missed": one.missed}
    added = connection.execute(sql.ADD_FIRING, firing).scalar_one_or_none()
    if added is None:
        return None
    overlaps = connection.execute(sql.STILL_OPEN, {"schedule": schedule.id}).first() is not None
    skip = one.skip or (Skip.OVERLAP if overlaps else None)
    if skip is not None:
        told = _tell(connection, schedule, one.notice, now) if one.notice and one.skip else None
        connection.execute(
            sql.SKIP_FIRING, {"id": added, "reason": skip.value, "turn": told.turn if told else 0}
        )
        if skip is Skip.QUIET:
            connection.execute(sql.DIGESTED, {"firing": added})
        return [told] if told else []
    opened = _open(connection, one, f"{EVENT}{schedule.id}:{one.due:.0f}:1", now)
    connection.execute(sql.SET_FIRING_TURN, {"id": added, "turn": opened.turn})
    return [opened]


def trigger_schedule(connection: Connection, one: Fire, actor: Actor, now: float) -> list[Opened] | None:
    """Fire a schedule now, whatever it is due for; None where it still works on an earlier firing.

    A command that is carried out again after a crash has done it already: nothing is opened then.
    """
    schedule = one.schedule
    if is_recorded(connection, actor):
        return []
    if connection.execute(sql.STILL_OPEN, {"schedule": schedule.id}).first() is not None:
        return None
    firing = {"schedule": schedule.id, "due": now, "now": now, "missed": 0}
    added = connection.execute(sql.ADD_FIRING, firing).scalar_one_or_none()
    if added is None:
        return None
    opened = _open(connection, one, f"{EVENT}{schedule.id}:{NOW}:{now}", now)
    connection.execute(sql.SET_FIRING_TURN, {"id": added, "turn": opened.turn})
    record_event(connection, actor, Deed("schedule triggered", f"schedule {schedule.id}"), now)
    return [opened]


def list_ended_runs(connection: Connection) -> list[Closed]:
    """Firings whose turns have ended and that nobody has judged."""
    return [closed_in(row) for row in connection.execute(sql.CLOSED, {"limit": BATCH}).all()]


def judge_run(connection: Connection, one: Closed, retry_at: float, alert: str, now: float) -> Opened | None:
    """Write down how a firing went. One that is to be tried again gets its time; one that came to nothing
    counts, and after several in a row its maker is told once (`alert`).
    """
    judged = {"id": one.id, "attempt": one.attempt, "retry_at": retry_at}
    if connection.execute(sql.JUDGE, judged).first() is None or retry_at:
        return None
    if one.good:
        connection.execute(sql.SUCCEEDED, {"id": one.schedule})
        connection.execute(sql.DIGESTED, {"firing": one.id})
        return None
    failed = connection.execute(sql.FAILED, {"id": one.schedule}).first()
    if failed is None or failed.failures < ALERT_AFTER or failed.alerted:
        return None
    connection.execute(sql.ALERTED, {"id": one.schedule})
    schedule = load_schedule(connection, one.schedule)
    return None if schedule is None else _alert(connection, schedule, alert, now)


def list_due_retries(connection: Connection, now: float) -> list[Retry]:
    """Firings that are to be tried again now."""
    found = connection.execute(sql.RETRIES_DUE, {"now": now, "limit": BATCH}).all()
    return [Retry(row.id, row.schedule_id, row.due_at, row.attempt, row.retry_at) for row in found]


def open_run_retry(connection: Connection, one: Retry, again: Fire | None, now: float) -> Opened | None:
    """Open another turn for a firing, unless somebody else has. `again` None gives it up; one that brings
    nothing does so, too, and its chat hears the notice: the failed tries before have said nothing.
    """
    here = {"id": one.id, "retry_at": one.retry_at}
    if again is None or again.skip is not None:
        if connection.execute(sql.DROP_RETRY, here).first() is None:
            return None
        if again is None or again.skip is not Skip.QUIET:
            connection.execute(sql.FAILED, {"id": one.schedule}).first()
        return _tell(connection, again.schedule, again.notice, now) if again and again.notice else None
    taken = connection.execute(sql.TAKE_RETRY, here).first()
    if taken is None:
        return None
    opened = _open(connection, again, f"{EVENT}{one.schedule}:{one.due_at}:{taken.attempt}", now)
    connection.execute(sql.SET_FIRING_TURN, {"id": one.id, "turn": opened.turn})
    return opened


def list_scheduled_runs(
    connection: Connection, schedule: int, before: int = NEWEST, limit: int = 50
) -> list[Firing]:
    """The firings of a schedule, newest first."""
    given = {"schedule": schedule, "before": before, "limit": limit}
    return [firing_in(row) for row in connection.execute(sql.FIRINGS, given).all()]


def list_runs_between(
    connection: Connection, begin: float, end: float, limit: int, person: str = ""
) -> list[Firing]:
    """Firings that were due from `begin` until before `end`, by time: of all, or of one person's."""
    given = {"begin": begin, "end": end, "limit": limit, **({"person": person} if person else {})}
    statement = sql.FIRINGS_BETWEEN_OF if person else sql.FIRINGS_BETWEEN
    return [firing_in(row) for row in connection.execute(statement, given).all()]


def find_next_due(connection: Connection) -> float:
    """When the next firing or retry is due; 0.0 where none is."""
    found = [connection.execute(one).scalar_one_or_none() for one in (sql.NEXT_DUE, sql.NEXT_RETRY)]
    return min((float(one) for one in found if one), default=0.0)


def has_unjudged_runs(connection: Connection) -> bool:
    """Whether a firing's turn has not been judged yet."""
    return connection.execute(sql.ANY_OPEN).first() is not None


def list_due_schedules(connection: Connection, now: float) -> list[Schedule]:
    """Schedules that are due, the longest waiting first."""
    return [schedule_in(row) for row in connection.execute(sql.DUE, {"now": now, "limit": BATCH}).all()]


def _open(connection: Connection, one: Fire, event: str, now: float) -> Opened:
    schedule = one.schedule
    conversation, thread = _conversation(connection, schedule, one.thread_id, now)
    here = (schedule.address, schedule.platform, thread)
    if schedule.kind is ScheduleKind.MESSAGE:
        turn = open_notice(connection, conversation, *here, one.text, now, model=one.model, size=0)
        return Opened(turn, conversation, TurnKind.NOTICE)
    address, platform, _ = here
    turn = open_turn(connection, conversation, TurnKind.CHAT, address, platform, thread, now, model=one.model)
    inbound = connection.execute(
        common.ADD_INBOUND,
        {
            "account": schedule.account,
            "event_id": event,
            "message_id": "",
            "sender": sender_out(schedule.maker),
            "text": one.text,
            "attachments": "",
            "group_key": "",
            "sent_at": now,
            "now": now,
        },
    ).scalar_one()
    connection.execute(common.SET_INBOUND_TURN, {"turn": turn, "id": inbound})
    return Opened(turn, conversation, TurnKind.CHAT)


def _conversation(connection: Connection, schedule: Schedule, thread_id: str, now: float) -> tuple[int, str]:
    """The conversation of a firing and its thread: the one that it goes on with if nothing is under way or
    asked there, else its own, begun anew; where people talk there, one for this firing alone.
    """
    if schedule.conversation:
        row = connection.execute(sql.QUIET_THREAD, {"id": schedule.conversation}).first()
        if row is not None:
            return schedule.conversation, row.thread_id
    name = f"{SCHEDULED}{schedule.id}"
    row = _own(connection, schedule, name, thread_id, now)
    if row.thread_id != thread_id:
        if connection.execute(sql.IDLE_THREAD, {"id": row.id, "before": now - ASKED_FOR}).first() is None:
            # Somebody talks about an earlier firing there, or is asked something.
            return _own(connection, schedule, f"{name}-{thread_id}", thread_id, now).id, thread_id
        abandon_interrupt(connection, row.id, thread_id, None, now)
    return row.id, thread_id


def _own(connection: Connection, schedule: Schedule, topic: str, thread_id: str, now: float) -> Any:
    """The row of a conversation that belongs to a schedule alone, made if need be."""
    return connection.execute(
        common.TAKE_CONVERSATION,
        {
            "account": schedule.account,
            "chat": schedule.chat,
            "topic": topic,
            "member": "",
            "platform": schedule.platform,
            "chat_kind": schedule.chat_kind.value,
            "thread_id": thread_id,
            "owner": _owner(connection, schedule),
            "title": " ".join(schedule.text.split())[:LONGEST_TITLE],
            "now": now,
        },
    ).one()


def _owner(connection: Connection, schedule: Schedule) -> str:
    """Whose the private chat is that a firing goes to, whoever scheduled it."""
    if schedule.chat_kind is not ChatKind.PRIVATE:
        return ""
    return find_chat_owner(connection, schedule.account, schedule.chat) or schedule.person


def _tell(connection: Connection, schedule: Schedule, text: str, now: float) -> Opened:
    turn = open_notice(
        connection, schedule.made_in, schedule.address, schedule.platform, "", text, now, size=0
    )
    return Opened(turn, schedule.made_in, TurnKind.NOTICE)


def _alert(connection: Connection, schedule: Schedule, text: str, now: float) -> Opened:
    """Tell who made a schedule, in private where they have been answered there."""
    given = {"person": schedule.person, "account": schedule.account}
    row = connection.execute(sql.PRIVATE_CHAT_OF, given).first()
    if row is None:
        return _tell(connection, schedule, text, now)
    address = ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind))
    turn = open_notice(connection, row.id, address, row.platform, "", text, now, size=0)
    return Opened(turn, row.id, TurnKind.NOTICE)


ALERT_AFTER = 3
"""Firings in a row that came to nothing before somebody is told."""


LONGEST_TITLE = 60


ASKED_FOR = 24 * 3600.0
