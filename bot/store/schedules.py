"""Schedules and their firings: rows are the truth, and a firing is advanced, written down and given its turn
in one transaction, so that it happens once whoever looks at the clock.
"""

from __future__ import annotations

from typing import Any

from bot.domain import ChatKind, ReplyAddress, TurnKind
from bot.store import audit, interrupts, rows, web_sessions
from bot.store import schedule_statements as sql
from bot.store import statements as common
from bot.store.audit import Actor, Deed
from bot.store.connection import Connection
from bot.store.new_turn import open_notice, open_turn
from bot.store.schedule_rows import (
    EVENT,
    NOW,
    SCHEDULED,
    Closed,
    Fire,
    Firing,
    Opened,
    Retry,
    Schedule,
    ScheduleKind,
    ScheduleState,
    Skip,
    closed_in,
    firing_in,
    schedule_in,
)

BATCH = 100
"""So many rows are looked at in one go."""
ALERT_AFTER = 3
"""Firings in a row that came to nothing before somebody is told."""
LONGEST_TITLE = 60
ASKED_FOR = 24 * 3600.0


def add(connection: Connection, one: Schedule, actor: Actor | None, now: float) -> int:
    """Write a schedule down; its id. A draft is not yet a deed (`actor` None)."""
    made = int(
        connection.execute(
            sql.ADD,
            {
                "kind": one.kind.value,
                "state": one.state.value,
                "text": one.text,
                "spoken": one.spoken,
                "rule": one.rule,
                "zone": one.zone,
                "account": one.account,
                "platform": one.platform,
                "chat": one.chat,
                "chat_kind": one.chat_kind.value,
                "topic": one.topic,
                "conversation": one.conversation,
                "made_in": one.made_in,
                "maker": rows.sender_out(one.maker),
                "person": one.person,
                "now": now,
                "next_at": one.next_at,
            },
        ).scalar_one()
    )
    if actor is not None:
        audit.note(connection, actor, Deed("schedule", f"schedule {made}", one.spoken), now)
    return made


def get(connection: Connection, schedule: int) -> Schedule | None:
    """One schedule."""
    row = connection.execute(sql.GET, {"id": schedule}).first()
    return None if row is None else schedule_in(row)


def listed(connection: Connection, before: int, limit: int, person: str = "") -> list[Schedule]:
    """Schedules, newest first: of all, or of one person."""
    given = {"before": before, "limit": limit, **({"person": person} if person else {})}
    statement = sql.LISTED_OF if person else sql.LISTED
    return [schedule_in(row) for row in connection.execute(statement, given).all()]


def of_chat(connection: Connection, account: str, chat: str) -> list[Schedule]:
    """The schedules of a chat, in the order in which they were made."""
    return [
        schedule_in(row) for row in connection.execute(sql.OF_CHAT, {"account": account, "chat": chat}).all()
    ]


def count_in_chat(connection: Connection, account: str, chat: str) -> int:
    """How many schedules of a chat are active or paused."""
    return int(connection.execute(sql.COUNT_IN_CHAT, {"account": account, "chat": chat}).scalar_one())


def change(connection: Connection, was: Schedule, now_is: Schedule, actor: Actor, now: float) -> bool:
    """Put a schedule in place of what it was; False where its state has changed meanwhile."""
    changed = connection.execute(
        sql.CHANGE,
        {
            "id": was.id,
            "before": was.state.value,
            "state": now_is.state.value,
            "text": now_is.text,
            "spoken": now_is.spoken,
            "rule": now_is.rule,
            "zone": now_is.zone,
            "next_at": now_is.next_at,
        },
    ).first()
    if changed is not None:
        deed = Deed("schedule", f"schedule {was.id}", f"{now_is.state.value}: {now_is.spoken}")
        audit.note(connection, actor, deed, now)
    return changed is not None


def delete(connection: Connection, schedule: int, actor: Actor, now: float) -> bool:
    """Delete a schedule with its firings; whether there was one."""
    connection.execute(sql.DELETE_FIRINGS, {"id": schedule})
    gone = connection.execute(sql.DELETE, {"id": schedule}).first() is not None
    if gone:
        audit.note(connection, actor, Deed("schedule deleted", f"schedule {schedule}"), now)
    return gone


def due(connection: Connection, now: float) -> list[Schedule]:
    """Schedules that are due, the longest waiting first."""
    return [schedule_in(row) for row in connection.execute(sql.DUE, {"now": now, "limit": BATCH}).all()]


def next_at(connection: Connection) -> float:
    """When the next firing or retry is due; 0.0 where none is."""
    found = [connection.execute(one).scalar_one_or_none() for one in (sql.NEXT_DUE, sql.NEXT_RETRY)]
    return min((float(one) for one in found if one), default=0.0)


def any_open(connection: Connection) -> bool:
    """Whether a firing's turn has not been judged yet."""
    return connection.execute(sql.ANY_OPEN).first() is not None


def fire(connection: Connection, one: Fire, now: float) -> list[Opened] | None:
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


def trigger(connection: Connection, one: Fire, actor: Actor, now: float) -> list[Opened] | None:
    """Fire a schedule now, whatever it is due for; None where it still works on an earlier firing.

    A command that is carried out again after a crash has done it already: nothing is opened then.
    """
    schedule = one.schedule
    if audit.known(connection, actor):
        return []
    if connection.execute(sql.STILL_OPEN, {"schedule": schedule.id}).first() is not None:
        return None
    firing = {"schedule": schedule.id, "due": now, "now": now, "missed": 0}
    added = connection.execute(sql.ADD_FIRING, firing).scalar_one_or_none()
    if added is None:
        return None
    opened = _open(connection, one, f"{EVENT}{schedule.id}:{NOW}:{now}", now)
    connection.execute(sql.SET_FIRING_TURN, {"id": added, "turn": opened.turn})
    audit.note(connection, actor, Deed("schedule triggered", f"schedule {schedule.id}"), now)
    return [opened]


def closed(connection: Connection) -> list[Closed]:
    """Firings whose turns have ended and that nobody has judged."""
    return [closed_in(row) for row in connection.execute(sql.CLOSED, {"limit": BATCH}).all()]


def judge(connection: Connection, one: Closed, retry_at: float, alert: str, now: float) -> Opened | None:
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
    schedule = get(connection, one.schedule)
    return None if schedule is None else _alert(connection, schedule, alert, now)


def retries(connection: Connection, now: float) -> list[Retry]:
    """Firings that are to be tried again now."""
    found = connection.execute(sql.RETRIES_DUE, {"now": now, "limit": BATCH}).all()
    return [Retry(row.id, row.schedule_id, row.due_at, row.attempt, row.retry_at) for row in found]


def retry(connection: Connection, one: Retry, again: Fire | None, now: float) -> Opened | None:
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


def firings(connection: Connection, schedule: int, before: int, limit: int) -> list[Firing]:
    """The firings of a schedule, newest first."""
    given = {"schedule": schedule, "before": before, "limit": limit}
    return [firing_in(row) for row in connection.execute(sql.FIRINGS, given).all()]


def between(connection: Connection, begin: float, end: float, limit: int, person: str = "") -> list[Firing]:
    """Firings that were due from `begin` until before `end`, by time: of all, or of one person's."""
    given = {"begin": begin, "end": end, "limit": limit, **({"person": person} if person else {})}
    statement = sql.FIRINGS_BETWEEN_OF if person else sql.FIRINGS_BETWEEN
    return [firing_in(row) for row in connection.execute(statement, given).all()]


def forget(connection: Connection, drafts: float, old: float) -> None:
    """Drop drafts and firings from before those instants."""
    connection.execute(sql.FORGET_DRAFTS, {"before": drafts})
    connection.execute(sql.FORGET_FIRINGS, {"before": old})


def address(connection: Connection, conversation: int) -> ReplyAddress | None:
    """Where a conversation was answered last, None where it never was."""
    found = connection.execute(sql.LAST_ADDRESS, {"id": conversation}).scalar_one_or_none()
    return None if found is None else rows.address_in(found)


def zone(connection: Connection, account: str, chat: str) -> str:
    """The time zone of a chat, "" where none was chosen."""
    row = connection.execute(sql.CHAT, {"account": account, "chat": chat}).first()
    return "" if row is None else str(row.zone)


def chat_kind(connection: Connection, account: str, chat: str) -> ChatKind | None:
    """What kind of chat that is; None where nobody has talked with the bot in it."""
    row = connection.execute(sql.CHAT_KIND, {"account": account, "chat": chat}).first()
    return None if row is None else ChatKind(row.chat_kind)


def set_zone(connection: Connection, account: str, chat: str, name: str) -> None:
    """The time zone of a chat."""
    connection.execute(sql.SET_ZONE, {"account": account, "chat": chat, "zone": name})


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
            "sender": rows.sender_out(schedule.maker),
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
        interrupts.leave(connection, row.id, thread_id, None, now)
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
    return web_sessions.owner_of_chat(connection, schedule.account, schedule.chat) or schedule.person


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
