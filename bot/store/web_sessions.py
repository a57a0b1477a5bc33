"""People at the page: the codes by which they sign in, who is signed in, and which threads are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import Sender, Turn, person_of
from bot.store import web_session_statements as sql
from bot.store.audit import Actor, Deed, author_of, record_event
from bot.store.connection import Connection
from bot.store.rows import sender_in, sender_out

ASKED, SIGNED_IN, SIGNED_OUT = "page link", "signed in", "signed out"


@dataclass(frozen=True, slots=True)
class Pass:
    """The hash of a secret, and until when that is good."""

    hash: str
    expires_at: float


def create_sign_in_code(connection: Connection, code: Pass, command: Turn, now: float) -> None:
    """Let the author of a command sign in by a code; a former one of theirs is good no more."""
    sender, account = command.messages[-1].sender, command.address.account
    person = person_of(command.platform, sender)
    connection.execute(sql.EXPIRE_CODES, {"now": now})
    connection.execute(
        sql.OFFER,
        {
            "person": person,
            "account": account,
            "hash": code.hash,
            "sender": sender_out(replace(sender, id=person, account=account)),
            "chat": command.address.chat,
            "expires_at": code.expires_at,
        },
    )
    record_event(connection, author_of(command), Deed(ASKED), now)


def redeem_sign_in_code(
    connection: Connection, code: str, session: Pass, key: str, now: float
) -> Sender | None:
    """Take a code for a session; who that is, None for a code that is not good (any more)."""
    row = connection.execute(sql.TAKE_CODE, {"hash": code, "now": now}).first()
    if row is None:
        return None
    connection.execute(sql.EXPIRE_SESSIONS, {"now": now})
    connection.execute(
        sql.OPEN_SESSION,
        {
            "hash": session.hash,
            "person": row.person,
            "sender": row.sender,
            "expires_at": session.expires_at,
        },
    )
    sender = sender_in(row.sender)
    actor = Actor(key, row.person, sender.name, row.account, row.chat)
    record_event(connection, actor, Deed(SIGNED_IN), now)
    return sender


def load_session(connection: Connection, session: str, now: float) -> Sender | None:
    """Who a session is of, None where it is over or never was."""
    row = connection.execute(sql.SESSION, {"hash": session, "now": now}).first()
    return None if row is None else sender_in(row.sender)


def end_session(connection: Connection, session: str) -> None:
    """End a session."""
    connection.execute(sql.END_SESSION, {"hash": session})


def delete_web_access(connection: Connection, person: str) -> None:
    """End everything of somebody's."""
    for statement in sql.FORGET_PERSON:
        connection.execute(statement, {"person": person})


def find_owned_conversations(
    connection: Connection, thread: str, owners: Sequence[str]
) -> list[tuple[str, str]]:
    """Account and platform of the conversations of these people that are on a thread, or were."""
    given = {"thread": thread, "owners": list(owners)}
    found = connection.execute(sql.OWNED_NOW, given).all()
    return [(row.account, row.platform) for row in found or connection.execute(sql.OWNED_BEFORE, given).all()]


def find_chat_owner(connection: Connection, account: str, chat: str) -> str:
    """Whose a private chat is, "" where nobody knows."""
    found = connection.execute(sql.OWNER_OF_CHAT, {"account": account, "chat": chat}).first()
    return "" if found is None else str(found.owner)
