"""Length limits of quotations in messages, which their author can't shorten."""

from __future__ import annotations

from dataclasses import replace

from agent.shared.text import shorten
from bot.domain import CONTEXT_KINDS, InboundChange, InboundMessage, Quotation

MAX_CONTEXT_CHARACTERS = 2000
"""Maximum number of characters of content that comes along, such as a message that is replied to: often the
conversation has it already."""
MAX_ALL_CONTEXT_CHARACTERS = 8000
"""Maximum number of characters of all content that comes along with a message."""


def count_characters(message: InboundMessage) -> int:
    """Return the length of the author's own text, or else of the forwarded text."""
    if not message.is_quotation_only:
        return len(message.text)
    return sum(len(one.text) for one in message.quotations if one.kind not in CONTEXT_KINDS)


def cut_quotations(message: InboundMessage, most: int) -> InboundMessage:
    """Return the message with context cut to MAX_CONTEXT_CHARACTERS each and MAX_ALL_CONTEXT_CHARACTERS in
    total, and other quotations to the remainder of `most` characters after the author's own text.
    """
    return replace(message, quotations=_cut_all(message.quotations, most - len(message.text)))


def cut_change(change: InboundChange, most: int) -> InboundChange:
    """Return an edit with its text cut to `most` characters, and its quotations cut like a message's."""
    text = change.text[:most] if change.text is not None else None
    quotations = change.quotations
    if quotations is not None:
        quotations = _cut_all(quotations, most - len(text or ""))
    return replace(change, text=text, quotations=quotations)


def _cut_all(quotations: tuple[Quotation, ...], room: int) -> tuple[Quotation, ...]:
    cut: list[Quotation] = []
    context_room = MAX_ALL_CONTEXT_CHARACTERS
    for one in quotations:
        if one.kind in CONTEXT_KINDS:
            text = shorten(one.text, min(MAX_CONTEXT_CHARACTERS, context_room))
            context_room -= len(text)
        else:
            text = shorten(one.text, room)
            room -= len(text)
        cut.append(replace(one, text=text))
    return tuple(cut)
