"""What the migration says of messages and turns that were there before private topics were known."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from bot.store import Database
from bot.store.schema_version import VERSION_TABLE, create, current, migrate
from tests.contract.store.test_schema import empty

ADDED_SINCE = (
    "DROP TABLE api_tokens",
    "DROP INDEX turns_failed",
    "ALTER TABLE chats DROP COLUMN title",
    "DROP TABLE model_usage",
    *(f"ALTER TABLE turns DROP COLUMN {name}" for name in ("used_model", "trace")),
    "ALTER TABLE turns DROP COLUMN renewed",
    "ALTER TABLE leaving_threads DROP COLUMN successor",
    "DROP TABLE leases",
    *(f"ALTER TABLE erasures DROP COLUMN {name}" for name in ("chats", "collected")),
    "ALTER TABLE record DROP COLUMN accepted_at",
    "DROP TABLE schedule_proposals",
    "DROP TABLE languages",
    "ALTER TABLE conversations DROP COLUMN quoted_people",
    *(f"ALTER TABLE {table} DROP COLUMN private_topic" for table in ("turns", "record")),
    *(f"ALTER TABLE {table} DROP COLUMN mentions" for table in ("inbound", "record")),
    f"ALTER TABLE {VERSION_TABLE} DROP COLUMN oldest",
)
"""Statements that remove what this migration and the ones behind it add."""
PLATFORMS = {1: "discord", 2: "slack"}


def before(connection: Connection) -> None:
    """A database of the version before, with a recorded thread on two platforms."""
    create(connection)
    for statement in (
        *ADDED_SINCE,
        f"UPDATE {VERSION_TABLE} SET version_num = '0024'",
    ):
        connection.execute(text(statement))
    for number, platform in PLATFORMS.items():
        given = {"id": number, "account": platform[:2], "platform": platform}
        for statement in (
            "INSERT INTO conversations (id, account, chat, platform) VALUES (:id, :account, 'c', :platform)",
            "INSERT INTO turns (id, conversation_id, kind, state, address, platform)"
            " VALUES (:id, :id, 'chat', 'done', '', :platform)",
            "INSERT INTO record (account, chat, topic, message_id) VALUES (:account, 'c', 't', 'm1')",
            "INSERT INTO record (account, chat, topic, message_id) VALUES (:account, 'c', '', 'm2')",
        ):
            connection.execute(text(statement), given)


def private(connection: Connection) -> list[str]:
    """The recorded messages and turns that count as private."""
    record = "SELECT account, message_id FROM record WHERE private_topic = 1 ORDER BY account, message_id"
    turns = "SELECT platform FROM turns WHERE private_topic = 1"
    found = [f"{row.account} {row.message_id}" for row in connection.execute(text(record))]
    return [*found, *(row.platform for row in connection.execute(text(turns)))]


@pytest.mark.parametrize("again", [False, True])
async def test_threads_of_before_count_as_private_on_discord_alone(
    new_database: Database, again: bool
) -> None:
    await new_database.schema(empty)
    await new_database.schema(before)
    assert await new_database.schema(current) == "0024"
    await new_database.schema(migrate)
    if again:
        await new_database.schema(migrate)
    assert await new_database.schema(private) == ["di m1", "discord"]
