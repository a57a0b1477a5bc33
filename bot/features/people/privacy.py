"""Erasure and export of a person's roles and access requests. A granted role is kept, without the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.connection import Connection, sql
from bot.store.person_data import PersonData, PersonKey

LIST_ROLES_OF = sql(
    """SELECT entry, role, name, given_by, given_at FROM roles WHERE entry = :person
    OR entry IN (SELECT account || CAST(:on_account AS TEXT) FROM conversations WHERE platform = :platform)
    ORDER BY entry"""
)
CLEAR_ROLE_NAME = sql("UPDATE roles SET name = '' WHERE entry = :entry")
DELETE_PAIRINGS_OF = sql("DELETE FROM pairings WHERE person = :person")


class PeopleData(PersonData):
    """Granted roles and access requests."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        connection.execute(DELETE_PAIRINGS_OF, {"person": str(person)})
        for role in _list_roles_of(connection, person):
            connection.execute(CLEAR_ROLE_NAME, {"entry": role.entry})
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        return {"roles": [row._asdict() for row in _list_roles_of(connection, person)]}


def _list_roles_of(connection: Connection, person: PersonKey) -> Sequence[Any]:
    """Return a person's roles as rows of entry, role, name, given_by, given_at."""
    whose = {"person": str(person), "platform": person.platform, "on_account": f":{person.id}"}
    return connection.execute(LIST_ROLES_OF, whose).all()
