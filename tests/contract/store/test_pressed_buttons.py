"""Lookups of the message below which a button was pressed: one for each press, while others wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.command_buttons import BUTTONS_OF_MESSAGE, IS_POSTED, PREVIEWS_OF_MESSAGE
from bot.store.connection import Connection, Statement
from bot.store.ratings import FIND_ANSWERING_TURN
from tests.harness.store_templates import open_store


@pytest.mark.parametrize(
    "statement", [BUTTONS_OF_MESSAGE, PREVIEWS_OF_MESSAGE, IS_POSTED, FIND_ANSWERING_TURN]
)
async def test_no_lookup_reads_other_chats(tmp_path: Path, statement: Statement) -> None:
    def plan(connection: Connection) -> str:
        explained = Statement(f"EXPLAIN QUERY PLAN {statement.text}")
        given = {"account": "tg", "chat": "g", "message_id": "m"}
        return "\n".join(row.detail for row in connection.execute(explained, given).all())

    database = await open_store(tmp_path)
    try:
        found = await database.transact(plan)
    finally:
        await database.close()
    assert "INDEX conversations_recent (account=? AND chat=?)" in found
    assert "INDEX turns_of_conversation (conversation_id=?" in found
    assert "SCAN" not in found
