"""History of a topic in which the bot is addressed (im-v1, message/list)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.domain import HistoryMessage, PartialHistory, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.feishu import requests
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts, FeishuPerson
from bot.platforms.feishu.content import FeishuContent, read_content, read_time, to_event_form
from bot.platforms.feishu.errors import FeishuError, delivery_error
from bot.platforms.feishu.forwarded import UNREAD, FeishuForwarded
from bot.platforms.feishu.inbound import FeishuIdentity
from bot.platforms.feishu.mentions import FeishuNames
from bot.platforms.feishu.senders import APPS, build_sender, read_author
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string, require_string

MOST_PAGES = 6
MAX_FORWARDS = 5
"""Number of forwards in a topic whose messages are fetched, the newest first."""


class FeishuThreads:
    """The topics of one account."""

    def __init__(
        self,
        client: FeishuClient,
        identity: FeishuIdentity,
        people: FeishuContacts,
        forwarded: FeishuForwarded,
    ) -> None:
        self._client = client
        self._identity = identity
        self._people = people
        self._forwarded = forwarded

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        try:
            found, has_older = await self._list_before(address, before, limit)
            history = await self._convert_messages(found[::-1])
        except Malformed as problem:
            raise DeliveryError(DeliveryCategory.UNKNOWN, f"Feishu's answer: {problem}") from None
        if not has_older:
            return history
        return PartialHistory(await self._add_start(history, found))

    async def _list_before(self, address: ReplyAddress, before: str, limit: int) -> tuple[list[Json], bool]:
        """List others' messages in a topic before that message, newest first, and whether there may be more.

        Feishu accepts no time bounds there, so the topic is read from its end.
        """
        found: list[Json] = []
        page, passed = "", False
        for _ in range(MOST_PAGES):
            items, page = await self._read_page(address, page)
            for item in items:
                if passed and self._is_by_others(item):
                    found.append(item)
                passed = passed or get_string(item, "message_id") == before
            if not page or len(found) >= limit:
                break
        return found[:limit], bool(page) or len(found) > limit

    async def _read_page(self, address: ReplyAddress, page: str) -> tuple[list[Json], str]:
        """Return a page of the topic, and the token of the previous page ("" for none)."""
        try:
            answer = await self._client.send(requests.list_topic(address.topic, page))
        except FeishuError as problem:
            error = delivery_error(problem, posting=False)
            if error.category is DeliveryCategory.PERMISSION:
                self._people.note_history(address.chat, readable=False)
            raise error from None
        self._people.note_history(address.chat, readable=True)
        following = get_string(answer.data, "page_token") if answer.data.get("has_more") is True else ""
        return get_objects(answer.data, "items"), following

    def _is_by_others(self, message: Json) -> bool:
        """Return whether a person or another app wrote the message and has not recalled it."""
        is_sent = bool(get_string(get_object(message, "sender"), "id")) and not self._people.is_by_bot(
            message
        )
        return is_sent and message.get("deleted") is not True and bool(get_string(message, "message_id"))

    async def _convert_messages(self, messages: Sequence[Json]) -> list[HistoryMessage]:
        """Convert the readable messages."""
        people = {get_string(get_object(one, "sender"), "id"): one for one in messages}
        asked = [one for one, message in people.items() if _is_by_person(message)]
        known = await asyncio.gather(*map(self._people.find_person, asked))
        persons = dict(zip(asked, known, strict=True))
        read = await self._people.read_named(
            lambda names: [self._convert(one, persons, names) for one in messages]
        )
        found = [one for one in read if one is not None]
        forwards = [message.message_id for message, content in found if content.forwarded][-MAX_FORWARDS:]
        fetched = await asyncio.gather(*map(self._forwarded.read_quotations, forwards))
        contained = dict(zip(forwards, fetched, strict=True))
        return [
            replace(message, quotations=contained.get(message.message_id, (UNREAD,)))
            if content.forwarded
            else message
            for message, content in found
        ]

    def _convert(
        self, message: Json, persons: dict[str, FeishuPerson], names: FeishuNames
    ) -> tuple[HistoryMessage, FeishuContent] | None:
        """Convert a message, or None if it can't be read."""
        person = persons.get(get_string(get_object(message, "sender"), "id"), FeishuPerson())
        known = FeishuNames({get_string(get_object(message, "sender"), "id"): person.name})
        sender = build_sender(message, read_author(message, known), person)
        try:
            content = read_content(to_event_form(message), self._identity.open_id, names)
            at, link = read_time(message, "create_time"), get_string(message, "message_app_link")
        except Malformed:
            return None
        files = [f"[{one.filename}]" for one in content.attachments]
        text = "\n".join(filter(None, [content.text, *files]))
        message_id = require_string(message, "message_id")
        return HistoryMessage(message_id, sender, text, at, link, content.quotations), content

    async def _add_start(
        self, history: Sequence[HistoryMessage], found: Sequence[Json]
    ) -> Sequence[HistoryMessage]:
        """Insert the topic's first message before the oldest one, if the history does not include it."""
        root = next((one for one in (get_string(one, "root_id") for one in found) if one), "")
        if not history or not root or any(one.message_id == root for one in history):
            return history
        start = await self._forwarded.read_start(root)
        return [replace(history[0], quotations=(*start, *history[0].quotations)), *history[1:]]


def _is_by_person(message: Json) -> bool:
    return get_string(get_object(message, "sender"), "sender_type") not in APPS
