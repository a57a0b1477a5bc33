"""Stored assistants. The system assistants of graphs are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from agent.errors import NotFound
from agent.runtime.domain import Assistant
from agent.runtime.store.schema import assistants

_BY_ID: Final = assistants.c.assistant_id == bindparam("assistant_id")


def get_assistant(connection: Connection, assistant_id: str) -> Assistant | None:
    """Return a stored assistant."""
    row = connection.execute(select(assistants).where(_BY_ID), {"assistant_id": assistant_id}).one_or_none()
    return None if row is None else _to_assistant(row)


def put_assistant(connection: Connection, assistant: Assistant) -> None:
    """Store or replace an assistant."""
    values = {name: getattr(assistant, name) for name in Assistant.__slots__}
    statement = insert(assistants).values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=["assistant_id"], set_=values))


def delete_assistant(connection: Connection, assistant_id: str) -> None:
    """Delete an assistant. Raises `NotFound`."""
    if connection.execute(delete(assistants).where(_BY_ID), {"assistant_id": assistant_id}).rowcount == 0:
        raise NotFound(f"Assistant {assistant_id} not found")


def list_assistants(connection: Connection) -> Sequence[Assistant]:
    """Return all stored assistants, newest first."""
    rows = connection.execute(select(assistants).order_by(assistants.c.created_at.desc()))
    return [_to_assistant(row) for row in rows]


def _to_assistant(row: Any) -> Assistant:
    return Assistant(**{key: row._mapping[key] for key in Assistant.__slots__})
