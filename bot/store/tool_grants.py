"""Permissions: tools that need no approval any more, in a conversation or on a whole account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from bot.store import tool_grant_statements as sql
from bot.store.audit import Actor, Deed, record_event
from bot.store.connection import Connection
from bot.store.rows import NEWEST


@dataclass(frozen=True, slots=True)
class Remembered:
    """What may be said of later calls of a tool: the words that allow it in this conversation (`here`), and
    those that allow it on the whole account (`always`, for admins).
    """

    tool: str
    here: str
    always: str


@dataclass(frozen=True, slots=True)
class Permission:
    """A tool that needs no approval in a conversation (0: on the whole account), and who said so."""

    id: int
    account: str
    conversation: int
    tool: str
    person: str
    name: str
    at: float


def remembered_out(one: Remembered | None) -> str:
    """The column form, "" for none."""
    return orjson.dumps([one.tool, one.here, one.always]).decode() if one else ""


def remembered_in(column: str) -> Remembered | None:
    """What a column says."""
    return Remembered(*orjson.loads(column)) if column else None


def record_tool_grant(
    connection: Connection, one: Remembered | None, words: str, conversation: int, actor: Actor, now: float
) -> None:
    """Take note of what an approval was decided with, where that is to hold for later calls."""
    said = words.strip().casefold()
    if one is None or said not in (one.here.casefold(), one.always.casefold()):
        return
    here = conversation if said == one.here.casefold() else 0
    values = {"account": actor.account, "conversation": here, "tool": one.tool, "now": now}
    connection.execute(sql.PERMIT, {**values, "person": actor.person, "name": actor.name})


def list_granted_tools(connection: Connection, account: str, conversation: int) -> tuple[str, ...]:
    """The tools that need no approval in a conversation."""
    found = connection.execute(sql.PERMITTED, {"account": account, "conversation": conversation}).all()
    return tuple(sorted({str(row.tool) for row in found}))


def list_tool_grants(connection: Connection, account: str, conversation: int) -> list[Permission]:
    """What holds in a conversation, oldest first."""
    found = connection.execute(sql.PERMITTED, {"account": account, "conversation": conversation}).all()
    return [_permission(row) for row in found]


def list_all_tool_grants(connection: Connection, before: int = NEWEST, limit: int = 50) -> list[Permission]:
    """All of them, newest first."""
    return [_permission(row) for row in connection.execute(sql.ALL, {"before": before, "limit": limit}).all()]


def revoke_tool_grant(connection: Connection, number: int, actor: Actor, now: float) -> bool:
    """Have the tool ask again; whether there was such a permission."""
    row = connection.execute(sql.TAKE, {"id": number}).first()
    if row is not None:
        record_event(connection, actor, Deed("permission taken back", str(row.tool)), now)
    return row is not None


def _permission(row: Any) -> Permission:
    return Permission(row.id, row.account, row.conversation_id, row.tool, row.person, row.name, row.given_at)
