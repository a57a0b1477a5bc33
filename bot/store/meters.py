"""Durable counters by scope and period, such as a person's messages per hour."""

from __future__ import annotations

from bot.store.connection import Connection, sql

# Add one to a count.
INCREMENT_METER = sql(
    """INSERT INTO meters (scope, start, value) VALUES (:scope, :start, 1)
    ON CONFLICT (scope, start) DO UPDATE SET value = meters.value + 1"""
)
# Delete the counts of earlier periods.
DELETE_METERS = sql("DELETE FROM meters WHERE start < :before")
# Add one scope's counts to another's.
MOVE_METERS = [
    sql(
        """INSERT INTO meters (scope, start, value) SELECT CAST(:new AS TEXT), start, value FROM meters
        WHERE scope = :old ON CONFLICT (scope, start) DO UPDATE SET value = meters.value + excluded.value"""
    ),
    sql("DELETE FROM meters WHERE scope = :old"),
]


def scope_of_chat(account: str, chat: str) -> str:
    """Return the counter key for the messages of a chat."""
    return f"chat:{account}:{chat}"


def purge_meters(connection: Connection, before: float) -> None:
    """Delete counters whose period started before a time."""
    connection.execute(DELETE_METERS, {"before": before})
