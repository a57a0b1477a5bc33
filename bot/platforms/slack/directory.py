"""Cached lookups about people and threads: names, thread roots, recipients of answers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from bot.clock import Clock
from bot.domain import ChatKind, ReplyAddress, Sender
from bot.platforms.payload import Json
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS, refusal_name
from bot.platforms.slack.usergroups import UserGroups

log = structlog.get_logger(__name__)
V = TypeVar("V")

ASK_SECONDS = 1.5
"""Slack waits 3 s for the acknowledgement of an event."""
KNOWN_SECONDS = 3600.0
"""Lifetime of a cached person (s)."""


class RecentValues(Generic[V]):
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


@dataclass(frozen=True, slots=True)
class SlackPerson:
    """Somebody as Slack describes them; one whom it does not describe counts as a guest of no workspace."""

    name: str = ""
    teams: tuple[str, ...] = ()
    guest: bool = True
    asked_at: float = 0.0


class SlackDirectory:
    """Remembers for one account; everything can be asked again after a restart."""

    def __init__(
        self, client: SlackClient, bot: str, team: str, clock: Clock, groups: UserGroups | None = None
    ) -> None:
        self._client = client
        self._groups = groups
        self._bot = bot
        self._team = team
        self._clock = clock
        self._people: RecentValues[SlackPerson] = RecentValues()
        self._threads: RecentValues[bool] = RecentValues()
        self._asked: RecentValues[tuple[str, str]] = RecentValues()
        self._direct: RecentValues[str] = RecentValues()
        self._responses: RecentValues[str] = RecentValues(256)
        self._alone: RecentValues[bool] = RecentValues(256)

    async def find_sender(self, user: str, name: str = "") -> Sender:
        """A person with what Slack tells of them."""
        known = await self._person(user)
        teams = tuple(f"team:{team}" for team in known.teams)
        groups = await self._groups.find_groups(user) if self._groups is not None else ()
        belongs = (*teams, *(f"usergroup:{group}" for group in groups))
        return Sender(user, name or known.name, belongs=belongs, guest=known.guest)

    async def _person(self, user: str) -> SlackPerson:
        now = self._clock.now()
        known = self._people.get(user)
        if known is not None and now - known.asked_at < KNOWN_SECONDS:
            return known
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.web.users_info(user=user)
        except CALL_ERRORS as error:
            log.info("slack.person_unknown", reason=refusal_name(error) or type(error).__name__)
            return known or SlackPerson()
        found = read_person(answer.get("user"), self._team, now)
        self._people.put(user, found)
        return found

    async def is_own_thread(self, chat: str, thread: str) -> bool:
        """Return True for a thread that was begun with the bot, so that its messages are addressed to it.

        Raises the call's errors where Slack does not answer; False where it refuses.
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

    def note_own_thread(self, chat: str, thread: str) -> None:
        """A mention opened this thread."""
        self._threads.put(f"{chat}:{thread}", True)

    async def find_direct_chat(self, user: str) -> str:
        """The bot's own direct message with a person."""
        known = self._direct.get(user)
        if known is None:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.web.conversations_open(users=user)
            known = str((answer.get("channel") or {}).get("id") or "")
            self._direct.put(user, known)
        return known

    def note_asker(self, chat: str, topic: str, user: str, team: str) -> None:
        """Somebody wrote there: an answer streams to them."""
        self._asked.put(f"{chat}:{topic}", (user, team))

    def find_recipient(self, address: ReplyAddress) -> tuple[str, str] | None:
        """Person and workspace that an answer there streams to; needed outside direct messages."""
        found = self._asked.get(f"{address.chat}:{address.topic}")
        if found is None and address.chat_kind is ChatKind.PRIVATE:
            return "", ""
        return found

    def note_response_url(self, message: str, url: str) -> None:
        """A command can be answered at this address for half an hour."""
        self._responses.put(message, url)

    def note_private_answer(self, message: str) -> None:
        """Record that the answer to this command is for its sender only."""
        self._alone.put(message, True)

    def is_answered_privately(self, message: str) -> bool:
        """Return True where the answer to this command is for its sender only."""
        return self._alone.get(message) or False

    def find_response_url(self, message: str) -> str:
        """The response URL of a command, "" where there is none."""
        return self._responses.get(message) or ""


def read_person(user: object, team: str, now: float) -> SlackPerson:
    """Read a user object of `users.info`; members of an organization belong to all their workspaces
    (`enterprise_user`).
    """
    person: Json = user if isinstance(user, dict) else {}
    teams = [person.get("team_id"), *(_get_dict(person, "enterprise_user").get("teams") or ())]
    theirs = tuple(dict.fromkeys(one for one in teams if isinstance(one, str) and one))
    limited = any(person.get(key) for key in ("is_restricted", "is_ultra_restricted", "is_stranger"))
    return SlackPerson(_display_name(person), theirs, limited or team not in theirs, now)


def _display_name(person: Json) -> str:
    profile = _get_dict(person, "profile")
    for found in (profile.get("display_name"), profile.get("real_name"), person.get("name")):
        if isinstance(found, str) and found:
            return found
    return ""


def _get_dict(of: Json, key: str) -> Json:
    found = of.get(key)
    return found if isinstance(found, dict) else {}
