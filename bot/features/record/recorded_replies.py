"""Updates of recorded replies after an edit or deletion of the message they quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from bot.content import inline_text
from bot.domain import CONTEXT_KINDS, InboundChange, Quotation, QuotationKind
from bot.store.connection import Connection, decode_quotations, decode_sender, encode_quotations, sql
from bot.store.quotations import apply_edit_to_quotations

DELETED = "[deleted message]"
"""Text in the place of a deleted message."""
_KINDS = frozenset({QuotationKind.REPLY, QuotationKind.THREAD_START})

# Look for the recorded messages after an instant that may quote a message, by its id or its author.
LIST_QUOTING = sql(
    """SELECT id, quotations FROM record WHERE account = :account AND chat = :chat AND sent_at >= :since
    AND (quotations LIKE :by_id OR quotations LIKE :by_author)"""
)
SET_QUOTATIONS = sql("UPDATE record SET quotations = :quotations WHERE id = :id")


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """A message before its change. If it is not recorded itself, `author` and `text` are ""."""

    message_id: str
    author: str = ""
    text: str = ""
    sent_at: float = 0.0

    def is_quoted_by(self, quotation: Quotation) -> bool:
        """Return whether a reply quotes this message. Some platforms and earlier versions store no id."""
        if quotation.kind not in _KINDS:
            return False
        if quotation.message_id:
            return quotation.message_id == self.message_id
        is_same = bool(self.author) and (quotation.author_id, quotation.text) == (self.author, self.text)
        return is_same and quotation.sent_at in (0.0, self.sent_at)


def change_replies(connection: Connection, row: Any, change: InboundChange, most: int) -> None:
    """Apply a change to the recorded replies, which quote up to `most` characters of the message.

    `row` is that message in the record, before its change, None if it is not recorded.
    """
    text = _read_text(row, change)
    if text is None:
        return
    quoted, text = _read_quoted(row, change), text[:most]
    by_id = f"%,{_encode(quoted.message_id)}]%"
    found = connection.execute(
        LIST_QUOTING,
        {
            "account": change.origin.account,
            "chat": change.origin.chat,
            "since": quoted.sent_at,
            "by_id": by_id,
            "by_author": f"%,{_encode(quoted.author)},%" if quoted.author else by_id,
        },
    )
    for reply in found.all():
        before = decode_quotations(reply.quotations)
        after = [_change(one, text, change) if quoted.is_quoted_by(one) else one for one in before]
        if (encoded := encode_quotations(after)) != reply.quotations:
            connection.execute(SET_QUOTATIONS, {"id": reply.id, "quotations": encoded})


def _read_quoted(row: Any, change: InboundChange) -> QuotedMessage:
    message_id = change.origin.message_id
    if row is None:
        return QuotedMessage(message_id)
    return QuotedMessage(message_id, decode_sender(row.sender).id, row.text, row.sent_at)


def _read_text(row: Any, change: InboundChange) -> str | None:
    """Return a changed message as quotation text, or None if it is unchanged or unknown."""
    if change.text is None:
        return DELETED
    if row is None:
        text = _join_contents(change.text, change.quotations or ())
        return text if text or change.quotations is not None else None
    before = decode_quotations(row.quotations)
    text = _join_contents(change.text, apply_edit_to_quotations(before, change))
    return None if text == _join_contents(row.text, before) else text


def _join_contents(text: str, quotations: Sequence[Quotation]) -> str:
    own = [one for one in quotations if one.kind not in CONTEXT_KINDS]
    return "\n".join(filter(None, [text, *map(inline_text, own)]))


def _change(quotation: Quotation, text: str, change: InboundChange) -> Quotation:
    if change.text is None:
        return replace(quotation, text=text, files=())
    if change.attachments is None:
        return replace(quotation, text=text)
    return replace(quotation, text=text, files=tuple(one.filename for one in change.attachments))


def _encode(value: str) -> str:
    return orjson.dumps(value).decode()
