"""Transactions and queries for the expiry of threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select

from agent.runtime.domain import Expiry
from agent.runtime.store.schema import thread_expiries
from agent.runtime.store.statements import insert_into
from agent.runtime.store.threads import find_metadata

MINUTE = 60.0
# Read the expiry of a thread.
_SELECT: Final = select(thread_expiries).where(thread_expiries.c.thread_id == bindparam("thread_id"))
# List threads that have expired, the earliest first.
_SELECT_EXPIRED: Final = (
    select(thread_expiries)
    .where(thread_expiries.c.expires_at <= bindparam("now"))
    .order_by(thread_expiries.c.expires_at)
    .limit(bindparam("limit"))
)


def set_expiry(connection: Connection, thread_id: str, *, strategy: str, minutes: float, now: float) -> None:
    """Let a thread expire after this number of minutes, which replaces its earlier expiry.

    Nothing changes if the thread does not exist.
    """
    if find_metadata(connection, thread_id) is None:
        return
    values = {"strategy": strategy, "minutes": minutes, "expires_at": now + minutes * MINUTE}
    statement = insert_into(connection, thread_expiries).values(thread_id=thread_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["thread_id"], set_=values))


def find_expiry(connection: Connection, thread_id: str) -> Expiry | None:
    """Return when a thread expires, or None if it does not."""
    row = connection.execute(_SELECT, {"thread_id": thread_id}).one_or_none()
    return None if row is None else _to_expiry(row)


def list_expired(connection: Connection, *, now: float, limit: int) -> Sequence[Expiry]:
    """Return expired threads, the earliest first."""
    return [_to_expiry(row) for row in connection.execute(_SELECT_EXPIRED, {"now": now, "limit": limit})]


def _to_expiry(row: Any) -> Expiry:
    return Expiry(row.thread_id, row.strategy, row.minutes, row.expires_at)
