"""Who was given a role, and who waits to be let in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from bot.domain import Origin, ReplyAddress, Turn, person_of
from bot.store import statements as sql
from bot.store.audit import Actor, Deed, author_of, record_event
from bot.store.connection import Connection
from bot.store.new_turn import open_notice, record_answer
from bot.store.rows import address_in, address_out

MOST_WAITING = 5
"""So many strangers of one account wait at once with a code."""


@dataclass(frozen=True, slots=True)
class Given:
    """A role that was given: to whom (an access entry, a `name` where one was known), by whom and when."""

    entry: str
    role: str
    name: str
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Pairing:
    """The code that a stranger may get, and for how long it is good (seconds)."""

    code: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stranger who has a code: `person` is `platform:id`."""

    code: str
    account: str
    person: str
    name: str
    expires_at: float

    @property
    def entry(self) -> str:
        """Who they are on the account where they wrote: the role that the code gives holds there alone."""
        return _on(self.account, self.person)


class Knock(Enum):
    """What became of a stranger's message: a code is theirs now, was before, or too many wait."""

    NEW = auto()
    KNOWN = auto()
    CROWDED = auto()


def list_role_grants(connection: Connection) -> list[Given]:
    """Every role that was given, by entry."""
    return [
        Given(row.entry, row.role, row.name, row.given_by, row.given_at)
        for row in connection.execute(sql.GIVEN).all()
    ]


def grant_role(connection: Connection, one: Given, actor: Actor, now: float) -> None:
    """Give a role in place of another one; somebody who waited with a code does so no longer."""
    connection.execute(
        sql.GIVE,
        {"entry": one.entry, "role": one.role, "name": one.name, "by": actor.person, "now": now},
    )
    for row in connection.execute(sql.ALL_WAITING).all():
        if one.entry in (row.person, _on(row.account, row.person)):
            connection.execute(sql.FORGET_WAITING, {"code": row.code})
    record_event(connection, actor, Deed("give", one.entry, one.role), now)


def revoke_role(connection: Connection, entry: str, actor: Actor, now: float) -> bool:
    """Take a role back; whether there was one."""
    taken = connection.execute(sql.TAKE, {"entry": entry}).first() is not None
    if taken:
        record_event(connection, actor, Deed("take", entry), now)
    return taken


def request_pairing(connection: Connection, pairing: Pairing, origin: Origin, now: float) -> Knock:
    """A stranger wrote in private: the code is theirs unless they have one, or too many wait."""
    connection.execute(sql.EXPIRE_WAITING, {"now": now})
    person = person_of(origin.platform, origin.sender)
    if connection.execute(sql.WAITING_OF, {"account": origin.account, "person": person}).first():
        return Knock.KNOWN
    if connection.execute(sql.COUNT_WAITING, {"account": origin.account}).scalar_one() >= MOST_WAITING:
        return Knock.CROWDED
    connection.execute(
        sql.ADD_WAITING,
        {
            "code": pairing.code,
            "account": origin.account,
            "person": person,
            "name": origin.sender.name,
            "expires_at": now + pairing.seconds,
        },
    )
    return Knock.NEW


def _on(account: str, person: str) -> str:
    return f"{account}:{person.partition(':')[2]}"


def set_pairing_address(connection: Connection, code: str, conversation: int, address: ReplyAddress) -> None:
    """Where somebody who waits with this code hears that they are let in."""
    given = {"code": code, "conversation": conversation, "address": address_out(address)}
    connection.execute(sql.ANSWER_WAITING, given)


def list_pairing_requests(connection: Connection, now: float, code: str = "") -> list[Waiting]:
    """Who waits with a code that is still good; only the one with this code where one is given."""
    found = connection.execute(sql.WAITING, {"now": now}).all()
    return [
        Waiting(row.code, row.account, row.person, row.name, row.expires_at)
        for row in found
        if not code or row.code == code
    ]


def approve_pairing(
    connection: Connection, code: str, role: str, welcome: str, actor: Actor, now: float
) -> int | None:
    """Give the one who waits with this code a role, and tell them; the id of the turn that does.

    None where nobody waits with it any more.
    """
    row = connection.execute(sql.END_WAITING, {"code": code, "now": now}).first()
    if row is None:
        return None
    grant_role(connection, Given(_on(row.account, row.person), role, row.name, actor.person, now), actor, now)
    return open_notice(
        connection,
        row.conversation_id,
        address_in(row.address),
        row.person.partition(":")[0],
        "",
        welcome,
        now,
        size=0,
    )


def approve_pairing_by_command(
    connection: Connection, code: str, role: str, welcome: str, command: Turn, text: str, now: float
) -> int | None:
    """See `people.admit`; the answer of the command that does it is recorded with it."""
    opened = approve_pairing(connection, code, role, welcome, author_of(command), now)
    if opened is not None:
        record_answer(connection, command, text, now)
    return opened
