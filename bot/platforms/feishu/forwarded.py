"""Fetches the messages that somebody forwarded together (`merge_forward`), and those that they reply to.

The event holds none of them: `GET im/v1/messages/:id` returns the message and, behind it, those that it
contains, each with `upper_message_id`. Their files can't be downloaded (im-v1 message-resource/get).

A message that is forwarded alone arrives like one that the person wrote: nothing in the event or the API
tells it apart.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import structlog

from bot.domain import Quotation, QuotationKind
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.contacts import ASK_SECONDS, FeishuContacts
from bot.platforms.feishu.content import MERGED, read_content, read_time, to_event_form
from bot.platforms.feishu.errors import FeishuError
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string
from bot.platforms.unreadable import mark_unreadable

log = structlog.get_logger(__name__)

UNREAD = Quotation(QuotationKind.FORWARD, "[Merged and Forwarded Message]")
"""Stands for messages that could not be fetched, with the words that Feishu puts in their place."""
MAX_MESSAGES = 100
"""Number of messages that Feishu forwards together at most."""


class FeishuForwarded:
    """Fetches forwarded messages for one account. `bot` is the bot's open id."""

    def __init__(self, client: FeishuClient, people: FeishuContacts, bot: str) -> None:
        self._client = client
        self._people = people
        self._bot = bot

    async def read_quotations(self, message_id: str) -> tuple[Quotation, ...]:
        """Return the messages that a message contains; UNREAD where Feishu does not answer in time."""
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.call("GET", f"im/v1/messages/{quote(message_id, safe='')}")
            found = [one for one in get_objects(answer.data, "items") if one.get("upper_message_id")]
        except (FeishuError, TimeoutError, Malformed) as problem:
            log.info("feishu.forward_unread", reason=str(problem) or "no answer in time")
            return (UNREAD,)
        kept = [one for one in found if one.get("msg_type") != MERGED][:MAX_MESSAGES]
        return tuple(await asyncio.gather(*(self._read(one) for one in kept))) or (UNREAD,)

    async def read_reply(self, message_id: str) -> tuple[Quotation, ...]:
        """Return the message of somebody else that is replied to; nothing where Feishu does not answer in
        time. The bot's own are in its conversation.
        """
        try:
            async with asyncio.timeout(ASK_SECONDS):
                found = await self._people.find_others_message(message_id)
                read = await self._read(found, QuotationKind.REPLY) if found else None
        except TimeoutError:
            log.info("feishu.reply_unread", reason="no answer in time")
            return ()
        return (read,) if read is not None and (read.text or read.files) else ()

    async def _read(self, message: Json, kind: QuotationKind = QuotationKind.FORWARD) -> Quotation:
        try:
            content = read_content(to_event_form(message), self._bot)
            sender = get_object(message, "sender")
            author = get_string(sender, "id")
            sent_at = read_time(message, "create_time")
        except Malformed as problem:
            return mark_unreadable(kind, problem)
        is_person = get_string(sender, "sender_type") == "user"
        name = (await self._people.find_person(author)).name if is_person and author else ""
        text = content.text or (f"[{content.unsupported}]" if content.unsupported else "")
        text = UNREAD.text if content.forwarded else text
        files = tuple(one.filename for one in content.attachments)
        return Quotation(kind, text, name, author, files, sent_at)
