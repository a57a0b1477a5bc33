"""What the migration says of conversations that were there before they had owners."""

from __future__ import annotations

from sqlalchemy import Connection, text

from bot.store import Database
from bot.store.schema_version import VERSION_TABLE, create, current, migrate
from tests.contract.store.test_private_topic_migration import ADDED_SINCE
from tests.contract.store.test_schema import empty

CONVERSATIONS = (
    (1, "tg", "telegram", "private"),
    (2, "tg", "telegram", "group"),
    (3, "web", "web", "private"),
    (4, "terminal", "terminal", "private"),
    (5, "tg", "telegram", "private"),
)
SENDERS = ((1, '["7","Ann","ann"]'), (2, '["7","Ann","ann"]'), (3, '["owner","",""]'))


def before(connection: Connection) -> None:
    """A database of the version before, with conversations."""
    create(connection)
    for statement in (
        "DROP INDEX conversations_owned",
        "ALTER TABLE conversations DROP COLUMN owner",
        "DROP TABLE page_codes",
        "DROP TABLE page_sessions",
        "ALTER TABLE schedules DROP COLUMN digested_at",
        "ALTER TABLE turns DROP COLUMN steps",
        *ADDED_SINCE,
        "DROP INDEX turns_stopped",
        *(f"ALTER TABLE turns DROP COLUMN {name}" for name in ("stopper", "stopper_name", "stop_told")),
        *(f"ALTER TABLE turns DROP COLUMN {name}" for name in ("last_attempt", "last_run_id")),
        "DROP INDEX turns_spent",
        *(f"ALTER TABLE turns DROP COLUMN {name}" for name in ("cached_tokens", "cost", "currency")),
        "CREATE INDEX turns_spent ON turns (created_at, person, input_tokens, output_tokens, total_tokens)"
        " WHERE total_tokens > 0",
        "ALTER TABLE inbound DROP COLUMN quotations",
        "ALTER TABLE record DROP COLUMN quotations",
        "DROP INDEX audit_in_order",
        *(f"ALTER TABLE audit DROP COLUMN {name}" for name in ("position", "seal", "commitments")),
        "DROP TABLE audit_anchor",
        "DROP TABLE erasures",
        "ALTER TABLE conversations DROP COLUMN covers",
        "DROP TABLE tool_grants",
        "CREATE TABLE permissions (id INTEGER PRIMARY KEY, account VARCHAR, conversation_id BIGINT,"
        " tool VARCHAR, person VARCHAR, name VARCHAR, given_at FLOAT)",
        "INSERT INTO permissions VALUES (1, 'tg', 1, 'bash', 'telegram:7', 'Ann', 1000.0),"
        " (2, 'tg', 0, 'ls', 'telegram:9', 'Eve', 1000.0)",
        f"UPDATE {VERSION_TABLE} SET version_num = '0014'",
    ):
        connection.execute(text(statement))
    for number, account, platform, kind in CONVERSATIONS:
        connection.execute(
            text(
                "INSERT INTO conversations (id, account, chat, platform, chat_kind)"
                " VALUES (:id, :account, :chat, :platform, :kind)"
            ),
            {"id": number, "account": account, "chat": f"c{number}", "platform": platform, "kind": kind},
        )
    for number, sender in SENDERS:
        connection.execute(
            text(
                "INSERT INTO turns (id, conversation_id, kind, state, address)"
                " VALUES (:id, :id, 'chat', 'done', '')"
            ),
            {"id": number},
        )
        connection.execute(
            text(
                "INSERT INTO inbound (account, event_id, sender, text, turn_id)"
                " VALUES ('tg', :event, :sender, 'hi', :id)"
            ),
            {"event": f"e{number}", "sender": sender, "id": number},
        )


def owners(connection: Connection) -> dict[int, str]:
    return {row.id: row.owner for row in connection.execute(text("SELECT id, owner FROM conversations"))}


def grants(connection: Connection) -> list[tuple[str, float]]:
    rows = connection.execute(text("SELECT tool, expires_at FROM tool_grants ORDER BY tool"))
    return [(row.tool, row.expires_at) for row in rows]


async def test_private_conversations_that_are_there_get_their_owners(new_database: Database) -> None:
    await new_database.schema(empty)
    await new_database.schema(before)
    assert await new_database.schema(current) == "0014"
    await new_database.schema(migrate)
    found = await new_database.schema(owners)
    assert found == {1: "telegram:7", 2: "", 3: "web:owner", 4: "terminal:owner", 5: ""}
    # Grants for a conversation get an end, those for an account stay.
    assert await new_database.schema(grants) == [("bash", 1000.0 + 7 * 24 * 3600), ("ls", 0.0)]
