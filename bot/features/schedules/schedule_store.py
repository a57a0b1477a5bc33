"""Stored schedules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from bot.domain import ChatKind, Origin, ReplyAddress, Sender, person_of
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import (
    NEWEST,
    Connection,
    decode_address,
    decode_fields,
    decode_sender,
    encode_sender,
    on_accounts,
    sql,
)
from bot.store.open_work import Reach

BATCH = 100
"""Maximum number of rows read at once."""
NOW = "now"
"""Replaces the instant in the event id of a run that was triggered manually."""


class ScheduleKind(StrEnum):
    """Output of a run: a fixed text, the agent's answer to a prompt, or a digest since the last run."""

    MESSAGE = "message"
    PROMPT = "prompt"
    DIGEST = "digest"


class ScheduleState(StrEnum):
    """State of a schedule. A draft waits for confirmation; a done schedule has no runs left."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. `rule` is the stored form of a recurrence, `spoken` its original wording, `zone` an IANA
    name. `topic` "" means the chat itself. `conversation` is continued by the runs (0: one of the schedule's
    own). `made_in` is the conversation in which `maker` created it. `next_at` is 0.0 if nothing is due.
    `digested_at` is the end of the last digest (0.0: not recorded); `chat_title` is the name of a group, if
    known.
    """

    id: int
    kind: ScheduleKind
    state: ScheduleState
    text: str
    spoken: str
    rule: str
    zone: str
    account: str
    platform: str
    chat: str
    chat_kind: ChatKind
    topic: str
    conversation: int
    made_in: int
    maker: Sender
    made_at: float
    next_at: float
    failures: int = 0
    digested_at: float = 0.0
    chat_title: str = ""

    @property
    def address(self) -> ReplyAddress:
        """Return the address for its results."""
        return ReplyAddress(self.account, self.chat, self.chat_kind, self.topic)

    @property
    def origin(self) -> Origin:
        """Return the origin of a message by its maker in the target chat."""
        return Origin(self.account, self.platform, self.chat, self.chat_kind, "", self.maker)

    @property
    def person(self) -> str:
        """Return the maker as `platform:id`."""
        return person_of(self.platform, self.maker)


SCHEDULE_COLUMNS = (
    "id, kind, state, text, spoken, rule, zone, account, platform, chat, chat_kind, topic, conversation_id,"
    " made_in, maker, person, made_at, next_at, failures, alerted,"
    " digested_at, (SELECT h.title FROM chats h WHERE h.account = schedules.account"
    " AND h.chat = schedules.chat) AS chat_title"
)
# Insert a schedule; returns its id.
ADD_SCHEDULE = sql(
    """INSERT INTO schedules (kind, state, text, spoken, rule, zone, account, platform, chat, chat_kind,
    topic, conversation_id, made_in, maker, person, made_at, next_at) VALUES (:kind, :state, :text, :spoken,
    :rule, :zone, :account, :platform, :chat, :chat_kind, :topic, :conversation, :made_in, :maker, :person,
    :now, :next_at) RETURNING id"""
)
GET_SCHEDULE = sql(f"SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE id = :id")
# List the schedules of a person and all schedules on some accounts, or those of everyone.
LIST_SCHEDULES = sql(
    f"""SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE (:all = 1 OR account IN :accounts OR person = :person)
    AND id < :before AND state <> 'draft' ORDER BY id DESC LIMIT :limit""",
    "accounts",
)
LIST_NEXT = sql(f"SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE state = 'active' ORDER BY next_at, id")
LIST_CHAT_SCHEDULES = sql(
    f"""SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE account = :account AND chat = :chat AND state <>
    'draft'
    ORDER BY id"""
)
# Count the active and paused schedules of a chat.
COUNT_CHAT_SCHEDULES = sql(
    """SELECT COUNT(*) FROM schedules WHERE account = :account AND chat = :chat
    AND state IN ('active', 'paused')"""
)
# Update a schedule if its state is as expected.
UPDATE_SCHEDULE = sql(
    """UPDATE schedules SET state = :state, text = :text, spoken = :spoken, rule = :rule, zone = :zone,
    next_at = :next_at, failures = 0, alerted = 0 WHERE id = :id AND state = :before RETURNING id"""
)
DELETE_RUNS = sql("DELETE FROM firings WHERE schedule_id = :id")
DELETE_SCHEDULE = sql("DELETE FROM schedules WHERE id = :id RETURNING id")
PURGE_DRAFTS = sql("DELETE FROM schedules WHERE state = 'draft' AND made_at < :before")
# Delete what the agent proposed: undecided proposals with their drafts, decided ones later.
PURGE_PROPOSALS = sql(
    "DELETE FROM schedule_proposals WHERE (decision = '' AND made_at < :drafts) OR made_at < :old"
)
# Record what a person decided about the draft of the agent.
DECIDE_PROPOSAL = sql(
    "UPDATE schedule_proposals SET decision = :decision WHERE draft = :id AND decision = ''"
)
# Withdraw what the agent proposed to do with a schedule that is not the same any more, or gone: another one
# may get its id.
WITHDRAW_PROPOSALS = [
    sql(
        """DELETE FROM schedules WHERE state = 'draft' AND id IN (SELECT draft FROM schedule_proposals
        WHERE target = :id AND decision = '')"""
    ),
    sql("UPDATE schedule_proposals SET decision = 'discarded' WHERE target = :id AND decision = ''"),
]
# Delete old runs that need no retry.
PURGE_RUNS = sql("DELETE FROM firings WHERE at < :before AND judged = 1 AND retry_at = 0")
# Read where a conversation was answered last.
LAST_ADDRESS = sql("SELECT address FROM turns WHERE conversation_id = :id ORDER BY id DESC LIMIT 1")
LIST_DUE = sql(
    f"""SELECT {SCHEDULE_COLUMNS} FROM schedules WHERE state = 'active' AND next_at <= :now
    ORDER BY next_at, id LIMIT :limit"""
)


def add_schedule(connection: Connection, one: Schedule, actor: Actor | None, now: float) -> int:
    """Store a schedule and return its id. Drafts are not audited (`actor` None)."""
    made = int(
        connection.execute(
            ADD_SCHEDULE,
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
                "maker": encode_sender(one.maker),
                "person": one.person,
                "now": now,
                "next_at": one.next_at,
            },
        ).scalar_one()
    )
    if actor is not None:
        record_event(connection, actor, AuditEvent("schedule", f"schedule {made}", one.spoken), now)
    return made


def load_schedule(connection: Connection, schedule: int) -> Schedule | None:
    """Return a schedule, or None if it does not exist."""
    row = connection.execute(GET_SCHEDULE, {"id": schedule}).first()
    return None if row is None else decode_schedule(row)


def list_schedules(
    connection: Connection,
    before: int = NEWEST,
    limit: int = 50,
    person: str = "",
    accounts: Collection[str] = (),
) -> list[Schedule]:
    """Return schedules, newest first: of all people, or of one person and of everyone on `accounts`."""
    reach = {"person": person, **on_accounts(frozenset(accounts) if person else None)}
    given = {"before": before, "limit": limit, **reach}
    return [decode_schedule(row) for row in connection.execute(LIST_SCHEDULES, given).all()]


def list_next_schedules(connection: Connection, reach: Reach, limit: int = 5) -> list[Schedule]:
    """Return the active schedules within reach that run next."""
    rows = connection.execute(LIST_NEXT).all()
    found = (row for row in rows if reach.includes(row.account, row.person))
    return [decode_schedule(row) for row in islice(found, limit)]


def list_chat_schedules(connection: Connection, account: str, chat: str) -> list[Schedule]:
    """Return the schedules of a chat, oldest first."""
    return [
        decode_schedule(row)
        for row in connection.execute(LIST_CHAT_SCHEDULES, {"account": account, "chat": chat}).all()
    ]


def count_chat_schedules(connection: Connection, account: str, chat: str) -> int:
    """Count the active and paused schedules of a chat."""
    return int(connection.execute(COUNT_CHAT_SCHEDULES, {"account": account, "chat": chat}).scalar_one())


def update_schedule(
    connection: Connection, was: Schedule, now_is: Schedule, actor: Actor, now: float
) -> bool:
    """Replace a schedule; return False if its state has changed in the meantime."""
    changed = connection.execute(
        UPDATE_SCHEDULE,
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
        connection.execute(DECIDE_PROPOSAL, {"id": was.id, "decision": "confirmed"})
        if (now_is.text, now_is.rule, now_is.zone) != (was.text, was.rule, was.zone):
            _withdraw_proposals(connection, was.id)
        deed = AuditEvent("schedule", f"schedule {was.id}", f"{now_is.state.value}: {now_is.spoken}")
        record_event(connection, actor, deed, now)
    return changed is not None


def delete_schedule(connection: Connection, schedule: int, actor: Actor, now: float) -> bool:
    """Delete a schedule with its runs; return False if it does not exist."""
    connection.execute(DELETE_RUNS, {"id": schedule})
    gone = connection.execute(DELETE_SCHEDULE, {"id": schedule}).first() is not None
    if gone:
        connection.execute(DECIDE_PROPOSAL, {"id": schedule, "decision": "discarded"})
        _withdraw_proposals(connection, schedule)
        record_event(connection, actor, AuditEvent("schedule deleted", f"schedule {schedule}"), now)
    return gone


def _withdraw_proposals(connection: Connection, schedule: int) -> None:
    for statement in WITHDRAW_PROPOSALS:
        connection.execute(statement, {"id": schedule})


def purge_schedules(connection: Connection, drafts: float, old: float) -> None:
    """Delete drafts and runs older than the given times, along with the agent's proposals."""
    connection.execute(PURGE_DRAFTS, {"before": drafts})
    connection.execute(PURGE_PROPOSALS, {"drafts": drafts, "old": old})
    connection.execute(PURGE_RUNS, {"before": old})


def load_last_address(connection: Connection, conversation: int) -> ReplyAddress | None:
    """Return the address of a conversation's last answer, or None if there is none."""
    found = connection.execute(LAST_ADDRESS, {"id": conversation}).scalar_one_or_none()
    return None if found is None else decode_address(found)


def decode_schedule(row: Any) -> Schedule:
    """Decode a schedule row."""
    return decode_fields(
        Schedule,
        row,
        kind=ScheduleKind(row.kind),
        state=ScheduleState(row.state),
        chat_kind=ChatKind(row.chat_kind),
        conversation=row.conversation_id,
        maker=decode_sender(row.maker),
        chat_title=row.chat_title or "",
    )


def list_due_schedules(connection: Connection, now: float) -> list[Schedule]:
    """Return the due schedules, longest overdue first."""
    return [decode_schedule(row) for row in connection.execute(LIST_DUE, {"now": now, "limit": BATCH}).all()]
