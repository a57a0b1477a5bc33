"""Erasure and export of people's actions on incidents, and expiry of resolved incidents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.features.events.incident_store import TOUCH_CARD, encode_incident, select_incidents
from bot.store.connection import Connection, sql
from bot.store.person_data import PersonData, PersonKey

ENDED_KEPT = 366 * 24 * 3600.0
"""Seconds for which resolved incidents are stored."""
DETACH_CHANGES = sql("UPDATE incident_changes SET actor = '', text = '' WHERE actor = :person")
LIST_INCIDENTS_OF = sql(
    "SELECT * FROM incidents WHERE id IN (SELECT incident_id FROM incident_changes WHERE actor = :person)"
)
SET_STATE = sql("UPDATE incidents SET state = :state WHERE id = :id")
MOVE_INCIDENTS = sql("UPDATE incidents SET chat = :new WHERE account = :account AND chat = :old")
LIST_CHANGES_BY = sql(
    "SELECT incident_id, at, kind FROM incident_changes WHERE actor = :person ORDER BY id LIMIT 10000"
)
PURGE_CHANGES = sql(
    """DELETE FROM incident_changes WHERE incident_id IN (SELECT id FROM incidents WHERE status = 'resolved'
    AND changed_at < :before)"""
)
PURGE_INCIDENTS = sql("DELETE FROM incidents WHERE status = 'resolved' AND changed_at < :before")


class IncidentData(PersonData):
    """People's actions on incidents, and the chats of incidents."""

    def move_chat(self, connection: Connection, account: str, old: str, new: str) -> None:
        connection.execute(MOVE_INCIDENTS, {"account": account, "old": old, "new": new})

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        for incident in select_incidents(connection, LIST_INCIDENTS_OF, person=str(person)):
            state = encode_incident(incident.without_person(str(person)))
            connection.execute(SET_STATE, {"id": incident.id, "state": state})
            connection.execute(TOUCH_CARD, {"id": incident.id})
        connection.execute(DETACH_CHANGES, {"person": str(person)})
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        rows = connection.execute(LIST_CHANGES_BY, {"person": str(person)}).all()
        return {"incidents": [{"incident": row.incident_id, "at": row.at, "state": row.kind} for row in rows]}

    def purge(self, connection: Connection, now: float) -> None:
        connection.execute(PURGE_CHANGES, {"before": now - ENDED_KEPT})
        connection.execute(PURGE_INCIDENTS, {"before": now - ENDED_KEPT})
