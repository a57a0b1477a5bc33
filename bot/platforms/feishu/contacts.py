"""Looks up what events omit, with bounded caches: people's names, and authors of replied-to messages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import ChatDescription
from bot.platforms.chat_descriptions import ChatDescriptions
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.errors import FeishuError
from bot.platforms.payload import Json

log = structlog.get_logger(__name__)

ASK_SECONDS = 0.8
"""An event must be acknowledged within 3 s, so no question about it may take longer."""
PAUSE = 300.0
"""Seconds without lookups after a refusal (usually a missing scope)."""
REMEMBERED = 4096
KNOWN_SECONDS = 3600.0
"""Lifetime of a cached person (s)."""


@dataclass(frozen=True, slots=True)
class FeishuPerson:
    """Somebody as Feishu describes them: `departments` are open ids, told where the app may read them
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
    """Read the answer of im-v1 chat/get; it gives the number of people as text."""
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
        self._groups = ChatDescriptions(clock)
        self._silent_until = 0.0

    async def find_person(self, open_id: str) -> FeishuPerson:
        """Return Feishu's data about a person; empty where it cannot be read."""
        now, known = self._clock.now(), self._known.get(open_id)
        if known is not None and now - known.asked_at < KNOWN_SECONDS:
            return known
        if now < self._silent_until:
            return FeishuPerson(known.name if known is not None else "")
        query = {"user_id_type": "open_id", "department_id_type": "open_department_id"}
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.call(
                    "GET", f"contact/v3/users/{quote(open_id, safe='')}", query=query
                )
        except (FeishuError, TimeoutError) as problem:
            self._silent_until = now + PAUSE
            log.info("feishu.person_unknown", reason=str(problem) or "no answer in time")
            return FeishuPerson(known.name if known is not None else "")
        user = answer.data.get("user")
        found = read_person(user if isinstance(user, dict) else {}, now)
        self._known.put(open_id, found)
        return found

    async def describe_chat(self, chat: str) -> ChatDescription:
        """Return the name of a group as far as Feishu answers in time (im-v1 chat/get, which needs the scope
        im:chat:readonly).
        """
        return self._groups.get(chat) or await self._groups.update(chat, self._look_up_group(chat))

    async def _look_up_group(self, chat: str) -> ChatDescription | None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.call("GET", f"im/v1/chats/{quote(chat, safe='')}")
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
            async with asyncio.timeout(ASK_SECONDS):
                found = await self.find_message(message_id)
        except TimeoutError:
            return False
        return found is not None and self._is_by_bot(found)

    async def find_others_message(self, message_id: str) -> Json | None:
        """Return a message as the API describes it; None for the bot's own, and where it can't be read."""
        if self._own.get(message_id):
            return None
        found = await self.find_message(message_id)
        return None if found is None or self._is_by_bot(found) else found

    async def find_message(self, message_id: str) -> Json | None:
        """Return a message as the API describes it, None where it can't be read."""
        try:
            answer = await self._client.call("GET", f"im/v1/messages/{quote(message_id, safe='')}")
        except FeishuError:
            return None
        items = answer.data.get("items")
        found = items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}
        self._own.put(message_id, self._is_by_bot(found))
        return found

    def _is_by_bot(self, message: Json) -> bool:
        sender = message.get("sender")
        return (
            isinstance(sender, dict)
            and sender.get("sender_type") == "app"
            and sender.get("id") in self._bot_ids
        )

    def note_private_chat(self, open_id: str, chat: str) -> None:
        """Record the p2p chat of a person."""
        self._chats.put(open_id, chat)

    def find_private_chat(self, open_id: str) -> str:
        """Return the p2p chat of a person, or their open id, which is a valid address too."""
        return self._chats.get(open_id) or open_id
