"""Stored assistants and their versions. The system assistants of graphs are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, func, select

from agent.errors import NotFound
from agent.runtime.domain import Assistant, Json
from agent.runtime.store.schema import assistant_versions, assistants, crons
from agent.runtime.store.statements import insert_into

_BY_ID: Final = assistants.c.assistant_id == bindparam("assistant_id")
_VERSIONS_BY_ID: Final = assistant_versions.c.assistant_id == bindparam("assistant_id")


def get_assistant(connection: Connection, assistant_id: str) -> Assistant | None:
    row = connection.execute(select(assistants).where(_BY_ID), {"assistant_id": assistant_id}).one_or_none()
    return None if row is None else _to_assistant(row)


def put_assistant(connection: Connection, assistant: Assistant) -> None:
    """Store or replace an assistant, and store its version if it is new."""
    values = {name: getattr(assistant, name) for name in Assistant.__slots__}
    statement = insert_into(connection, assistants).values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=["assistant_id"], set_=values))
    version = {column.name: values[column.name] for column in assistant_versions.columns}
    version["created_at"] = assistant.updated_at
    connection.execute(insert_into(connection, assistant_versions).values(**version).on_conflict_do_nothing())


def change_assistant(connection: Connection, assistant_id: str, changes: Json, *, now: float) -> Assistant:
    """Store a new version of an assistant and return it; metadata is merged. Raises `NotFound`."""
    assistant = _require_assistant(connection, assistant_id)
    if "metadata" in changes:
        changes = {**changes, "metadata": {**assistant.metadata, **changes["metadata"]}}
    newest = select(func.max(assistant_versions.c.version)).where(_VERSIONS_BY_ID)
    version = connection.execute(newest, {"assistant_id": assistant_id}).scalar_one() + 1
    changed = replace(assistant, **changes, version=version, updated_at=now)
    put_assistant(connection, changed)
    return changed


def set_latest(connection: Connection, assistant_id: str, version: int, *, now: float) -> Assistant:
    """Make a version the current one again and return the assistant. Raises `NotFound`."""
    assistant = _require_assistant(connection, assistant_id)
    found = [row for row in list_versions(connection, assistant_id) if row.version == version]
    if not found:
        raise NotFound(f"Assistant {assistant_id} has no version {version}")
    changed = replace(found[0], created_at=assistant.created_at, updated_at=now)
    put_assistant(connection, changed)
    return changed


def list_versions(connection: Connection, assistant_id: str) -> Sequence[Assistant]:
    """Return all versions of a stored assistant, newest first; none if it does not exist."""
    statement = (
        select(assistant_versions, assistant_versions.c.created_at.label("updated_at"))
        .where(_VERSIONS_BY_ID)
        .order_by(assistant_versions.c.version.desc())
    )
    return [_to_assistant(row) for row in connection.execute(statement, {"assistant_id": assistant_id})]


def delete_assistant(connection: Connection, assistant_id: str) -> None:
    """Delete an assistant with its versions and crons. Raises `NotFound`."""
    values = {"assistant_id": assistant_id}
    if connection.execute(delete(assistants).where(_BY_ID), values).rowcount == 0:
        raise NotFound(f"Assistant {assistant_id} not found")
    connection.execute(delete(assistant_versions).where(_VERSIONS_BY_ID), values)
    connection.execute(delete(crons).where(crons.c.assistant_id == assistant_id))


def list_assistants(connection: Connection) -> Sequence[Assistant]:
    """Return all stored assistants, newest first."""
    rows = connection.execute(select(assistants).order_by(assistants.c.created_at.desc()))
    return [_to_assistant(row) for row in rows]


def _require_assistant(connection: Connection, assistant_id: str) -> Assistant:
    assistant = get_assistant(connection, assistant_id)
    if assistant is None:
        raise NotFound(f"Assistant {assistant_id} not found")
    return assistant


def _to_assistant(row: Any) -> Assistant:
    return Assistant(**{key: row._mapping[key] for key in Assistant.__slots__})
