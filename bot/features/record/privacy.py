"""Erasure, export and retention of a person's recorded messages, including quotations by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bot.features.record.record_store import purge_record
from bot.store.connection import Connection, decode_sender, sql
from bot.store.person_data import (
    PLATFORM_ACCOUNTS,
    WRITTEN_BY,
    ChatKey,
    PersonData,
    PersonKey,
    StoredWords,
    is_quoted_or_mentioned,
    list_made_texts,
    list_quoted_texts,
)

CHATS_RECORDED_IN = sql(f"SELECT DISTINCT i.account, i.chat FROM record i WHERE {WRITTEN_BY}")
# What may quote or mention a person: `:mark` is their id as JSON.
QUOTED_IN_RECORDS = sql(
    f"""SELECT account, chat, quotations, mentions FROM record WHERE account IN {PLATFORM_ACCOUNTS}
    AND (quotations LIKE :mark OR mentions LIKE :mark)"""
)
RECORDED_IN = sql(
    f"""SELECT i.text, i.quotations, i.sender FROM record i WHERE i.account = :account AND i.chat = :chat
    AND {WRITTEN_BY}"""
)
# What others forwarded or quoted in a chat.
QUOTED_IN_RECORD = sql(
    "SELECT quotations FROM record WHERE account = :account AND chat = :chat AND quotations <> ''"
)
RECORD_IN = sql(
    "SELECT id, sender, text, quotations, mentions FROM record WHERE account = :account AND chat = :chat"
)
SET_RECORD = sql(
    "UPDATE record SET text = :text, quotations = :quotations, mentions = :mentions WHERE id = :id"
)
LIST_RECORDED_OF = sql(
    f"""SELECT i.id, i.account, i.chat, i.text, i.quotations, i.sent_at, i.link FROM record i
    WHERE {WRITTEN_BY} ORDER BY i.id"""
)
DELETE_RECORDED_OF = sql(f"DELETE FROM record WHERE id IN (SELECT i.id FROM record i WHERE {WRITTEN_BY})")


class RecordData(PersonData):
    """Recorded messages."""

    def find_chats(self, connection: Connection, person: PersonKey) -> Iterable[ChatKey]:
        written = connection.execute(CHATS_RECORDED_IN, person.parameters).all()
        marked = {"platform": person.platform, "mark": person.mark}
        quoting = [
            row
            for row in connection.execute(QUOTED_IN_RECORDS, marked).all()
            if is_quoted_or_mentioned(person, row.quotations, row.mentions)
        ]
        return {ChatKey(row.account, row.chat) for row in [*written, *quoting]}

    def list_texts(
        self, connection: Connection, person: PersonKey, chat: ChatKey
    ) -> Iterable[tuple[str, str]]:
        here = {"account": chat.account, "chat": chat.chat}
        for row in connection.execute(RECORDED_IN, {**person.parameters, **here}).all():
            name = decode_sender(row.sender).name
            yield from ((text, name) for text in (row.text, *list_made_texts(row.quotations)))
        for row in connection.execute(QUOTED_IN_RECORD, here).all():
            yield from list_quoted_texts(row.quotations, person)

    def mask_messages(
        self, connection: Connection, chat: ChatKey, mask: Callable[[StoredWords], StoredWords]
    ) -> None:
        here = {"account": chat.account, "chat": chat.chat}
        for row in connection.execute(RECORD_IN, here).all():
            words = StoredWords(row.sender, row.text, row.quotations, row.mentions)
            if (masked := mask(words)) != words:
                connection.execute(SET_RECORD, {"id": row.id, **masked.columns})

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        connection.execute(DELETE_RECORDED_OF, person.parameters)
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        rows = connection.execute(LIST_RECORDED_OF, person.parameters).all()
        return {"record": [row._asdict() for row in rows]}

    def purge(self, connection: Connection, now: float) -> None:
        purge_record(connection, now)
