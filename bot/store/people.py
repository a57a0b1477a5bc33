"""Granted roles and pairing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from bot.domain import Origin, ReplyAddress, person_of
from bot.store.audit import Actor, AuditEvent, author_of, record_event
from bot.store.connection import Connection, decode_address, encode_address, sql
from bot.store.new_turn import open_notice, record_answer
from bot.texts import Texts
from bot.turn import Turn

MOST_WAITING = 5
"""Maximum number of pending pairing codes per account."""


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """A role granted to an access entry, with its `name` if known, the granting admin and the time."""

    entry: str
    role: str
    name: str
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing code for a person without access, valid for a number of seconds."""

    code: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A person without access (`platform:id`) who has a pairing code."""

    code: str
    account: str
    person: str
    name: str
    expires_at: float

    @property
    def entry(self) -> str:
        """Return the access entry for this account that receives the role."""
        return _on(self.account, self.person)


class PairingOutcome(Enum):
    """The result of a pairing request: a new code, an existing valid code, or too many requests."""

    NEW = auto()
    KNOWN = auto()
    CROWDED = auto()


LIST_ROLES = sql("SELECT entry, role, name, given_by, given_at FROM roles ORDER BY entry")
# Grant a role to an access entry, keeping a known name.
SET_ROLE = sql(
    """INSERT INTO roles (entry, role, name, given_by, given_at) VALUES (:entry, :role, :name, :by, :now)
    ON CONFLICT (entry) DO UPDATE SET role = excluded.role, given_by = excluded.given_by,
    given_at = excluded.given_at,
    name = CASE WHEN excluded.name = '' THEN roles.name ELSE excluded.name END"""
)
# Revoke the role of an access entry.
DELETE_ROLE = sql("DELETE FROM roles WHERE entry = :entry RETURNING role")
EXPIRE_PAIRINGS = sql("DELETE FROM pairings WHERE expires_at <= :now")
# List the people with a pairing code.
LIST_PAIRED_PEOPLE = sql("SELECT code, account, person FROM pairings")
DELETE_PAIRING = sql("DELETE FROM pairings WHERE code = :code")
FIND_PAIRING = sql("SELECT code FROM pairings WHERE account = :account AND person = :person")
COUNT_PAIRINGS = sql("SELECT COUNT(*) FROM pairings WHERE account = :account")
ADD_PAIRING = sql(
    """INSERT INTO pairings (code, account, person, name, expires_at)
    VALUES (:code, :account, :person, :name, :expires_at)"""
)
# Set where the holder of a code is notified.
SET_PAIRING_ADDRESS = sql(
    "UPDATE pairings SET conversation_id = :conversation, address = :address WHERE code = :code"
)
# List the valid pairing codes, the newest first.
LIST_PAIRINGS = sql(
    "SELECT code, account, person, name, expires_at FROM pairings WHERE expires_at > :now"
    " ORDER BY expires_at DESC"
)
# Delete a valid pairing code and return its holder.
TAKE_PAIRING = sql(
    """DELETE FROM pairings WHERE code = :code AND expires_at > :now
    RETURNING account, person, name, conversation_id, address"""
)


def list_role_grants(connection: Connection) -> list[RoleGrant]:
    """Return all granted roles, by entry."""
    return [
        RoleGrant(row.entry, row.role, row.name, row.given_by, row.given_at)
        for row in connection.execute(LIST_ROLES).all()
    ]


def grant_role(connection: Connection, one: RoleGrant, actor: Actor, now: float) -> None:
    """Grant a role, replacing an earlier one, and delete the person's pairing codes."""
    connection.execute(
        SET_ROLE,
        {"entry": one.entry, "role": one.role, "name": one.name, "by": actor.person, "now": now},
    )
    for row in connection.execute(LIST_PAIRED_PEOPLE).all():
        if one.entry in (row.person, _on(row.account, row.person)):
            connection.execute(DELETE_PAIRING, {"code": row.code})
    record_event(connection, actor, AuditEvent("give", one.entry, one.role), now)


def revoke_role(connection: Connection, entry: str, actor: Actor, now: float) -> bool:
    """Revoke a role; returns False if there was none."""
    taken = connection.execute(DELETE_ROLE, {"entry": entry}).first() is not None
    if taken:
        record_event(connection, actor, AuditEvent("take", entry), now)
    return taken


def request_pairing(connection: Connection, pairing: Pairing, origin: Origin, now: float) -> PairingOutcome:
    """Store a pairing code for a person, unless they already have one or too many requests are pending."""
    connection.execute(EXPIRE_PAIRINGS, {"now": now})
    person = person_of(origin.platform, origin.sender)
    if connection.execute(FIND_PAIRING, {"account": origin.account, "person": person}).first():
        return PairingOutcome.KNOWN
    if connection.execute(COUNT_PAIRINGS, {"account": origin.account}).scalar_one() >= MOST_WAITING:
        return PairingOutcome.CROWDED
    connection.execute(
        ADD_PAIRING,
        {
            "code": pairing.code,
            "account": origin.account,
            "person": person,
            "name": origin.sender.name,
            "expires_at": now + pairing.seconds,
        },
    )
    return PairingOutcome.NEW


def _on(account: str, person: str) -> str:
    return f"{account}:{person.partition(':')[2]}"


def set_pairing_address(connection: Connection, code: str, conversation: int, address: ReplyAddress) -> None:
    """Set where the holder of a pairing code receives notifications."""
    given = {"code": code, "conversation": conversation, "address": encode_address(address)}
    connection.execute(SET_PAIRING_ADDRESS, given)


def list_pairing_requests(connection: Connection, now: float, code: str = "") -> list[PairingRequest]:
    """Return the people with a valid pairing code, the newest first, or only the holder of `code`."""
    found = connection.execute(LIST_PAIRINGS, {"now": now}).all()
    return [
        PairingRequest(row.code, row.account, row.person, row.name, row.expires_at)
        for row in found
        if not code or row.code == code
    ]


def approve_pairing(
    connection: Connection, code: str, role: str, texts: Texts, actor: Actor, now: float
) -> int | None:
    """Grant a role to the holder of a code and notify them in their account's `texts`. Return the turn of the
    notice, or None if the code is invalid.
    """
    row = connection.execute(TAKE_PAIRING, {"code": code, "now": now}).first()
    if row is None:
        return None
    grant_role(
        connection, RoleGrant(_on(row.account, row.person), role, row.name, actor.person, now), actor, now
    )
    address = decode_address(row.address)
    return open_notice(
        connection,
        row.conversation_id,
        address,
        row.person.partition(":")[0],
        "",
        texts.in_chat(address.chat_kind, address.topic)("pair_welcome"),
        now,
        size=0,
    )


def dismiss_pairing(connection: Connection, code: str, actor: Actor, now: float) -> bool:
    """Delete an access request, so that its code is no longer valid. Return whether it was pending."""
    row = connection.execute(TAKE_PAIRING, {"code": code, "now": now}).first()
    if row is not None:
        record_event(connection, actor, AuditEvent("dismiss", row.person), now)
    return row is not None


def approve_pairing_by_command(
    connection: Connection, code: str, role: str, texts: Texts, command: Turn, text: str, now: float
) -> int | None:
    """Approve a pairing and record the answer to its command."""
    opened = approve_pairing(connection, code, role, texts, author_of(command), now)
    if opened is not None:
        record_answer(connection, command, text, now)
    return opened
