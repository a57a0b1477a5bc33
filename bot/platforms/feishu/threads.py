"""Reads the history of a topic in which somebody addressed the bot (im-v1, message/list)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from bot.domain import HistoryMessage, PartialHistory, ReplyAddress, Sender
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.content import read_content, read_time, to_event_form
from bot.platforms.feishu.errors import FeishuError, delivery_error
from bot.platforms.feishu.forwarded import UNREAD
from bot.platforms.feishu.inbound import FeishuIdentity
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string, require_string

PAGE = 50
"""Messages: the most that Feishu gives out at once."""
MOST_PAGES = 6


class FeishuThreads:
    """The topics of one account."""

    def __init__(self, client: FeishuClient, identity: FeishuIdentity, people: FeishuContacts) -> None:
        self._client = client
        self._identity = identity
        self._people = people

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        try:
            found, has_older = await self._list_before(address.topic, before, limit)
            by_sender = {get_string(get_object(one, "sender"), "id"): one for one in found}
            senders = await asyncio.gather(*(self._find_sender(*one) for one in by_sender.items()))
        except Malformed as problem:
            raise DeliveryError(DeliveryCategory.UNKNOWN, f"Feishu's answer: {problem}") from None
        read = self._convert_messages(reversed(found), {sender.id: sender for sender in senders})
        return PartialHistory(read) if has_older else [*read]

    async def _list_before(self, topic: str, before: str, limit: int) -> tuple[list[Json], bool]:
        """List people's messages in a topic before that message, newest first, and whether there may be more.

        Feishu accepts no time bounds there, so the topic is read from its end.
        """
        found: list[Json] = []
        page, passed = "", False
        for _ in range(MOST_PAGES):
            items, page = await self._read_page(topic, page)
            for item in items:
                if passed and _is_by_person(item):
                    found.append(item)
                passed = passed or get_string(item, "message_id") == before
            if not page or len(found) >= limit:
                break
        return found[:limit], bool(page) or len(found) > limit

    async def _read_page(self, topic: str, page: str) -> tuple[list[Json], str]:
        """Return a page of the topic, and the token of the one before it ("" for none)."""
        query = {"container_id_type": "thread", "container_id": topic, "sort_type": "ByCreateTimeDesc"}
        query |= {"page_size": str(PAGE), **({"page_token": page} if page else {})}
        try:
            answer = await self._client.call("GET", "im/v1/messages", query=query)
        except FeishuError as problem:
            raise delivery_error(problem, posting=False) from None
        following = get_string(answer.data, "page_token") if answer.data.get("has_more") is True else ""
        return get_objects(answer.data, "items"), following

    async def _find_sender(self, open_id: str, message: Json) -> Sender:
        sender = get_object(message, "sender")
        person, tenant = await self._people.find_person(open_id), get_string(sender, "tenant_key")
        departments = tuple(f"department:{one}" for one in person.departments)
        belongs = (*((f"team:{tenant}",) if tenant else ()), *departments)
        return Sender(open_id, person.name or get_string(sender, "sender_name"), belongs=belongs)

    def _convert_messages(
        self, messages: Iterator[Json], senders: dict[str, Sender]
    ) -> Iterator[HistoryMessage]:
        """Convert the readable messages."""
        for message in messages:
            try:
                content = read_content(to_event_form(message), self._identity.open_id)
                at = read_time(message, "create_time")
                link = get_string(message, "message_app_link")
            except Malformed:
                continue
            sender = senders[get_string(get_object(message, "sender"), "id")]
            quotations = (UNREAD,) if content.forwarded else ()
            yield HistoryMessage(
                require_string(message, "message_id"), sender, content.text, at, link, quotations
            )


def _is_by_person(message: Json) -> bool:
    """Return True where a person wrote the message and has not recalled it."""
    sender = get_object(message, "sender")
    is_person = get_string(sender, "sender_type") == "user" and bool(get_string(sender, "id"))
    return is_person and message.get("deleted") is not True and bool(get_string(message, "message_id"))
