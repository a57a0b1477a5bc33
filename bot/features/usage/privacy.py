"""Erasure and export of a person's token usage, and expiry of limit counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bot.features.usage.usage_store import load_person_usage
from bot.store.connection import Connection, sql
from bot.store.meters import purge_meters
from bot.store.person_data import PersonData, PersonKey

DAY = 24 * 3600.0
YEAR = 366 * DAY
METERS_KEPT = 2 * 3600.0
# Remove a person from the token usage of earlier days; limits need today's usage.
DETACH_USAGE = sql(
    "UPDATE turns SET person = '' WHERE person = :person AND total_tokens > 0 AND created_at < :before"
)


class UsageData(PersonData):
    """Token usage of people."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        connection.execute(DETACH_USAGE, {"person": str(person), "before": now - now % DAY})
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        usage = load_person_usage(connection, now - YEAR, str(person)).spending
        return {"tokens_of_the_last_year": asdict(usage)}

    def purge(self, connection: Connection, now: float) -> None:
        purge_meters(connection, now - METERS_KEPT)
