"""Mask quotations and mentions of an erased person in what others wrote, and quotations in answers and in the
audit log.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bot.domain import MentionKind
from bot.features.privacy.audit_chain import mask_events
from bot.features.privacy.text_masking import TextMask
from bot.features.privacy.written_messages import STEP
from bot.store.connection import (
    Connection,
    decode_mentions,
    decode_quotations,
    decode_sender,
    encode_mentions,
    encode_quotations,
    sql,
)
from bot.store.person_data import MASK, ChatKey, PersonData, PersonKey, StoredWords

# Columns that can quote people, by the turns of a conversation.
TURNS_IN = sql(
    """SELECT id FROM turns WHERE conversation_id = :conversation AND id > :after ORDER BY id LIMIT :limit"""
)
PARTS_IN = sql("SELECT turn_id, position, content FROM parts WHERE turn_id IN :turns", "turns")
SET_PART = sql("UPDATE parts SET content = :text WHERE turn_id = :turn AND position = :position")
MESSAGES_IN = sql(
    "SELECT id, sender, text, quotations, mentions FROM inbound WHERE turn_id IN :turns AND deleted = 0",
    "turns",
)
SET_MESSAGE = sql(
    "UPDATE inbound SET text = :text, quotations = :quotations, mentions = :mentions WHERE id = :id"
)
CHANGES_IN = sql(
    """SELECT h.id, h.old_text, h.new_text, i.sender FROM changes h JOIN inbound i ON i.id = h.inbound_id
    WHERE h.conversation_id = :conversation"""
)
SET_CHANGE = sql("UPDATE changes SET old_text = :old, new_text = :new WHERE id = :id")
AUDIT_AFTER = sql(
    "SELECT id, person, name, subject, detail FROM audit WHERE id > :after ORDER BY id LIMIT :limit"
)


def mask_turns(
    connection: Connection,
    conversation: int,
    after: int,
    mask: TextMask,
    person: PersonKey,
    spared: Collection[int] = (),
) -> int | None:
    """Mask quotations in the next turns of a conversation; return the last turn covered, None at the end.

    The person's own messages stay until they are anonymized, and so do the answers of `spared` turns: an
    interrupted erasure needs them again.
    """
    here = {"conversation": conversation, "after": after, "limit": STEP}
    turns = [row[0] for row in connection.execute(TURNS_IN, here).all()]
    if not turns:
        return None
    for row in connection.execute(PARTS_IN, {"turns": turns}).all():
        if row.turn_id not in spared and (text := mask.apply(row.content)) != row.content:
            connection.execute(SET_PART, {"turn": row.turn_id, "position": row.position, "text": text})
    for row in connection.execute(MESSAGES_IN, {"turns": turns}).all():
        words = StoredWords(row.sender, row.text, row.quotations, row.mentions)
        if (masked := _mask_words(words, mask=mask, person=person)) != words:
            connection.execute(SET_MESSAGE, {"id": row.id, **masked.columns})
    return int(turns[-1])


def mask_edits(connection: Connection, conversation: int, mask: TextMask, person: PersonKey) -> None:
    """Mask quotations in the edits of others' messages in a conversation."""
    for row in connection.execute(CHANGES_IN, {"conversation": conversation}).all():
        if person.is_written_by(decode_sender(row.sender)):
            continue
        old, new = mask.apply(row.old_text), mask.apply(row.new_text)
        if (old, new) != (row.old_text, row.new_text):
            connection.execute(SET_CHANGE, {"id": row.id, "old": old, "new": new})


def mask_messages(
    connection: Connection, chat: ChatKey, mask: TextMask, person: PersonKey, data: Sequence[PersonData]
) -> None:
    """Mask quotations in the messages that features store for a chat."""
    for one in data:
        one.mask_messages(connection, chat, partial(_mask_words, mask=mask, person=person))


def _mask_words(words: StoredWords, *, mask: TextMask, person: PersonKey) -> StoredWords:
    """Mask what another one wrote; the person's own words stay."""
    if person.is_written_by(decode_sender(words.sender)):
        return words
    return StoredWords(
        words.sender,
        mask.apply(words.text),
        _mask_quotations(words.quotations, mask, person),
        _remove_mentions(words.mentions, person),
    )


def _mask_quotations(column: str, mask: TextMask, person: PersonKey) -> str:
    """Mask what a message forwards, quotes or shares of the person's."""
    masked = []
    for one in decode_quotations(column):
        if one.author_id == person.id:
            masked.append(replace(one, text=MASK, author="", author_id="", files=(), message_id=""))
            continue
        is_named = not one.author_id and one.author in mask.names
        masked.append(replace(one, text=mask.apply(one.text), author=MASK if is_named else one.author))
    return encode_quotations(masked)


def _remove_mentions(column: str, person: PersonKey) -> str:
    """Remove the person's id; their name stays in the text, because many people can have it."""
    mentions = decode_mentions(column)
    others = [one for one in mentions if one.kind is not MentionKind.PERSON or one.id != person.id]
    return column if len(others) == len(mentions) else encode_mentions(others)


def mask_audit(
    connection: Connection, person: PersonKey, after: int, mask: TextMask
) -> tuple[int, int] | None:
    """Mask audit events that quote the person, among the next `STEP`; the person's name is masked as well.

    Returns the last event covered and the number of masked ones, None at the end.
    """
    rows = connection.execute(AUDIT_AFTER, {"after": after, "limit": STEP}).all()
    if not rows:
        return None
    masked = 0
    for fields, ids in _find_quoting(rows, person, mask).items():
        mask_events(connection, ids, fields)
        masked += len(ids)
    return int(rows[-1].id), masked


def _find_quoting(rows: Sequence[Any], person: PersonKey, mask: TextMask) -> dict[tuple[str, ...], list[int]]:
    """Group audit events by the fields that must be masked."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        fields = [
            name for name in ("subject", "detail") if mask.apply(getattr(row, name)) != getattr(row, name)
        ]
        if row.person == str(person) and row.name not in ("", MASK):
            fields.append("name")
        if fields:
            found.setdefault(tuple(fields), []).append(row.id)
    return found
