"""Messages forwarded together (`merge_forward`), and replied-to messages.

The event holds none of them: `GET im/v1/messages/:id` returns the message and, behind it, those that it
contains, each with `upper_message_id`; a forward within a forward has its own among them. Their files can't
be downloaded (im-v1 message-resource/get).

A message that is forwarded alone arrives like one that the person wrote: nothing in the event or the API
tells it apart.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import structlog

from bot.domain import Quotation, QuotationKind
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.content import read_content, read_time, to_event_form
from bot.platforms.feishu.errors import FeishuError
from bot.platforms.feishu.mentions import FeishuNames
from bot.platforms.feishu.senders import read_author
from bot.platforms.payload import Json, Malformed, get_string
from bot.platforms.unreadable import mark_unreadable

log = structlog.get_logger(__name__)

UNREAD = Quotation(QuotationKind.FORWARD, "[Merged and Forwarded Message]")
"""Stands for messages that could not be fetched, with the words that Feishu puts in their place."""
UNAVAILABLE = "[message not available]"
"""Text of a message that is replied to and could not be fetched."""
RECALLED = "[recalled message]"
MAX_MESSAGES = 100
"""Number of messages that Feishu forwards together at most."""


class FeishuForwarded:
    """Fetches messages that others contain or reply to. `bot` is the bot's open id."""

    def __init__(self, people: FeishuContacts, bot: str) -> None:
        self._people = people
        self._bot = bot

    async def read_quotations(self, message_id: str) -> tuple[Quotation, ...]:
        """Return the messages that a message contains; UNREAD if Feishu does not answer in time."""
        try:
            items = await self._people.fetch_messages(message_id)
            contained = list(_walk(items, message_id))
        except (FeishuError, TimeoutError, Malformed) as problem:
            log.info("feishu.forward_unread", reason=str(problem) or "no answer in time")
            return (UNREAD,)
        return await self._read_all(contained, QuotationKind.FORWARD) or (UNREAD,)

    async def read_context(self, replied: str, start: str) -> tuple[Quotation, ...]:
        """Return the replied-to message, preceded by the start of its reply chain. If the bot took part in
        the chain, its conversation contains the start.
        """
        if start in ("", replied) or self._people.is_known_own(replied):
            return await self.read_reply(replied)
        begun, answered = await asyncio.gather(self.read_start(start), self.read_reply(replied))
        return (*begun, *answered)

    async def read_start(self, message_id: str) -> tuple[Quotation, ...]:
        """Return another sender's message that started a topic or reply chain, if it can be read."""
        found = await self.read_reply(message_id, QuotationKind.THREAD_START)
        return tuple(one for one in found if one.author_id)

    async def read_reply(
        self, message_id: str, kind: QuotationKind = QuotationKind.REPLY
    ) -> tuple[Quotation, ...]:
        """Return another sender's replied-to message, and the messages it contains. The bot's own messages
        are in its conversation.
        """
        if self._people.is_known_own(message_id):
            return ()
        try:
            items = await self._people.fetch_messages(message_id)
            contained = list(_walk(items, message_id))
        except (FeishuError, TimeoutError, Malformed) as problem:
            log.info("feishu.reply_unread", reason=str(problem) or "no answer in time")
            return (Quotation(kind, UNAVAILABLE),)
        if not items or self._people.is_known_own(message_id):
            return ()
        found = await self._read_all([items[0], *contained], kind)
        return tuple(replace(one, message_id=message_id) for one in found)

    async def _read_all(self, messages: Sequence[Json], kind: QuotationKind) -> tuple[Quotation, ...]:
        found = await self._people.read_named(
            lambda names: tuple(self._read(one, kind, names) for one in messages)
        )
        return tuple(one for one in found if one.text or one.files)

    def _read(self, message: Json, kind: QuotationKind, names: FeishuNames) -> Quotation:
        try:
            name, author = read_author(message, names)
            sent_at = read_time(message, "create_time")
            if message.get("deleted") is True:
                return Quotation(kind, RECALLED, name, author, sent_at=sent_at)
            content = read_content(to_event_form(message), self._bot, names)
        except Malformed as problem:
            return mark_unreadable(kind, problem)
        files = tuple(one.filename for one in content.attachments)
        return Quotation(kind, content.quoted_text, name, author, files, sent_at)


def _walk(items: Sequence[Json], root: str) -> Iterator[Json]:
    """Yield a message's contained messages, each before its own. Raises Malformed."""
    contained: dict[str, list[Json]] = defaultdict(list)
    for item in items:
        if upper := get_string(item, "upper_message_id"):
            contained[upper].append(item)
    waiting = contained.pop(root, [])[::-1]
    for _ in range(MAX_MESSAGES):
        if not waiting:
            return
        item = waiting.pop()
        yield item
        waiting += contained.pop(get_string(item, "message_id"), [])[::-1]
