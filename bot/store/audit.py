"""Audit events, each written in the same transaction as the action it records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bot.domain import Origin, person_of
from bot.store.connection import NEWEST, Accounts, Connection, on_accounts, sql
from bot.turn import Turn

MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of an audit event (`platform:id`), and the account and chat of the action. `key` identifies
    the event, so that a retried action is recorded once.
    """

    key: str
    person: str
    name: str
    account: str
    chat: str


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An action, its subject and a detail, as plain text that may quote people."""

    action: str
    subject: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored audit event; `at` is in seconds since the epoch."""

    id: int
    at: float
    person: str
    name: str
    account: str
    chat: str
    deed: AuditEvent


# Insert an audit event, once per key.
ADD_AUDIT = sql(
    """INSERT INTO audit (key, at, person, name, account, chat, action, subject, detail)
    VALUES (:key, :at, :person, :name, :account, :chat, :action, :subject, :detail)
    ON CONFLICT (key) DO NOTHING"""
)
FIND_AUDIT_KEY = sql("SELECT id FROM audit WHERE key = :key")
# List the audit events on some accounts or on all, by or about a person or of everyone, newest first.
LIST_AUDIT = sql(
    """SELECT * FROM audit WHERE id < :before AND (:all = 1 OR account IN :accounts) AND (:anyone = 1
    OR person = :person OR subject = :person OR subject IN (SELECT account || CAST(:on_account AS TEXT)
    FROM conversations WHERE platform = :platform)) ORDER BY id DESC LIMIT :limit""",
    "accounts",
)
# List the newest audit events with some actions.
LIST_ACTIONS = sql("SELECT * FROM audit WHERE action IN :actions ORDER BY id DESC LIMIT :limit", "actions")
LAST_EVENT = sql("SELECT COALESCE(MAX(id), 0) FROM audit")
# Count the recent audit events of a person with an action.
COUNT_AUDIT = sql("SELECT COUNT(*) FROM audit WHERE person = :person AND action = :action AND at > :since")


def actor_of(origin: Origin, key: str) -> Actor:
    """Return the author of a message."""
    sender = origin.sender
    return Actor(key, person_of(origin.platform, sender), sender.name, origin.account, origin.chat)


def author_of(turn: Turn) -> Actor:
    """Return the author of a command. The command's turn is the key of its event; a console user who signed
    in by a link acts on the account of the link.
    """
    sender, address = turn.messages[-1].sender, turn.address
    person, account = person_of(turn.platform, sender), sender.account or address.account
    return Actor(f"turn:{turn.id}", person, sender.name, account, address.chat)


def record_event(connection: Connection, actor: Actor, deed: AuditEvent, now: float) -> None:
    """Store an audit event, once per key."""
    connection.execute(
        ADD_AUDIT,
        {
            "key": actor.key,
            "at": now,
            "person": actor.person,
            "name": actor.name,
            "account": actor.account,
            "chat": actor.chat,
            "action": deed.action,
            "subject": deed.subject[:MOST_TEXT],
            "detail": deed.detail[:MOST_TEXT],
        },
    )


def is_recorded(connection: Connection, actor: Actor) -> bool:
    """Check whether an event with the actor's key has been recorded."""
    return connection.execute(FIND_AUDIT_KEY, {"key": actor.key}).first() is not None


def begin_once(connection: Connection, actor: Actor, deed: AuditEvent, now: float) -> bool:
    """Record an action before it is performed. Return False if it was recorded before: it may already have
    been performed.
    """
    if is_recorded(connection, actor):
        return False
    record_event(connection, actor, deed, now)
    return True


def list_audit_entries(
    connection: Connection,
    before: int = NEWEST,
    limit: int = 50,
    person: str = "",
    accounts: Accounts = None,
) -> list[AuditEntry]:
    """Return the newest events with ids below `before`, by or about `person` ("" for all), of actors on these
    accounts.
    """
    platform, _, id_ = person.partition(":")
    whose = {"person": person, "platform": platform, "on_account": f":{id_}", "anyone": int(not person)}
    given = {"before": before, "limit": limit, **whose, **on_accounts(accounts)}
    return [_entry(row) for row in connection.execute(LIST_AUDIT, given).all()]


def list_actions(connection: Connection, actions: Collection[str], limit: int) -> list[AuditEntry]:
    """Return the newest events with these actions, newest first."""
    found = connection.execute(LIST_ACTIONS, {"actions": sorted(actions), "limit": limit})
    return [_entry(row) for row in found.all()]


def find_last_event(connection: Connection) -> int:
    """Return the id of the newest event, 0 if there is none."""
    return int(connection.execute(LAST_EVENT).scalar_one())


def count_audit_events(connection: Connection, person: str, action: str, since: float) -> int:
    """Count how often a person has performed an action since a time."""
    given = {"person": person, "action": action, "since": since}
    return int(connection.execute(COUNT_AUDIT, given).scalar_one())


def _entry(row: Any) -> AuditEntry:
    deed = AuditEvent(row.action, row.subject, row.detail)
    return AuditEntry(row.id, row.at, row.person, row.name, row.account, row.chat, deed)
