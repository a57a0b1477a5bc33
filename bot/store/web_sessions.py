"""Sign-in codes and sessions of the web console, and the ownership of threads.

A cookie is the random key of a row, not signed data: signing out invalidates all copies, no key file is
needed, and erasing a person ends their session. The row has no permissions, so blocking someone takes effect
with the next request; memberships (user group, role) are those of the time when the link was created.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import Sender, person_of
from bot.store.audit import Actor, AuditEvent, author_of, record_event
from bot.store.connection import Connection, decode_sender, encode_sender, sql
from bot.turn import Turn

ASKED, SIGNED_IN, SIGNED_OUT = "page link", "signed in", "signed out"


@dataclass(frozen=True, slots=True)
class SecretHash:
    """The hash of a secret, and its expiry time."""

    hash: str
    expires_at: float


# Set the sign-in code of a person on an account.
SET_CODE = sql(
    """INSERT INTO page_codes (person, account, hash, sender, chat, expires_at) VALUES (:person, :account,
    :hash, :sender, :chat, :expires_at) ON CONFLICT (person, account) DO UPDATE SET hash = excluded.hash,
    sender = excluded.sender, chat = excluded.chat, expires_at = excluded.expires_at"""
)
# Delete a valid sign-in code and return its person.
TAKE_CODE = sql(
    "DELETE FROM page_codes WHERE hash = :hash AND expires_at > :now RETURNING person, account, sender, chat"
)
EXPIRE_CODES = sql("DELETE FROM page_codes WHERE expires_at <= :now")
OPEN_SESSION = sql(
    """INSERT INTO page_sessions (hash, person, sender, expires_at)
    VALUES (:hash, :person, :sender, :expires_at)"""
)
GET_SESSION = sql("SELECT sender FROM page_sessions WHERE hash = :hash AND expires_at > :now")
DELETE_SESSION = sql("DELETE FROM page_sessions WHERE hash = :hash")
EXPIRE_SESSIONS = sql("DELETE FROM page_sessions WHERE expires_at <= :now")
# Delete the sign-in codes and sessions of a person.
DELETE_WEB_ACCESS = [
    sql("DELETE FROM page_codes WHERE person = :person"),
    sql("DELETE FROM page_sessions WHERE person = :person"),
]
# List the owned conversations that are on a thread.
OWNED_NOW = sql(
    "SELECT account, platform FROM conversations WHERE owner IN :owners AND thread_id = :thread", "owners"
)
# List the owned conversations that were on a thread earlier.
OWNED_BEFORE = sql(
    """SELECT c.account, c.platform FROM conversations c WHERE c.owner IN :owners AND EXISTS (SELECT 1
    FROM turns t WHERE t.conversation_id = c.id AND t.thread_id = :thread)""",
    "owners",
)
# List the conversations that are on a thread, or were on it earlier.
THREAD_CONVERSATIONS = sql(
    """SELECT account, platform, owner FROM conversations WHERE thread_id = :thread UNION
    SELECT c.account, c.platform, c.owner FROM conversations c JOIN turns t ON t.conversation_id = c.id
    WHERE t.thread_id = :thread"""
)
# Find the owner of a private chat.
FIND_OWNER = sql(
    """SELECT owner FROM conversations WHERE account = :account AND chat = :chat AND owner <> ''
    ORDER BY id LIMIT 1"""
)


def create_sign_in_code(connection: Connection, code: SecretHash, command: Turn, now: float) -> None:
    """Store a sign-in code for a command's author, replacing an earlier one."""
    sender, account = command.messages[-1].sender, command.address.account
    person = person_of(command.platform, sender)
    _set_code(connection, code, author_of(command), replace(sender, id=person, account=account), now)


def create_owner_code(
    connection: Connection, code: SecretHash, actor: Actor, sender: Sender, now: float
) -> None:
    """Store a sign-in code for the service owner, replacing an earlier one."""
    _set_code(connection, code, actor, sender, now)


def _set_code(connection: Connection, code: SecretHash, actor: Actor, sender: Sender, now: float) -> None:
    connection.execute(EXPIRE_CODES, {"now": now})
    connection.execute(
        SET_CODE,
        {
            "person": actor.person,
            "account": actor.account,
            "hash": code.hash,
            "sender": encode_sender(sender),
            "chat": actor.chat,
            "expires_at": code.expires_at,
        },
    )
    record_event(connection, actor, AuditEvent(ASKED), now)


def open_session(
    connection: Connection, session: SecretHash, actor: Actor, sender: Sender, now: float
) -> None:
    """Open a session for the service owner, or for a person who signed in by `server.oidc`."""
    connection.execute(EXPIRE_SESSIONS, {"now": now})
    connection.execute(
        OPEN_SESSION,
        {
            "hash": session.hash,
            "person": actor.person,
            "sender": encode_sender(sender),
            "expires_at": session.expires_at,
        },
    )
    record_event(connection, actor, AuditEvent(SIGNED_IN), now)


def redeem_sign_in_code(
    connection: Connection, code: str, session: SecretHash, key: str, now: float
) -> Sender | None:
    """Exchange a sign-in code for a session and return its person, or None if the code is invalid."""
    row = connection.execute(TAKE_CODE, {"hash": code, "now": now}).first()
    if row is None:
        return None
    connection.execute(EXPIRE_SESSIONS, {"now": now})
    connection.execute(
        OPEN_SESSION,
        {
            "hash": session.hash,
            "person": row.person,
            "sender": row.sender,
            "expires_at": session.expires_at,
        },
    )
    sender = decode_sender(row.sender)
    actor = Actor(key, row.person, sender.name, row.account, row.chat)
    record_event(connection, actor, AuditEvent(SIGNED_IN), now)
    return sender


def load_session(connection: Connection, session: str, now: float) -> Sender | None:
    """Return a session's person, or None if it is invalid."""
    row = connection.execute(GET_SESSION, {"hash": session, "now": now}).first()
    return None if row is None else decode_sender(row.sender)


def end_session(connection: Connection, session: str) -> None:
    """End a session."""
    connection.execute(DELETE_SESSION, {"hash": session})


def delete_web_access(connection: Connection, person: str) -> None:
    """Delete the codes and sessions of a person."""
    for statement in DELETE_WEB_ACCESS:
        connection.execute(statement, {"person": person})


def find_owned_conversations(
    connection: Connection, thread: str, owners: Sequence[str]
) -> list[tuple[str, str]]:
    """Return account and platform of the owners' conversations that use or have used a thread."""
    given = {"thread": thread, "owners": list(owners)}
    found = connection.execute(OWNED_NOW, given).all()
    return [(row.account, row.platform) for row in found or connection.execute(OWNED_BEFORE, given).all()]


def find_thread_conversations(connection: Connection, thread: str) -> list[tuple[str, str, str]]:
    """Return account, platform and owner ("" for groups) of all conversations that use or have used a
    thread.
    """
    found = connection.execute(THREAD_CONVERSATIONS, {"thread": thread}).all()
    return sorted((row.account, row.platform, row.owner) for row in found)


def find_chat_owner(connection: Connection, account: str, chat: str) -> str:
    """Return the owner of a private chat, or "" if unknown."""
    found = connection.execute(FIND_OWNER, {"account": account, "chat": chat}).first()
    return "" if found is None else str(found.owner)
