"""A bot database with many old conversations in it.

Turns came in another order than conversations, as in life, so that indexes are as full as growth leaves them.
Times have fractions, since whole numbers take fewer bytes, and rows would grow with their next turn.
"""

from __future__ import annotations

import random
from pathlib import Path

from sqlalchemy import Connection, text

from bot.store.database import SqliteDatabase
from tests.harness.store_templates import feature_tables

ADDRESS = '{"account": "rec", "chat": "0", "chat_kind": "private", "topic": "", "reply_to": ""}'
FILL = (
    """INSERT INTO conversations (id, account, chat, platform, chat_kind, thread_id, title, created_at,
    active_at) VALUES (:number, 'rec', :chat, 'recording', 'private', :thread, 'An old one', :at, :at)""",
    """INSERT INTO turns (id, conversation_id, kind, state, address, platform, thread_id, run_id, size,
    created_at, finished_at) VALUES (:number, :conversation, 'chat', 'done', :address, 'recording', :thread,
    :run, 1, :at, :at)""",
    """INSERT INTO inbound (account, event_id, turn_id, message_id, sender, text, attachments, sent_at,
    accepted_at) VALUES ('rec', :event, :number, :event, '{"id": "7"}', 'What was asked long ago', '[]',
    :at, :at)""",
    """INSERT INTO parts (turn_id, position, kind, state, content, platform_id)
    VALUES (:number, 0, 'text', 'final', 'What was answered long ago', :event)""",
)


async def filled(path: Path, count: int) -> None:
    """Make a database of so many conversations (chats `old1`, `old2`, …), each with one answered turn."""
    database = SqliteDatabase(path)
    await database.open()
    await database.schema(_create_feature_tables)
    chats, conversations = _shuffled(count, 1), _shuffled(count, 2)
    rows = [
        {
            "number": number,
            "at": number + 0.5,
            "chat": f"old{chat}",
            "conversation": conversation,
            "thread": f"old-thread-{conversation:09}",
            "run": f"old-run-{number:09}",
            "event": f"a{number:09}",
            "address": ADDRESS,
        }
        for number, chat, conversation in zip(range(1, count + 1), chats, conversations, strict=True)
    ]

    def work(connection: Connection) -> None:
        for statement in FILL:
            connection.execute(text(statement.replace('"id":', '"id"\\:')), rows)

    if rows:
        await database.schema(work)
    await database.close()


def _shuffled(count: int, seed: int) -> list[int]:
    numbers = list(range(1, count + 1))
    random.Random(seed).shuffle(numbers)
    return numbers


def _create_feature_tables(connection: Connection) -> None:
    for table in feature_tables():
        table.create(connection)
