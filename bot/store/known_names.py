"""Names seen in a conversation, with the ids of their owners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bot.domain import CONTEXT_KINDS, Mention, MentionKind, Quotation, Sender
from bot.store.connection import Connection, decode_mentions, decode_quotations, decode_sender, sql
from bot.turn import Turn, TurnMessage

MAX_READ = 200
"""Maximum number of messages of a conversation, and of a chat's record, that are searched for names."""

# List a conversation's authors and the people they mentioned, newest first.
NAMES_IN_CONVERSATION = sql(
    """SELECT sender, mentions, quotations FROM inbound WHERE turn_id > 0 AND turn_id IN (SELECT id FROM turns
    WHERE conversation_id = :conversation ORDER BY id DESC LIMIT :limit) AND deleted = 0
    ORDER BY id DESC LIMIT :limit"""
)
# List the same of a chat's record, as far as the readers of a topic can read it.
NAMES_IN_RECORD = sql(
    """SELECT sender, mentions, quotations FROM record WHERE account = :account AND chat = :chat
    AND (private_topic = 0 OR topic = :reader) ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)


def list_known_names(connection: Connection, turn: Turn, limit: int = MAX_READ) -> list[Mention]:
    """Return the people, channels and roles that wrote or were mentioned in a turn, in earlier messages of
    its conversation and in its chat's record. A name may occur several times with different ids.
    """
    address = turn.address
    found = [one for message in turn.messages for one in _names_of_message(message)]
    spoken = {"conversation": turn.conversation, "limit": limit}
    recorded = {"account": address.account, "chat": address.chat, "reader": address.topic, "limit": limit}
    rows = [
        *connection.execute(NAMES_IN_CONVERSATION, spoken).all(),
        *connection.execute(NAMES_IN_RECORD, recorded).all(),
    ]
    found += [one for row in rows for one in _names_of_row(row)]
    return list(dict.fromkeys(found))


def _names_of_message(message: TurnMessage) -> Iterator[Mention]:
    return _list_names(message.sender, message.mentions, message.quotations)


def _names_of_row(row: Any) -> Iterator[Mention]:
    quotations = decode_quotations(row.quotations)
    return _list_names(decode_sender(row.sender), decode_mentions(row.mentions), quotations)


def _list_names(
    sender: Sender, mentions: Iterable[Mention], quotations: Iterable[Quotation]
) -> Iterator[Mention]:
    """Yield a message's author, its mentions and the authors of quoted messages, except for forwarded ones,
    whose authors may not belong to the chat.
    """
    if not sender.account:
        yield Mention(MentionKind.PERSON, sender.name, "" if sender.is_bot else sender.id)
    yield from mentions
    for one in quotations:
        if one.kind in CONTEXT_KINDS and one.author:
            yield Mention(MentionKind.PERSON, one.author, one.author_id)
