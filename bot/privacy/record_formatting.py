"""The record as the agent reads it: one line for a message, quoted so that nothing in it passes for ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, tzinfo

import orjson

from bot.domain import ChatKind, HistoryMessage, Turn
from bot.store import Database
from bot.store.record import RecordedMessage, is_first_turn, list_recorded_before
from bot.store.schedules import EVENT
from bot.texts import Texts

LONGEST_LINE = 1000
# Of what was said before somebody asks, the agent reads so much, and so far back (seconds).
MOST_BEFORE, MOST_BEFORE_CHARACTERS, FAR_BACK = 100, 12_000, 7 * 24 * 3600.0


async def heard_before(
    turn: Turn,
    record: Database,
    texts: Texts,
    read: Callable[[Turn], Awaitable[Sequence[HistoryMessage]]],
) -> str:
    """What the agent is told of what others wrote before a turn, "" for nothing: what the chat's record has,
    and where it is the first turn there, what `read` finds on the platform.
    """
    scheduled = any(message.event_id.startswith(EVENT) for message in turn.messages)
    if turn.address.chat_kind is not ChatKind.GROUP or turn.answers or turn.repeats or scheduled:
        return ""
    found: list[RecordedMessage | HistoryMessage] = [
        *await record.run(list_recorded_before, turn, FAR_BACK, MOST_BEFORE)
    ]
    if await record.run(is_first_turn, turn):
        known = {one.message_id for one in found}
        found += [one for one in await read(turn) if one.message_id not in known]
        found.sort(key=lambda one: one.sent_at)
    told, left = format_messages(found, UTC, MOST_BEFORE_CHARACTERS)
    return texts("note_heard", said="\n".join(told), left=left) if told else ""


def format_messages(
    found: Sequence[RecordedMessage | HistoryMessage], zone: tzinfo, most: int
) -> tuple[list[str], int]:
    """The newest messages that fit `most` characters, oldest first, and how many did not."""
    kept: list[str] = []
    size = 0
    for one in reversed(found):
        line = _format_message(one, zone)
        if size + len(line) > most:
            break
        kept.append(line)
        size += len(line) + 1
    return kept[::-1], len(found) - len(kept)


def _format_message(one: RecordedMessage | HistoryMessage, zone: tzinfo) -> str:
    at = datetime.fromtimestamp(one.sent_at, zone).strftime("%Y-%m-%d %H:%M")
    text = one.text if len(one.text) <= LONGEST_LINE else one.text[: LONGEST_LINE - 1] + "…"
    parts = [
        at,
        _quote_text(one.sender.name or one.sender.id),
        _quote_text(text),
        *([one.link] if one.link else []),
    ]
    return " ".join(["-", *parts])


def _quote_text(text: str) -> str:
    return orjson.dumps(text).decode()
