"""What the installed features store about people, as erasure, export and retention reach it."""

from __future__ import annotations

from bot.app.features import load_features
from bot.store import Database
from bot.store.person_data import PersonData, PersonKey


def list_person_data() -> list[PersonData]:
    return load_features().person_data


async def erase_features(db: Database, person: PersonKey, now: float = 0.0) -> None:
    """Erase a person from what features store."""
    for data in list_person_data():
        await db.transact(data.erase, person, now)
