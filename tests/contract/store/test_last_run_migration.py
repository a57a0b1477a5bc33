"""The migration that stores a turn's newest run beside its first."""

from __future__ import annotations

from sqlalchemy import Connection, text

from bot.store import Database
from bot.store.schema_version import VERSION_TABLE, create, current, migrate
from tests.contract.store.test_private_topic_migration import ADDED_SINCE
from tests.contract.store.test_schema import empty


def before(connection: Connection) -> None:
    """A database of the version before, with a turn that works."""
    create(connection)
    for statement in (
        *ADDED_SINCE,
        *(f"ALTER TABLE turns DROP COLUMN {name}" for name in ("last_attempt", "last_run_id")),
        "INSERT INTO conversations (id, account, chat) VALUES (1, 'tg', 'c1')",
        "INSERT INTO turns (id, conversation_id, kind, state, address, attempt, run_id)"
        " VALUES (1, 1, 'chat', 'running', '', 2, 'run-2')",
        f"UPDATE {VERSION_TABLE} SET version_num = '0023'",
    ):
        connection.execute(text(statement))


def runs(connection: Connection) -> list[tuple[object, ...]]:
    query = "SELECT attempt, run_id, last_attempt, last_run_id FROM turns"
    return [tuple(row) for row in connection.execute(text(query)).all()]


async def test_a_turn_that_works_goes_on_with_the_run_it_had(new_database: Database) -> None:
    await new_database.schema(empty)
    await new_database.schema(before)
    assert await new_database.schema(current) == "0023"
    await new_database.schema(migrate)
    assert await new_database.schema(runs) == [(2, "run-2", 0, "")]
