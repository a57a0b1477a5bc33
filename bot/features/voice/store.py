"""Transcripts of recordings, stored with the message and the chat's record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.content import transcript, transcript_line
from bot.domain import Quotation
from bot.store.chat_record import ChatRecord
from bot.store.connection import Connection, decode_quotations, encode_quotations, sql
from bot.turn import Turn, TurnMessage

# Read the quotations of a message whose files have not been deleted.
QUOTATIONS_OF_INBOUND = sql(
    "SELECT quotations FROM inbound WHERE id = :id AND deleted = 0 AND attachments <> ''"
)
SET_INBOUND_QUOTATIONS = sql("UPDATE inbound SET quotations = :quotations WHERE id = :id")


@dataclass(frozen=True, slots=True)
class SpokenFile:
    """The transcript of an attachment. `quotation` is the position of the quotation that contains the file
    (-1: it is the author's own).
    """

    file: str
    text: str
    quotation: int = -1


def add_transcripts(quotations: Sequence[Quotation], spoken: Sequence[SpokenFile]) -> tuple[Quotation, ...]:
    """Return the quotations with transcripts added. A transcript of the author's own recording becomes a
    quotation; any other is added to the quotation that contains the recording, so that it is hidden and
    erased together.
    """
    found = list(quotations)
    for one in spoken:
        if one.quotation < 0:
            found.append(transcript(one.text, one.file))
            continue
        holder = found[one.quotation]
        text = "\n".join(filter(None, [holder.text, transcript_line(one.text, one.file)]))
        found[one.quotation] = replace(holder, text=text)
    return tuple(found)


def store_transcripts(
    connection: Connection,
    record: ChatRecord,
    turn: Turn,
    message: TurnMessage,
    spoken: Sequence[SpokenFile],
) -> None:
    """Add transcripts to a message of a turn and to the chat's record. A message that has since been changed
    or erased stays unchanged.
    """
    row = connection.execute(QUOTATIONS_OF_INBOUND, {"id": message.id}).first()
    if row is None or decode_quotations(row.quotations) != message.quotations:
        return
    whole = encode_quotations(add_transcripts(message.quotations, spoken))
    connection.execute(SET_INBOUND_QUOTATIONS, {"quotations": whole, "id": message.id})

    def add_to_recorded(known: tuple[Quotation, ...]) -> tuple[Quotation, ...]:
        return add_transcripts(known, spoken) if len(known) == len(message.quotations) else known

    address = turn.address
    record.change_quotations(connection, address.account, address.chat, message.message_id, add_to_recorded)
