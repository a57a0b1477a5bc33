"""Channels and threads visible to the bot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bot.domain import ChatDescription
from bot.platforms.discord.snowflake import optional_snowflake, snowflake
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    get_strings,
    require_object,
)

DM, GROUP_DM = 1, 3
PRIVATE_THREAD = 12
THREADS = frozenset({10, 11, PRIVATE_THREAD})
FORUMS = frozenset({15, 16})
"""Channel types (docs.discord.com/developers/resources/channel#channel-object-channel-types)."""


@dataclass(frozen=True, slots=True)
class CachedChannel:
    """A channel or thread; `parent` and `owner` are set for a thread, `newest` is its last message.

    `tags` are the ids of the tags of a forum's post, `tag_names` the tags that a forum has, by id.
    """

    id: str
    type: int
    guild: str = ""
    parent: str = ""
    owner: str = ""
    newest: int = 0
    name: str = ""
    tags: tuple[str, ...] = ()
    tag_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def thread(self) -> bool:
        """True for threads, including forum posts."""
        return self.type in THREADS

    @property
    def chat(self) -> str:
        """Return the channel itself, or the channel of a thread."""
        return self.parent if self.thread and self.parent else self.id


def read_channel(channel: Json, guild: str = "") -> CachedChannel:
    """Read a channel object. Raises Malformed."""
    return CachedChannel(
        snowflake(channel, "id"),
        get_int(channel, "type"),
        optional_snowflake(channel, "guild_id") or guild,
        optional_snowflake(channel, "parent_id"),
        optional_snowflake(channel, "owner_id"),
        int(optional_snowflake(channel, "last_message_id") or 0),
        get_string(channel, "name"),
        tuple(get_strings(channel, "applied_tags")),
        {snowflake(tag, "id"): get_string(tag, "name") for tag in get_objects(channel, "available_tags")},
    )


class ChannelCache:
    """Mirrors the servers and channels that the gateway reports. `me` is the bot's id."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._places: dict[str, CachedChannel] = {}
        self._guilds: dict[str, set[str]] = {}
        self._own_roles: dict[str, str] = {}
        self._roles: dict[str, dict[str, str]] = {}
        self._names: dict[str, str] = {}

    @property
    def event_readers(self) -> Mapping[str, Callable[[Json], object]]:
        """Return the handlers of gateway events about channels and roles; they raise Malformed."""
        return {
            "CHANNEL_CREATE": self.put_channel,
            "CHANNEL_UPDATE": self.put_channel,
            "CHANNEL_DELETE": self.drop_channel,
            "THREAD_CREATE": self.put_channel,
            "THREAD_UPDATE": self.put_channel,
            "THREAD_DELETE": self.drop_channel,
            "THREAD_LIST_SYNC": self.sync_threads,
            "GUILD_ROLE_CREATE": self._on_role,
            "GUILD_ROLE_UPDATE": self._on_role,
            "GUILD_ROLE_DELETE": self._drop_role,
        }

    def get(self, channel: str) -> CachedChannel | None:
        """Return a channel, or None if the gateway has not reported it."""
        return self._places.get(channel)

    def find_bot_role(self, guild: str) -> str:
        """Return the role that represents only the bot ("" if none), which people may mention in place of the
        bot.
        """
        return self._own_roles.get(guild, "")

    def find_role(self, guild: str, role: str) -> str:
        """Return the name of a role ("" if unknown)."""
        return self._roles.get(guild, {}).get(role, "")

    def knows_roles(self, guild: str) -> bool:
        """Return whether a server's roles have been reported."""
        return bool(self._roles.get(guild))

    def describe_channel(self, channel: str) -> ChatDescription:
        """Return the channel's and its server's name, and whether it is a forum, whose messages are in its
        posts. The channel's visibility is unknown.
        """
        place = self._places.get(channel)
        if place is None or not place.name:
            return ChatDescription()
        server = self._names.get(place.guild, "")
        title = f"#{place.name} ({server})" if server else f"#{place.name}"
        return ChatDescription(title, topics_only=place.type in FORUMS)

    @property
    def guilds(self) -> tuple[str, ...]:
        """The bot's servers."""
        return tuple(self._guilds)

    def list_channels(self, guild: str) -> list[CachedChannel]:
        """List a server's channels, starting with the newest messages."""
        found = [self._places[channel] for channel in self._guilds.get(guild, ())]
        return sorted(found, key=lambda place: place.newest, reverse=True)

    def put_guild(self, data: Json) -> str:
        """Add a server with its channels and return its id."""
        guild = snowflake(data, "id")
        self.drop_guild(guild)
        self._guilds[guild] = set()
        self._names[guild] = get_string(data, "name")
        for role in get_objects(data, "roles"):
            self.put_role(guild, role)
        for channel in (*get_objects(data, "channels"), *get_objects(data, "threads")):
            self.put_channel(channel, guild)
        return guild

    def put_role(self, guild: str, role: Json) -> None:
        """Add or update a role of a server."""
        number = snowflake(role, "id")
        self._roles.setdefault(guild, {})[number] = get_string(role, "name")
        if get_object(role, "tags").get("bot_id") == self._me:
            self._own_roles[guild] = number

    def _on_role(self, data: Json) -> None:
        self.put_role(snowflake(data, "guild_id"), require_object(data, "role"))

    def _drop_role(self, data: Json) -> None:
        guild, role = snowflake(data, "guild_id"), snowflake(data, "role_id")
        self._roles.get(guild, {}).pop(role, None)
        if self._own_roles.get(guild) == role:
            del self._own_roles[guild]

    def drop_guild(self, guild: str) -> None:
        """Remove a server that the bot has left."""
        self._own_roles.pop(guild, None)
        self._roles.pop(guild, None)
        self._names.pop(guild, None)
        for channel in self._guilds.pop(guild, set()):
            self._places.pop(channel, None)

    def put_channel(self, data: Json, guild: str = "") -> CachedChannel:
        """Add or update a channel or thread."""
        place = read_channel(data, guild)
        self._places[place.id] = place
        self._guilds.setdefault(place.guild, set()).add(place.id)
        return place

    def note_message(self, channel: str, message: str) -> None:
        """Record the newest message of a channel."""
        place = self._places.get(channel)
        if place is not None and place.newest < int(message):
            self._places[channel] = replace(place, newest=int(message))

    def drop_channel(self, data: Json) -> None:
        """Remove a deleted channel or thread."""
        place = self._places.pop(snowflake(data, "id"), None)
        if place is not None:
            self._guilds.get(place.guild, set()).discard(place.id)

    def sync_threads(self, data: Json) -> None:
        """Add a channel's threads to which the bot got access."""
        guild = snowflake(data, "guild_id")
        for thread in get_objects(data, "threads"):
            try:
                self.put_channel(thread, guild)
            except Malformed:
                continue
