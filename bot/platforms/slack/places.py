"""What is asked of Slack about people and threads, each once: names, thread roots, who is answered where."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Generic, TypeVar

import structlog

from bot.domain import ChatKind, ReplyAddress
from bot.platforms.payload import Json
from bot.platforms.slack.client import Client
from bot.platforms.slack.failures import CALL_ERRORS, reason

log = structlog.get_logger(__name__)
V = TypeVar("V")

ASK_SECONDS = 1.5
"""Slack waits 3 s for the acknowledgement of an event."""


class Recent(Generic[V]):
    """The values used last, by key; older ones are forgotten."""

    def __init__(self, most: int = 4096) -> None:
        self._most = most
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        """The value, None where unknown."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: str, value: V) -> None:
        """Keep a value."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def pop(self, key: str) -> V | None:
        """Forget a value."""
        return self._values.pop(key, None)


class Places:
    """Remembers for one account; everything can be asked again after a restart."""

    def __init__(self, client: Client, bot: str) -> None:
        self._client = client
        self._bot = bot
        self._names: Recent[str] = Recent()
        self._threads: Recent[bool] = Recent()
        self._asked: Recent[tuple[str, str]] = Recent()
        self._direct: Recent[str] = Recent()
        self._responses: Recent[str] = Recent(256)

    async def name(self, user: str) -> str:
        """The name that a person goes by, "" where Slack does not tell."""
        known = self._names.get(user)
        if known is not None:
            return known
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.web.users_info(user=user)
        except CALL_ERRORS as error:
            log.info("slack.name_unknown", reason=reason(error) or type(error).__name__)
            return ""
        name = _name(answer.get("user"))
        self._names.put(user, name)
        return name

    async def ours(self, chat: str, thread: str) -> bool:
        """Whether a thread was begun with the bot: then what follows in it is meant for it.

        Raises what the call raises where Slack does not answer; False where it refuses.
        """
        key = f"{chat}:{thread}"
        known = self._threads.get(key)
        if known is not None:
            return known
        async with asyncio.timeout(ASK_SECONDS):
            answer = await self._client.web.conversations_replies(channel=chat, ts=thread, limit=1)
        messages = answer.get("messages") or []
        root = messages[0] if messages and isinstance(messages[0], dict) else {}
        begun = root.get("user") == self._bot or f"<@{self._bot}" in str(root.get("text", ""))
        self._threads.put(key, begun)
        return begun

    def began(self, chat: str, thread: str) -> None:
        """A mention opened this thread."""
        self._threads.put(f"{chat}:{thread}", True)

    async def direct(self, user: str) -> str:
        """The bot's own direct message with a person."""
        known = self._direct.get(user)
        if known is None:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.web.conversations_open(users=user)
            known = str((answer.get("channel") or {}).get("id") or "")
            self._direct.put(user, known)
        return known

    def asked(self, chat: str, topic: str, user: str, team: str) -> None:
        """Somebody wrote there: an answer streams to them."""
        self._asked.put(f"{chat}:{topic}", (user, team))

    def recipient(self, address: ReplyAddress) -> tuple[str, str] | None:
        """Person and workspace that an answer there streams to; needed outside direct messages."""
        found = self._asked.get(f"{address.chat}:{address.topic}")
        if found is None and address.chat_kind is ChatKind.PRIVATE:
            return "", ""
        return found

    def may_respond(self, message: str, url: str) -> None:
        """A command can be answered at this address for half an hour."""
        self._responses.put(message, url)

    def response(self, message: str) -> str:
        """The response URL of a command, "" where there is none."""
        return self._responses.get(message) or ""


def _name(user: object) -> str:
    person: Json = user if isinstance(user, dict) else {}
    profile = person.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    for found in (profile.get("display_name"), profile.get("real_name"), person.get("name")):
        if isinstance(found, str) and found:
            return found
    return ""
