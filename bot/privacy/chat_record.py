"""Records of chats: their settings, and their messages as quoted lines for the agent.

Messages are quoted so that the agent takes no text in them as instructions of the bot.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

import orjson

from agent.shared.text import shorten
from bot.domain import ChatKind, HistoryMessage, Quotation, QuotationKind, person_of
from bot.privacy.blocked_people import BlockedPeople
from bot.store import Database
from bot.store.audit import Actor
from bot.store.record import (
    RecordedChat,
    RecordedMessage,
    is_first_turn,
    list_recorded_before,
    list_recorded_chats,
    set_recording,
)
from bot.texts import Texts
from bot.turn import Turn


class RecordSettings:
    """Chats with a record; held in memory because every message needs them. Call `load_settings` first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._chats: dict[tuple[str, str], RecordedChat] = {}

    async def load_settings(self) -> None:
        """Reload the settings from the store."""
        self._chats = {(one.account, one.chat): one for one in await self._db.transact(list_recorded_chats)}

    def get(self, account: str, chat: str) -> RecordedChat | None:
        """Return the settings of a chat's record, None without a record."""
        return self._chats.get((account, chat))

    async def set_retention(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Set the retention of a chat's record in days; 0 turns it off and deletes it."""
        await self._db.transact(set_recording, account, chat, days, actor, now)
        await self.load_settings()


LONGEST_LINE = 1000
LONGEST_QUOTATIONS = 5000
"""Maximum number of characters of all quotations in a message, unless the first alone is longer."""
REPEATED_KINDS = frozenset({QuotationKind.REPLY, QuotationKind.THREAD_START})
LONGEST_REPLY = 120
"""Maximum number of characters of a message that is replied to, if the same list has it already."""
# Limits of the messages before a turn: number, characters, and how far back (s).
MOST_BEFORE, MOST_BEFORE_CHARACTERS, FAR_BACK = 100, 12_000, 7 * 24 * 3600.0


async def format_earlier_messages(
    turn: Turn,
    record: Database,
    texts: Texts,
    read: Callable[[Turn], Awaitable[Sequence[HistoryMessage]]],
    zone: tzinfo,
    *,
    blocked: BlockedPeople,
) -> str:
    """Format the messages that others wrote before a turn, with times in the chat's `zone`, "" for none.
    Nothing of `blocked` people is among them.

    These are the chat's record and, for the first turn of a conversation, the messages that `read` finds on
    the platform.
    """
    if turn.address.chat_kind is not ChatKind.GROUP or turn.answers or turn.repeats or turn.is_scheduled:
        return ""
    found: list[RecordedMessage | HistoryMessage] = [
        *await record.transact(list_recorded_before, turn, FAR_BACK, MOST_BEFORE)
    ]
    if await record.transact(is_first_turn, turn):
        known = {one.message_id for one in found}
        found += [one for one in await read(turn) if one.message_id not in known]
        found.sort(key=lambda one: one.sent_at)
    readable = blocked.filter_messages(found)
    lines, omitted = format_messages(readable, turn.platform, zone, MOST_BEFORE_CHARACTERS)
    return texts("note_heard", said="\n".join(lines), left=omitted, zone=zone) if lines else ""


def format_messages(
    found: Sequence[RecordedMessage | HistoryMessage], platform: str, zone: tzinfo, most: int
) -> tuple[list[str], int]:
    """Format the newest messages that fit in `most` characters, oldest first; return also how many did
    not.
    """
    kept = [*found]
    while True:
        # Without the oldest, a message that only they showed whole takes more room.
        lines = _format_newest(_shorten_repeated(kept), platform, zone, most)
        if len(lines) == len(kept):
            return lines, len(found) - len(lines)
        kept = kept[len(kept) - len(lines) :]


def _format_newest(
    found: Sequence[RecordedMessage | HistoryMessage], platform: str, zone: tzinfo, most: int
) -> list[str]:
    lines: list[str] = []
    size = 0
    for one in reversed(found):
        line = _format_message(one, platform, zone)
        if size + len(line) > most:
            break
        lines.append(line)
        size += len(line) + 1
    return lines[::-1]


def _shorten_repeated(
    found: Sequence[RecordedMessage | HistoryMessage],
) -> list[RecordedMessage | HistoryMessage]:
    """Shorten messages that are replied to where another message of the list shows them, or an earlier
    quotation: some platforms deliver no messages of other apps but by a reply.
    """
    shown = {text for one in found for text in _list_texts(one)}
    shortened: list[RecordedMessage | HistoryMessage] = []
    for one in found:
        quotations: list[Quotation] = []
        for quotation in one.quotations:
            is_long = not _is_new(quotation) and len(quotation.text) > LONGEST_REPLY
            is_shown = not shown.isdisjoint((quotation.text, _join(quotation.text, quotation.files)))
            shown.add(quotation.text)
            text = f"{quotation.text[: LONGEST_REPLY - 1]}…" if is_long and is_shown else quotation.text
            quotations.append(replace(quotation, text=text))
        shortened.append(replace(one, quotations=tuple(quotations)))
    return shortened


def _list_texts(one: RecordedMessage | HistoryMessage) -> list[str]:
    """Return the texts by which another message can quote this one: its words, its contents, or all of it."""
    contents = [quotation.text for quotation in one.quotations if _is_new(quotation)]
    return [one.text, *contents, "\n".join(filter(None, [one.text, *contents]))]


def _join(text: str, files: Sequence[str]) -> str:
    """Return a quoted text with the names of its files, as a record has them."""
    return "\n".join(filter(None, [text, *(f"[{name}]" for name in files)]))


def _is_new(quotation: Quotation) -> bool:
    return quotation.kind not in REPEATED_KINDS


def _format_message(one: RecordedMessage | HistoryMessage, platform: str, zone: tzinfo) -> str:
    at = datetime.fromtimestamp(one.sent_at, zone).strftime("%Y-%m-%d %H:%M")
    parts = [
        at,
        f"{_quote_text(one.sender.shown_name or one.sender.id)}{' [app]' if one.sender.is_bot else ''}"
        f" ({person_of(platform, one.sender)})",
        *([_quote_text(shorten(one.text, LONGEST_LINE))] if one.text or not one.quotations else []),
        *_format_quotations(one.quotations),
        *([one.link] if one.link else []),
    ]
    return " ".join(["-", *parts])


def _format_quotations(quotations: Sequence[Quotation]) -> Iterator[str]:
    """Yield the quotations of a message. The last of very many are only counted, so that the message fits."""
    size = 0
    for number, quotation in enumerate(quotations):
        shown = _format_quotation(quotation)
        size += len(shown)
        if number and size > LONGEST_QUOTATIONS:
            yield f"(more: {len(quotations) - number})"
            return
        yield shown


def _format_quotation(quotation: Quotation) -> str:
    """Format content that is not the sender's own words, so that it is not read as such."""
    author = f" {_quote_text(quotation.author)}:" if quotation.author else ""
    files = "".join(f" [{name}]" for name in quotation.files)
    return f"({quotation.kind.value}{author} {_quote_text(shorten(quotation.text, LONGEST_LINE) + files)})"


def _quote_text(text: str) -> str:
    return orjson.dumps(text).decode()
