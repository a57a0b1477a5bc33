"""Cached lookups about people, user groups and threads."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from functools import partial

import structlog

from bot.clock import Clock
from bot.core.joined_lookups import JoinedLookups, LookupResult
from bot.core.recent_values import RecentValues
from bot.domain import ChatDescription, ChatKind, ReplyAddress, Sender
from bot.platforms.chat_descriptions import CACHE_SECONDS, RETRY_SECONDS
from bot.platforms.payload import Json, Malformed, get_objects, get_string, get_strings
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS, delivery_error, refusal_name

log = structlog.get_logger(__name__)

REMEMBERED = 4096
LOOKUP_SECONDS = 1.2
"""Maximum duration of a lookup: Slack waits 3 s for the acknowledgement of an event, which may take two of
them one after the other.
"""
PERSON_SECONDS = 3600.0
"""Lifetime of a cached person (s)."""
UNKNOWN_SECONDS = 60.0
"""Seconds without another lookup after one that found nothing."""
_NOBODY = frozenset({"user_not_found", "user_not_visible"})
"""Errors of users.info for a person who does not exist, as opposed to a failed call."""
GROUPS_SCOPE = "usergroups:read"
GROUPS_SECONDS = 600.0
"""Lifetime of the cached user groups (s)."""
MAX_NAMES = 20
"""Maximum number of people whose names are looked up for one user group."""
GROUPS_RETRY_SECONDS = 60.0
"""Seconds without lookups of user groups after a refusal."""


class SlackUserGroups:
    """User groups of a workspace, which access rules may refer to (`usergroups.list`, tier 2).

    Without its scope (`granted`) nobody is in a group.
    """

    def __init__(self, client: SlackClient, clock: Clock, *, granted: bool) -> None:
        self._client = client
        self._clock = clock
        self._granted = granted
        self._members: dict[str, tuple[str, ...]] = {}
        self._handles: dict[str, str] = {}
        self._next = 0.0
        self._asking = asyncio.Lock()

    @property
    def is_fresh(self) -> bool:
        """Return whether no lookup is due."""
        return not self._granted or self._clock.now() < self._next

    async def find_groups(self, user: str) -> tuple[str, ...]:
        """Return the ids of a person's known groups."""
        await self._refresh()
        return self._members.get(user, ())

    async def find_handle(self, group: str) -> str:
        """Return a group's handle, or "" if unknown."""
        await self._refresh()
        return self._handles.get(group, "")

    async def _refresh(self) -> None:
        if not self.is_fresh:
            async with self._asking:
                if not self.is_fresh:
                    await self._reload()

    async def _reload(self) -> None:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answer = await self._client.web.usergroups_list(include_users=True)
            data = answer.data if isinstance(answer.data, dict) else {}
            self._members, self._handles = read_memberships(data), read_handles(data)
            self._next = self._clock.now() + GROUPS_SECONDS
        except (*CALL_ERRORS, Malformed) as error:
            log.info("slack.usergroups_unknown", reason=type(error).__name__)
            self._next = self._clock.now() + GROUPS_RETRY_SECONDS


def read_memberships(answer: Json) -> dict[str, tuple[str, ...]]:
    """Return each person's groups from a response of `usergroups.list`."""
    found: dict[str, tuple[str, ...]] = {}
    for group in get_objects(answer, "usergroups"):
        if group.get("date_delete"):
            continue
        for user in get_strings(group, "users"):
            found[user] = (*found.get(user, ()), get_string(group, "id"))
    return found


def read_handles(answer: Json) -> dict[str, str]:
    """Return the handle of each group."""
    groups = get_objects(answer, "usergroups")
    return {get_string(one, "id"): get_string(one, "handle") or get_string(one, "name") for one in groups}


@dataclass(frozen=True, slots=True)
class SlackPerson:
    """A person as described by Slack; an unknown person counts as a guest without a workspace."""

    name: str = ""
    teams: tuple[str, ...] = ()
    guest: bool = True
    locale: str = ""


class SlackDirectory:
    """Caches an account's lookups, all of which can be repeated after a restart. Simultaneous identical
    lookups share one call.

    `teams` are the bot's workspace and the organization that it belongs to: their people are no guests.
    """

    def __init__(
        self, client: SlackClient, bot: str, teams: frozenset[str], clock: Clock, groups: SlackUserGroups
    ) -> None:
        self._client = client
        self._groups = groups
        self._bot = bot
        self._teams = teams
        self._people: JoinedLookups[SlackPerson] = JoinedLookups(clock.now, REMEMBERED)
        self._threads: JoinedLookups[bool] = JoinedLookups(clock.now, REMEMBERED)
        self._channels: JoinedLookups[ChatDescription] = JoinedLookups(clock.now, REMEMBERED)
        self._asked: RecentValues[tuple[str, str]] = RecentValues(REMEMBERED)
        self._direct: JoinedLookups[str] = JoinedLookups(clock.now, REMEMBERED)
        self._responses: RecentValues[str] = RecentValues(256)
        self._alone: RecentValues[bool] = RecentValues(256)

    async def find_sender(self, user: str, name: str = "") -> Sender:
        """Return a person with name, workspaces and groups, if Slack responds in time."""
        if self._groups.is_fresh:
            known, groups = await self._fetch_person(user), await self._groups.find_groups(user)
        else:
            known, groups = await asyncio.gather(self._fetch_person(user), self._groups.find_groups(user))
        teams = tuple(f"team:{team}" for team in known.teams)
        belongs = (*teams, *(f"usergroup:{group}" for group in groups))
        return Sender(user, name or known.name, belongs=belongs, guest=known.guest, locale=known.locale)

    async def list_group(self, group: str) -> dict[str, str]:
        """Return the ids and names of a user group's people (`usergroups.users.list`, tier 2).

        Raises DeliveryError.
        """
        try:
            answer = await self._client.web.usergroups_users_list(usergroup=group)
        except CALL_ERRORS as error:
            raise delivery_error(error, posting=False) from None
        users = get_strings(answer.data if isinstance(answer.data, dict) else {}, "users")
        names = await asyncio.gather(*map(self.find_name, users[:MAX_NAMES]))
        return {**dict.fromkeys(users, ""), **dict(zip(users, names, strict=False))}

    async def find_name(self, user: str) -> str:
        """Return a person's name, or "" if Slack does not respond in time."""
        return (await self._fetch_person(user)).name

    async def _fetch_person(self, user: str) -> SlackPerson:
        return await self._people.find(user, partial(self._look_up_person, user))

    async def _look_up_person(self, user: str) -> LookupResult[SlackPerson]:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answer = await self._client.web.users_info(user=user, include_locale=True)
        except CALL_ERRORS as error:
            refusal = refusal_name(error)
            log.info("slack.person_unknown", reason=refusal or type(error).__name__)
            # A call that failed is repeated with the next message: who is unknown has no access by a group.
            seconds = UNKNOWN_SECONDS if refusal in _NOBODY else 0.0
            return LookupResult(self._people.get_last(user) or SlackPerson(), seconds)
        return LookupResult(read_person(answer.get("user"), self._teams), PERSON_SECONDS)

    async def describe_channel(self, channel: str) -> ChatDescription:
        """Return a channel's name if Slack responds in time (`conversations.info`, tier 3)."""
        return await self._channels.find(channel, partial(self._look_up_channel, channel))

    async def _look_up_channel(self, channel: str) -> LookupResult[ChatDescription]:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answer = await self._client.web.conversations_info(channel=channel, include_num_members=True)
        except CALL_ERRORS as error:
            log.info("slack.channel_unknown", reason=refusal_name(error) or type(error).__name__)
            return LookupResult(self._channels.get_last(channel) or ChatDescription(), RETRY_SECONDS)
        return LookupResult(read_channel(answer.get("channel")), CACHE_SECONDS)

    async def is_own_thread(self, chat: str, thread: str) -> bool:
        """Return whether a thread was started by the bot or a person's mention of it, so that its messages
        address the bot. A mention by an app does not count.

        Raises the errors of the call.
        """
        return await self._threads.find(f"{chat}:{thread}", partial(self._look_up_thread, chat, thread))

    async def _look_up_thread(self, chat: str, thread: str) -> LookupResult[bool]:
        async with asyncio.timeout(LOOKUP_SECONDS):
            answer = await self._client.web.conversations_replies(channel=chat, ts=thread, limit=1)
        messages = answer.get("messages") or []
        root = messages[0] if messages and isinstance(messages[0], dict) else {}
        called = f"<@{self._bot}" in str(root.get("text", "")) and not root.get("bot_id")
        return LookupResult(root.get("user") == self._bot or called, math.inf)

    def note_own_thread(self, chat: str, thread: str) -> None:
        """Record a thread that a mention of the bot opened."""
        self._threads.put(f"{chat}:{thread}", True, math.inf)

    async def find_direct_chat(self, user: str) -> str:
        """Return the bot's direct message channel with a person, or "" if there is none. Raises the call's
        errors.
        """
        return await self._direct.find(user, partial(self._open_direct_chat, user))

    async def _open_direct_chat(self, user: str) -> LookupResult[str]:
        async with asyncio.timeout(LOOKUP_SECONDS):
            answer = await self._client.web.conversations_open(users=user)
        return LookupResult(str((answer.get("channel") or {}).get("id") or ""), math.inf)

    def note_asker(self, chat: str, topic: str, user: str, team: str) -> None:
        """Record the person to whom a thread's next answer streams."""
        self._asked.put(f"{chat}:{topic}", (user, team))

    def find_recipient(self, address: ReplyAddress) -> tuple[str, str] | None:
        """Return the person and workspace to whom an answer streams; both "" in direct messages."""
        found = self._asked.get(f"{address.chat}:{address.topic}")
        if found is None and address.chat_kind is ChatKind.PRIVATE:
            return "", ""
        return found

    def note_response_url(self, message: str, url: str) -> None:
        """Record the address for answering a command, valid for half an hour."""
        self._responses.put(message, url)

    def note_private_answer(self, message: str) -> None:
        """Record that only the sender of this command may see its answer."""
        self._alone.put(message, True)

    def is_answered_privately(self, message: str) -> bool:
        """Return whether only the sender of this command may see its answer."""
        return self._alone.get(message) or False

    def find_response_url(self, message: str) -> str:
        """Return the response URL of a command, or "" if there is none."""
        return self._responses.get(message) or ""


def read_channel(channel: object) -> ChatDescription:
    """Parse a channel object of `conversations.info`. A group direct message has no name of its own."""
    found: Json = channel if isinstance(channel, dict) else {}
    name, people = found.get("name"), found.get("num_members")
    if not isinstance(name, str) or not name or found.get("is_mpim") is True:
        return ChatDescription()
    visibility = "private" if found.get("is_private") is True else "public"
    return ChatDescription(f"#{name}", people if type(people) is int else 0, visibility)


def read_person(user: object, teams: frozenset[str]) -> SlackPerson:
    """Parse a user object of `users.info`. Members of an organization belong to it and to all their
    workspaces (`enterprise_user`); a person without any of `teams` is from another organization.
    """
    person: Json = user if isinstance(user, dict) else {}
    member = _get_dict(person, "enterprise_user")
    workspaces = member.get("teams")
    listed = workspaces if isinstance(workspaces, list) else []
    named = [person.get("team_id"), *listed, member.get("enterprise_id")]
    theirs = tuple(dict.fromkeys(one for one in named if isinstance(one, str) and one))
    limited = any(person.get(key) for key in ("is_restricted", "is_ultra_restricted", "is_stranger"))
    locale = person.get("locale")
    is_guest = limited or teams.isdisjoint(theirs)
    return SlackPerson(_display_name(person), theirs, is_guest, locale if isinstance(locale, str) else "")


def _display_name(person: Json) -> str:
    profile = _get_dict(person, "profile")
    for found in (profile.get("display_name"), profile.get("real_name"), person.get("name")):
        if isinstance(found, str) and found:
            return found
    return ""


def _get_dict(of: Json, key: str) -> Json:
    found = of.get(key)
    return found if isinstance(found, dict) else {}
