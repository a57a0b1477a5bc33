"""Lookups of data that messages refer to without containing it: names for ids, and replied-to messages.

A lookup is an extra: there are few for each message, together they take a bounded time, and what they find
(or that they fail) is remembered. The reader of a message shows a general word for what is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.platforms.discord.channel_cache import CachedChannel, read_channel
from bot.platforms.discord.names import (
    MENTIONED,
    KnownNames,
    contained_messages,
    is_forward,
    refers_to,
)
from bot.platforms.discord.notices import CONTEXT_COMMAND, PINNED, REPLY
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.snowflake import snowflake
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_objects, get_string

log = structlog.get_logger(__name__)

MAX_FOR_MESSAGE, MAX_AT_ONCE = 10, 40
"""Lookups for one message, and for all messages that are read together."""
SECONDS = 0.8
"""For the lookups of messages that are read together. A command that waits behind them has to be acknowledged
within three seconds (docs.discord.com/developers/interactions/receiving-and-responding)."""
VALID_SECONDS, RETRY_SECONDS = 3600.0, 60.0
"""Until a name is looked up again, and after a lookup that failed."""
REMEMBERED = 4096

LookUp = Callable[[], Awaitable[None]]


class DiscordLookups:
    """Adds data referenced by messages to `known`."""

    def __init__(self, rest: DiscordRest, known: KnownNames, clock: Clock) -> None:
        self._rest = rest
        self._known = known
        self._clock = clock
        self._asked: RecentValues[float] = RecentValues(REMEMBERED)

    async def prepare(self, messages: Iterable[tuple[Json, CachedChannel]]) -> None:
        """Look up unknown data for messages, each with its channel, ignoring failures."""
        wanted: dict[str, LookUp] = {}
        for message, place in messages:
            with suppress(Malformed):  # its reader says so
                found = [one for one in self._list_wanted(message, place) if self._is_due(one[0])]
                wanted |= dict(found[:MAX_FOR_MESSAGE])
        chosen = dict(list(wanted.items())[:MAX_AT_ONCE])
        if not chosen:
            return
        retry_at = self._clock.now() + RETRY_SECONDS
        for key in chosen:
            self._asked.put(key, retry_at)
        try:
            async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
                for key, look_up in chosen.items():
                    group.create_task(self._try(key, look_up), name=f"look up {key}")
        except TimeoutError:
            log.info("discord.lookups_slow", count=len(chosen))

    async def _try(self, key: str, look_up: LookUp) -> None:
        try:
            await look_up()
        except (discord.DiscordException, Malformed) as error:
            log.info("discord.lookup_failed", kind=key.partition(":")[0], reason=type(error).__name__)
            return
        self._asked.put(key, self._clock.now() + VALID_SECONDS)

    def _is_due(self, key: str) -> bool:
        until = self._asked.get(key)
        return until is None or until <= self._clock.now()

    def _list_wanted(self, message: Json, place: CachedChannel) -> Iterator[tuple[str, LookUp]]:
        """Yield the lookups for a message by key, the most useful first. Raises Malformed."""
        yield from self._find_referred(message, place)
        if place.guild:
            yield from self._find_tags(message, place)
            yield from self._find_mentioned(message, place.guild)

    def _find_referred(self, message: Json, place: CachedChannel) -> Iterator[tuple[str, LookUp]]:
        """Yield lookups of omitted referenced messages: the replied-to one, and for a question to the bot the
        one before it.
        """
        kind, number = get_int(message, "type"), refers_to(message, place.id)
        is_missing = "referenced_message" not in message and kind in (REPLY, PINNED, CONTEXT_COMMAND)
        if number and is_missing:
            yield f"message:{number}", lambda: self._fetch_message(place.id, number)
        replied = get_object(message, "referenced_message")
        above = refers_to(replied, place.id) if get_int(replied, "type") == REPLY else ""
        if above and f"<@{self._known.bot.id}>" in get_string(message, "content"):
            yield f"message:{above}", lambda: self._fetch_message(place.id, above)

    def _find_tags(self, message: Json, place: CachedChannel) -> Iterator[tuple[str, LookUp]]:
        """Yield the lookup of a post's forum, which defines its tags; its first message has the post's id."""
        if place.tags and message.get("id") == place.id and self._known.find_channel(place.parent) is None:
            yield f"channel:{place.parent}", lambda: self._fetch_channel(place.parent)

    def _find_mentioned(self, message: Json, guild: str) -> Iterator[tuple[str, LookUp]]:
        """Yield lookups of channels, roles and people whose ids occur in texts."""
        people = {get_string(user, "id") for one in contained_messages(message) for user in _users_of(one)}
        people.add(self._known.bot.id)
        numbers: dict[str, set[str]] = {"channel": set(_channels_of(message)), "role": set(), "person": set()}
        for text in _texts_of(message):
            for found in MENTIONED.finditer(text):
                numbers[str(found.lastgroup)].add(found[str(found.lastgroup)])
        for number in sorted(numbers["channel"]):
            if self._known.find_channel(number) is None or f"channel:{number}" in self._asked:
                yield f"channel:{number}", lambda number=number: self._fetch_channel(number)  # type: ignore[misc]
        if numbers["role"] and not self._known.places.knows_roles(guild):
            yield f"roles:{guild}", lambda: self._fetch_roles(guild)
        for number in sorted(numbers["person"] - people):
            key = f"member:{guild}:{number}"
            if not self._known.find_person(guild, number) or key in self._asked:
                yield key, lambda number=number: self._fetch_member(guild, number)  # type: ignore[misc]

    async def _fetch_message(self, channel: str, number: str) -> None:
        route = Route(
            "GET", "/channels/{channel_id}/messages/{message_id}", channel_id=channel, message_id=number
        )
        self._known.messages.put(number, _as_object(await self._rest.request(route)))

    async def _fetch_channel(self, number: str) -> None:
        answer = await self._rest.request(Route("GET", "/channels/{channel_id}", channel_id=number))
        self._known.channels.put(number, read_channel(_as_object(answer)))

    async def _fetch_roles(self, guild: str) -> None:
        answer = await self._rest.request(Route("GET", "/guilds/{guild_id}/roles", guild_id=guild))
        for role in get_objects({"roles": answer}, "roles"):
            self._known.places.put_role(guild, role)

    async def _fetch_member(self, guild: str, number: str) -> None:
        route = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=guild, user_id=number)
        member = _as_object(await self._rest.request(route))
        self._known.put_person(guild, get_object(member, "user"), member)


def _as_object(answer: Any) -> Json:
    if not isinstance(answer, dict):
        raise Malformed("the response is not an object")
    return answer


def _users_of(message: Json) -> list[Json]:
    return [user for user in (get_object(message, "author"), *get_objects(message, "mentions")) if user]


def _channels_of(message: Json) -> Iterator[str]:
    """Yield ids of channels outside texts: a forward's origin, or the place of a message stopped by
    moderation.
    """
    for one in contained_messages(message):
        if is_forward(one):
            yield snowflake(get_object(one, "message_reference"), "channel_id")
        for embed in get_objects(one, "embeds"):
            for field in get_objects(embed, "fields"):
                if get_string(field, "name") == "channel_id":
                    yield snowflake(field, "value")


def _texts_of(message: Json) -> Iterator[str]:
    for one in contained_messages(message):
        yield from _strings([one.get(key) for key in ("content", "embeds", "components")])


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a part of a payload."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
