"""Tool grants: tools that need no approval for one person's work in a conversation, or on a whole account."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson

from bot.store.approval_rules import ApprovalRules
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql

_COLUMNS = "id, account, conversation_id, tool, person, name, given_at, expires_at"


@dataclass(frozen=True, slots=True)
class GrantOffer:
    """An approval's answers that grant a tool: in this conversation (`here`), or on the whole account
    (`always`, for admins).
    """

    tool: str
    here: str
    always: str


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """A tool that needs no approval: for the granting person's work in a conversation, or for everyone on the
    account (conversation 0). `ends_at` is 0.0 for a grant without expiry.
    """

    id: int
    account: str
    conversation: int
    tool: str
    person: str
    name: str
    at: float
    ends_at: float


# Store a tool grant, or prolong it.
ADD_TOOL_GRANT = sql(
    """INSERT INTO tool_grants (account, conversation_id, tool, person, name, given_at, expires_at)
    VALUES (:account, :conversation, :tool, :person, :name, :now, :ends_at)
    ON CONFLICT (account, conversation_id, tool, person) DO UPDATE SET given_at = excluded.given_at,
    name = excluded.name, expires_at = excluded.expires_at"""
)
# List the tool grants of a conversation and its account that have not expired.
LIST_GRANTS_IN = sql(
    f"""SELECT {_COLUMNS} FROM tool_grants WHERE account = :account AND conversation_id IN (0, :conversation)
    AND (expires_at = 0 OR expires_at > :now) ORDER BY id"""
)
DELETE_TOOL_GRANT = sql("DELETE FROM tool_grants WHERE id = :id RETURNING tool")
DELETE_EXPIRED_GRANTS = sql("DELETE FROM tool_grants WHERE expires_at <> 0 AND expires_at <= :now")


def encode_grant_offer(one: GrantOffer | None) -> str:
    """Encode an offer for its column ("" if there is none)."""
    return orjson.dumps([one.tool, one.here, one.always]).decode() if one else ""


def decode_grant_offer(column: str) -> GrantOffer | None:
    """Decode an offer column."""
    return GrantOffer(*orjson.loads(column)) if column else None


def record_tool_grant(
    connection: Connection,
    one: GrantOffer | None,
    words: str,
    conversation: int,
    actor: Actor,
    now: float,
    rules: ApprovalRules,
    days: int = 0,
    *,
    may_decide_own: bool,
) -> None:
    """Store a tool grant if a decision includes one; `days` shortens it (0: the default duration). Since one
    for the conversation covers the person's own work, only who `may_decide_own` work can give it.
    """
    said = words.strip().casefold()
    if one is None or said not in (one.here.casefold(), one.always.casefold()):
        return
    is_here = said == one.here.casefold()
    if is_here and not may_decide_own:
        return
    connection.execute(DELETE_EXPIRED_GRANTS, {"now": now})
    connection.execute(
        ADD_TOOL_GRANT,
        {
            "account": actor.account,
            "conversation": conversation if is_here else 0,
            "tool": one.tool,
            "person": actor.person,
            "name": actor.name,
            "now": now,
            "ends_at": rules.grant_ends(now, days) if is_here else 0.0,
        },
    )


def list_granted_tools(
    connection: Connection, account: str, conversation: int, people: Collection[str], now: float
) -> tuple[str, ...]:
    """Return the tools that need no approval for the work of these people in a conversation.

    A grant for the conversation covers only the work of the person who gave it, alone.
    """
    found = list_tool_grants(connection, account, conversation, now)
    return tuple(sorted({one.tool for one in found if not one.conversation or {one.person} == set(people)}))


def list_tool_grants(connection: Connection, account: str, conversation: int, now: float) -> list[ToolGrant]:
    """Return the unexpired grants in a conversation, oldest first."""
    given = {"account": account, "conversation": conversation, "now": now}
    return [_decode_grant(row) for row in connection.execute(LIST_GRANTS_IN, given).all()]


def revoke_tool_grant(connection: Connection, number: int, actor: Actor, now: float) -> bool:
    """Revoke a tool grant; return False if it does not exist."""
    row = connection.execute(DELETE_TOOL_GRANT, {"id": number}).first()
    if row is not None:
        record_event(connection, actor, AuditEvent("permission taken back", str(row.tool)), now)
    return row is not None


def _decode_grant(row: Any) -> ToolGrant:
    where = (row.id, row.account, row.conversation_id)
    return ToolGrant(*where, row.tool, row.person, row.name, row.given_at, row.expires_at)
