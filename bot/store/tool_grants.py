"""Tool grants: tools that need no approval in a conversation or on an account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql


@dataclass(frozen=True, slots=True)
class GrantOffer:
    """The answers of an approval that grant a tool: in this conversation (`here`), or on the whole account
    (`always`, for admins).
    """

    tool: str
    here: str
    always: str


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """A tool that needs no approval in a conversation (0: on the whole account), and who granted it."""

    id: int
    account: str
    conversation: int
    tool: str
    person: str
    name: str
    at: float


GRANT_COLUMNS = "id, account, conversation_id, tool, person, name, given_at"
# Insert a tool grant unless it exists.
ADD_TOOL_GRANT = sql(
    """INSERT INTO permissions (account, conversation_id, tool, person, name, given_at)
    VALUES (:account, :conversation, :tool, :person, :name, :now)
    ON CONFLICT (account, conversation_id, tool) DO NOTHING"""
)
# List the tool grants of a conversation and its account.
LIST_GRANTS_IN = sql(
    f"""SELECT {GRANT_COLUMNS} FROM permissions WHERE account = :account AND conversation_id IN (0,
    :conversation)
    ORDER BY id"""
)
# Delete a tool grant.
DELETE_TOOL_GRANT = sql("DELETE FROM permissions WHERE id = :id RETURNING tool")


def encode_grant_offer(one: GrantOffer | None) -> str:
    """Return the column value, "" for none."""
    return orjson.dumps([one.tool, one.here, one.always]).decode() if one else ""


def decode_grant_offer(column: str) -> GrantOffer | None:
    """Return the offer of a column."""
    return GrantOffer(*orjson.loads(column)) if column else None


def record_tool_grant(
    connection: Connection, one: GrantOffer | None, words: str, conversation: int, actor: Actor, now: float
) -> None:
    """Store a tool grant if the decision of an approval was one."""
    said = words.strip().casefold()
    if one is None or said not in (one.here.casefold(), one.always.casefold()):
        return
    here = conversation if said == one.here.casefold() else 0
    values = {"account": actor.account, "conversation": here, "tool": one.tool, "now": now}
    connection.execute(ADD_TOOL_GRANT, {**values, "person": actor.person, "name": actor.name})


def list_granted_tools(connection: Connection, account: str, conversation: int) -> tuple[str, ...]:
    """Return the tools that need no approval in a conversation."""
    found = connection.execute(LIST_GRANTS_IN, {"account": account, "conversation": conversation}).all()
    return tuple(sorted({str(row.tool) for row in found}))


def list_tool_grants(connection: Connection, account: str, conversation: int) -> list[ToolGrant]:
    """Return the grants that apply in a conversation, oldest first."""
    found = connection.execute(LIST_GRANTS_IN, {"account": account, "conversation": conversation}).all()
    return [_permission(row) for row in found]


def revoke_tool_grant(connection: Connection, number: int, actor: Actor, now: float) -> bool:
    """Revoke a tool grant; returns False if it does not exist."""
    row = connection.execute(DELETE_TOOL_GRANT, {"id": number}).first()
    if row is not None:
        record_event(connection, actor, AuditEvent("permission taken back", str(row.tool)), now)
    return row is not None


def _permission(row: Any) -> ToolGrant:
    return ToolGrant(row.id, row.account, row.conversation_id, row.tool, row.person, row.name, row.given_at)
