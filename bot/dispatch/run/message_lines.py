"""Chat messages formatted as quoted lines, so that the agent does not take their text as instructions of the
bot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

import orjson

from agent.shared.text import shorten
from bot.domain import HistoryMessage, Quotation, QuotationKind, person_of

LONGEST_LINE = 1000
LONGEST_QUOTATIONS = 5000
"""Maximum number of characters of all quotations in a message, unless the first alone is longer."""
REPEATED_KINDS = frozenset({QuotationKind.REPLY, QuotationKind.THREAD_START})
LONGEST_REPLY = 120
"""Maximum number of characters of a message that is replied to, if the same list has it already."""


def format_messages(
    found: Sequence[HistoryMessage], platform: str, zone: tzinfo, most: int
) -> tuple[list[str], int]:
    """Format the newest messages that fit into `most` characters, oldest first. Return also the number of
    omitted messages.
    """
    kept = [*found]
    while True:
        # Without the oldest, a message that only they showed whole takes more room.
        lines = _format_newest(_shorten_repeated(kept), platform, zone, most)
        if len(lines) == len(kept):
            return lines, len(found) - len(lines)
        kept = kept[len(kept) - len(lines) :]


def _format_newest(found: Sequence[HistoryMessage], platform: str, zone: tzinfo, most: int) -> list[str]:
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
    found: Sequence[HistoryMessage],
) -> list[HistoryMessage]:
    """Shorten replied-to messages that another message of the list or an earlier quotation already shows.
    Some platforms deliver messages of other apps only as part of a reply.
    """
    shown = {text for one in found for text in _list_texts(one)}
    shortened: list[HistoryMessage] = []
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


def _list_texts(one: HistoryMessage) -> list[str]:
    """Return the texts by which another message can quote this one: its text, its contents, or both."""
    contents = [quotation.text for quotation in one.quotations if _is_new(quotation)]
    return [one.text, *contents, "\n".join(filter(None, [one.text, *contents]))]


def _join(text: str, files: Sequence[str]) -> str:
    """Join a quoted text and the names of its files, in the record's format."""
    return "\n".join(filter(None, [text, *(f"[{name}]" for name in files)]))


def _is_new(quotation: Quotation) -> bool:
    return quotation.kind not in REPEATED_KINDS


def _format_message(one: HistoryMessage, platform: str, zone: tzinfo) -> str:
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
    """Yield a message's quotations. Beyond a maximum, the remaining ones are only counted, so that the
    message fits.
    """
    size = 0
    for number, quotation in enumerate(quotations):
        shown = _format_quotation(quotation)
        size += len(shown)
        if number and size > LONGEST_QUOTATIONS:
            yield f"(more: {len(quotations) - number})"
            return
        yield shown


def _format_quotation(quotation: Quotation) -> str:
    """Format quoted content so that it is not mistaken for the sender's own words."""
    author = f" {_quote_text(quotation.author)}:" if quotation.author else ""
    files = "".join(f" [{name}]" for name in quotation.files)
    return f"({quotation.kind.value}{author} {_quote_text(shorten(quotation.text, LONGEST_LINE) + files)})"


def _quote_text(text: str) -> str:
    return orjson.dumps(text).decode()
