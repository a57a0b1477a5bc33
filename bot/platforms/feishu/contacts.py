"""Lookups of data missing in events, with bounded caches: names of people, apps and groups, and messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import ChatDescription
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.chat_descriptions import ChatDescriptions
from bot.platforms.feishu import requests
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.errors import FeishuError, FeishuRefused, delivery_error
from bot.platforms.feishu.lookups import FeishuLookups, NotAsked
from bot.platforms.feishu.mentions import FeishuNames
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string

T = TypeVar("T")
log = structlog.get_logger(__name__)

PAUSE = 300.0
"""Seconds without lookups after a refusal (usually a missing scope)."""
REMEMBERED = 4096
KNOWN_SECONDS = 3600.0
"""Lifetime of a cached person (s)."""
MAX_PEOPLE = 20
"""Number of people whose names are looked up for one message."""
MAX_GROUPS = 5
MAX_PAGES = 10
"""Maximum number of pages to read of a department."""
_UNKNOWN_PERSON = frozenset({41050, 99992361})
"""The app may not see this person, or the id is that of another app; it may see others."""
_UNREADABLE = frozenset({230027, 230110})
"""The app may not read messages of the group (im:message.group_msg), or the message was deleted."""


@dataclass(frozen=True, slots=True)
class FeishuPerson:
    """A person as described by Feishu; `departments` are open ids, if the app may read them
    (contact:user.department:readonly).
    """

    name: str = ""
    departments: tuple[str, ...] = ()
    asked_at: float = 0.0


def read_person(user: Json, now: float) -> FeishuPerson:
    """Read a user object of `contact/v3/users`."""
    found = user.get("department_ids")
    departments = tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
    return FeishuPerson(str(user.get("name") or ""), departments, now)


def read_chat(data: Json) -> ChatDescription:
    """Read a response of im-v1 chat/get, which contains the number of people as text."""
    name, people, kind = data.get("name"), data.get("user_count"), data.get("chat_type")
    count = int(people) if isinstance(people, str) and people.isascii() and people.isdecimal() else 0
    visibility = kind if kind in ("public", "private") else ""
    return ChatDescription(name if isinstance(name, str) else "", count, str(visibility))


class FeishuContacts:
    """People by open id, p2p chats by open id, and the ids of the bot's own messages. `bot_ids` are the app
    id and the bot's open id: messages name it by either.
    """

    def __init__(self, client: FeishuClient, clock: Clock, bot_ids: frozenset[str]) -> None:
        self._client = client
        self._bot_ids = bot_ids
        self._clock = clock
        self._known: RecentValues[FeishuPerson] = RecentValues(REMEMBERED)
        self._chats: RecentValues[str] = RecentValues(REMEMBERED)
        self._own: RecentValues[bool] = RecentValues(REMEMBERED)
        self._unread_chats: RecentValues[bool] = RecentValues(REMEMBERED)
        self._started_topics: RecentValues[bool] = RecentValues(REMEMBERED)
        self._unreadable: RecentValues[tuple[float, FeishuRefused]] = RecentValues(REMEMBERED)
        self._apps: RecentValues[str] = RecentValues(REMEMBERED)
        self._groups = ChatDescriptions(clock)
        self._lookups = FeishuLookups(clock)
        self._silent_until = 0.0

    async def find_person(self, open_id: str) -> FeishuPerson:
        """Return Feishu's data about a person, or an empty object if it cannot be read."""
        now, known = self._clock.now(), self._known.get(open_id)
        if known is not None and now - known.asked_at < KNOWN_SECONDS:
            return known
        if now < self._silent_until:
            return FeishuPerson(known.name if known is not None else "")
        try:
            request = requests.describe_person(open_id)
            answer = await self._lookups.ask(f"person:{open_id}", lambda: self._client.send(request))
        except (FeishuError, TimeoutError) as problem:
            if isinstance(problem, FeishuRefused) and problem.code in _UNKNOWN_PERSON:
                self._known.put(open_id, FeishuPerson(asked_at=now))
                return FeishuPerson()
            if isinstance(problem, FeishuRefused):
                self._silent_until = now + PAUSE
            log.info("feishu.person_unknown", reason=str(problem) or "no answer in time")
            return FeishuPerson(known.name if known is not None else "")
        user = answer.data.get("user")
        found = read_person(user if isinstance(user, dict) else {}, now)
        self._known.put(open_id, found)
        return found

    async def list_department(self, department: str) -> dict[str, str]:
        """Return the open ids and names of the people directly in a department. Raises DeliveryError."""
        found: dict[str, str] = {}
        page = ""
        try:
            for _ in range(MAX_PAGES):
                data = (await self._client.send(requests.list_department(department, page))).data
                for user in get_objects(data, "items"):
                    found[get_string(user, "open_id")] = get_string(user, "name")
                page = get_string(data, "page_token") if data.get("has_more") is True else ""
                if not page:
                    return found
        except FeishuError as problem:
            raise delivery_error(problem, posting=False) from None
        except Malformed as problem:
            raise DeliveryError(DeliveryCategory.UNKNOWN, f"unreadable response: {problem}") from None
        raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"more than {len(found)} people")

    async def read_named(self, read: Callable[[FeishuNames], T]) -> T:
        """Call `read` without names, then again with those it requested. Raises the exceptions of `read`."""
        asked = FeishuNames()
        found = read(asked)
        people, groups = [*asked.missing_people][:MAX_PEOPLE], [*asked.missing_groups][:MAX_GROUPS]
        if not people and not groups:
            return found
        known, described = await asyncio.gather(
            asyncio.gather(*map(self.find_person, people)), asyncio.gather(*map(self.describe_chat, groups))
        )
        names = {open_id: one.name for open_id, one in zip(people, known, strict=True)}
        titles = {chat: one.title for chat, one in zip(groups, described, strict=True)}
        return read(FeishuNames(names, titles))

    async def find_app_name(self, open_id: str, message_id: str) -> str:
        """Return the name of the app that sent a message, or "" if it can't be read in time."""
        known = self._apps.get(open_id)
        if known is not None:
            return known
        try:
            found = await self._lookups.ask(f"app:{open_id}", lambda: self._request_messages(message_id))
            [sent, *_] = found or [{}]
            name = get_string(get_object(sent, "sender"), "sender_name")
        except (FeishuError, TimeoutError, Malformed) as problem:
            log.info("feishu.app_unknown", reason=str(problem) or "no answer in time")
            return ""
        self._apps.put(open_id, name)
        return name

    async def describe_chat(self, chat: str) -> ChatDescription:
        """Return a group's name if Feishu responds in time (im-v1 chat/get, which needs the scope
        im:chat:readonly).
        """
        try:
            return self._groups.get(chat) or await self._groups.update(chat, self._look_up_group(chat))
        except NotAsked:
            return ChatDescription()

    async def _look_up_group(self, chat: str) -> ChatDescription | None:
        try:
            request = requests.describe_chat(chat)
            answer = await self._lookups.ask(f"chat:{chat}", lambda: self._client.send(request))
        except NotAsked:
            raise
        except (FeishuError, TimeoutError) as problem:
            log.info("feishu.chat_unknown", reason=str(problem) or "no answer in time")
            return None
        return read_chat(answer.data)

    def note_own_message(self, message_id: str) -> None:
        """Record the id of one of the bot's messages."""
        self._own.put(message_id, True)

    async def is_own(self, message_id: str) -> bool:
        """Return True for the bot's own message; older ones are looked up."""
        known = self._own.get(message_id)
        if known is not None:
            return known
        try:
            await self.fetch_messages(message_id)
        except (FeishuError, TimeoutError, Malformed):
            return False
        return self._own.get(message_id) is True

    def is_known_own(self, message_id: str) -> bool:
        """Return whether a message is known to be the bot's own."""
        return self._own.get(message_id) is True

    async def fetch_messages(self, message_id: str) -> list[Json]:
        """Return a message as described by the API, followed by contained messages. Raises FeishuError,
        TimeoutError, or Malformed.

        A message that the app may not read is not asked for again for PAUSE seconds.
        """
        until, known = self._unreadable.get(message_id) or (0.0, None)
        if known is not None and self._clock.now() < until:
            raise FeishuRefused(known.status, known.code, known.msg)
        try:
            return await self._lookups.ask(
                f"message:{message_id}", lambda: self._request_messages(message_id)
            )
        except FeishuRefused as refused:
            if refused.code in _UNREADABLE:
                self._unreadable.put(message_id, (self._clock.now() + PAUSE, refused))
            raise

    async def _request_messages(self, message_id: str) -> list[Json]:
        answer = await self._client.send(requests.read_message(message_id))
        items = get_objects(answer.data, "items")
        self._own.put(message_id, bool(items) and self.is_by_bot(items[0]))
        return items

    def is_by_bot(self, message: Json) -> bool:
        """Return whether the bot sent an API message."""
        sender = message.get("sender")
        sender = sender if isinstance(sender, dict) else {}
        return not self._bot_ids.isdisjoint(
            one for one in (sender.get("id"), sender.get("open_bot_id")) if isinstance(one, str)
        )

    def is_bot(self, identity: str) -> bool:
        """Return whether an id belongs to the bot or its app."""
        return identity in self._bot_ids

    def note_history(self, chat: str, *, readable: bool) -> None:
        """Record whether the app may read the history of topics in a chat (im:message.group_msg)."""
        self._unread_chats.put(chat, not readable)

    def lacks_start(self, chat: str, topic: str) -> bool:
        """Return whether the app is known to lack access to a topic's history, until `note_start`: its first
        message must be fetched separately.
        """
        return bool(self._unread_chats.get(chat)) and topic not in self._started_topics

    def note_start(self, topic: str) -> None:
        """Note that the first message of a topic is stored with a message of its conversation."""
        self._started_topics.put(topic, True)

    def note_private_chat(self, open_id: str, chat: str) -> None:
        """Record the p2p chat of a person."""
        self._chats.put(open_id, chat)

    def find_private_chat(self, open_id: str) -> str:
        """Return the p2p chat of a person, or their open id, which is a valid address too."""
        return self._chats.get(open_id) or open_id
