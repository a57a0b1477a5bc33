"""Erasure and export of a person's schedules, and of the scheduled runs of expired turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.connection import OPEN, Connection, sql
from bot.store.person_data import ChatKey, PersonData, PersonKey

# Reminders repeat texts of the person, and no message of theirs belongs to them.
DELETE_REMINDERS = sql(
    f"""DELETE FROM parts WHERE turn_id IN (SELECT t.id FROM turns t
    JOIN firings f ON f.turn_id = t.id AND f.turn_id > 0 JOIN schedules s ON s.id = f.schedule_id
    WHERE s.person = :person AND t.state NOT IN {OPEN})"""
)
SCHEDULES_IN = sql("SELECT id FROM schedules WHERE account = :account AND chat = :chat")
SCHEDULES_OF = sql("SELECT id FROM schedules WHERE person = :person")
DELETE_SCHEDULES = [
    sql("DELETE FROM firings WHERE schedule_id IN :ids", "ids"),
    sql(
        """DELETE FROM schedules WHERE state = 'draft' AND id IN (SELECT draft FROM schedule_proposals
        WHERE target IN :ids AND decision = '')""",
        "ids",
    ),
    sql("DELETE FROM schedule_proposals WHERE draft IN :ids OR target IN :ids", "ids"),
    sql("DELETE FROM schedules WHERE id IN :ids", "ids"),
]
LIST_SCHEDULES_OF = sql(
    """SELECT id, kind, state, text, spoken, zone, account, chat, made_at FROM schedules
    WHERE person = :person AND state <> 'draft' ORDER BY id"""
)
DELETE_RUNS = sql("DELETE FROM firings WHERE turn_id > 0 AND turn_id IN :turns", "turns")


class ScheduleData(PersonData):
    """Schedules made by people, and the texts they sent."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        connection.execute(DELETE_REMINDERS, {"person": str(person)})
        ids = [row[0] for row in connection.execute(SCHEDULES_OF, {"person": str(person)}).all()]
        _delete_schedules(connection, ids)
        return {"schedules": len(ids)}

    def delete_chat(self, connection: Connection, chat: ChatKey) -> None:
        here = {"account": chat.account, "chat": chat.chat}
        _delete_schedules(connection, [row[0] for row in connection.execute(SCHEDULES_IN, here).all()])

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        rows = connection.execute(LIST_SCHEDULES_OF, {"person": str(person)}).all()
        return {"schedules": [row._asdict() for row in rows]}

    def delete_turns(self, connection: Connection, turns: Sequence[int]) -> None:
        connection.execute(DELETE_RUNS, {"turns": turns})


def _delete_schedules(connection: Connection, ids: Sequence[int]) -> None:
    for statement in DELETE_SCHEDULES if ids else ():
        connection.execute(statement, {"ids": ids})
